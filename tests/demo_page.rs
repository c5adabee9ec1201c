//! The demo's page in a real Chromium, which the variable `CHROMIUM` names: no script errors, no
//! overlap, no overflow, at a desk and on a phone, light and dark.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

#[path = "../examples/demo/app/mod.rs"]
#[allow(dead_code, reason = "the tests use their own part of the demo")]
mod app;
#[path = "support/browser.rs"]
mod browser;

use std::time::Duration;

use app::client::{End, Outcome};
use app::measure::Run;
use app::path::Path;
use app::peak::{Compared, Scenario};
use app::plan::Plan;
use app::provider::model::Count;
use browser::{browse, folder, harness, tail};

/// Looks into the page at two widths and tells what is wrong on the console.
const INSPECTOR: &str = r#"
const problem = text => console.error("problem: " + text);
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
let texts = 0;
function inspect(frame, width) {
  const page = frame.contentDocument, root = page.documentElement;
  if (root.scrollWidth > width) problem(`${root.scrollWidth} px wide in ${width}`);
  if (page.querySelectorAll("figure").length != 6) problem("not six charts");
  for (const svg of page.querySelectorAll("figure svg")) {
    const outer = svg.getBoundingClientRect();
    const all = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    texts += all.length;
    for (const [name, r] of all) {
      if (r.left < outer.left - 1 || r.right > outer.right + 1 || r.top < outer.top - 1 || r.bottom > outer.bottom + 1)
        problem(`"${name}" is cut off at ${width}`);
      if (r.height < 10) problem(`"${name}" is too small at ${width}`);
    }
    all.forEach(([a, r], i) => all.slice(i + 1).forEach(([b, s]) => {
      if (meet(r, s)) problem(`"${a}" and "${b}" overlap at ${width}`);
    }));
  }
  const light = getComputedStyle(page.body).backgroundColor == "rgb(255, 255, 255)";
  document.body.append(`inspected ${width} ${light ? "light" : "dark"} ${texts > 0} `);
}
for (const width of [1280, 390]) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 4000; frame.srcdoc = PAGE;
  frame.onload = () => inspect(frame, width);
  document.body.append(frame);
}
"#;

#[test]
fn the_page_is_right_in_a_browser() {
    let dir = folder("page");
    app::report::write(&dir, &Plan::morning_peak(), &compared()).unwrap();
    let page = std::fs::read_to_string(dir.join("index.html")).unwrap();
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "it stands alone"
    );

    let index = dir.join("index.html");
    let (dom, problems) = browse(&index, &[]);
    assert!(dom.contains("</html>"), "{dom}");
    assert_eq!(problems, Vec::<String>::new());

    let harness = harness(&dir, &page, INSPECTOR);
    for (scheme, name) in [("1", "light"), ("0", "dark")] {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let (dom, problems) = browse(&harness, &[&scheme]);
        assert_eq!(problems, Vec::<String>::new(), "{name}");
        for width in [1280, 390] {
            let inspected = format!("inspected {width} {name} true");
            assert!(dom.contains(&inspected), "not {inspected}: {}", tail(&dom));
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_script_error_is_seen() {
    let dir = folder("error");
    let page = dir.join("broken.html");
    std::fs::write(&page, "<!doctype html><script>nothing.there()</script>").unwrap();
    let (_, problems) = browse(&page, &[]);
    assert!(
        problems
            .iter()
            .any(|p| p.contains("nothing is not defined")),
        "{problems:?}"
    );
    std::fs::remove_dir_all(dir).unwrap();
}

/// Results of about the size of real ones.
fn compared() -> Vec<Compared> {
    let scenarios = [Scenario::Concurrency, Scenario::Slope];
    let all = scenarios.into_iter().map(|scenario| Compared {
        scenario,
        could_serve: 1440,
        runs: Path::ALL.into_iter().map(run).collect(),
    });
    all.collect()
}

fn run(path: Path) -> Run {
    let outcome = |sent: Duration| {
        let late = path == Path::Weir || sent.subsec_millis() < 500;
        Outcome {
            sent,
            wait: late.then_some(sent / 2),
            ended: sent * 2,
            end: if late { End::Succeeded } else { End::GaveUp },
        }
    };
    let outcomes: Vec<Outcome> = Plan::morning_peak()
        .arrivals()
        .into_iter()
        .map(outcome)
        .collect();
    let times = outcomes.iter().flat_map(|o| [(o.sent, "slope"); 4]);
    let refusals: Vec<_> = times.filter(|_| path == Path::EnvoyRetry).collect();
    let count = Count {
        refused: refusals.len(),
        refusals,
        peak: 20,
        ..Count::default()
    };
    Run {
        path,
        outcomes,
        count,
        start: Duration::ZERO,
    }
}
