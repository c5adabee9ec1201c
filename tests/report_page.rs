//! The report's page in a real Chromium, which the variable `CHROMIUM` names: every plot is there,
//! nothing is fetched, no script errs, at a desk and on a phone, light and dark.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed helper is a failed test"
)]

#[path = "support/browser.rs"]
mod browser;

use std::path::Path;
use std::process::Command;

use browser::{browse, folder, harness, tail};

const PLOTS: [&str; 11] = [
    "cost",
    "efficiency",
    "refused",
    "wait",
    "timeline",
    "scale",
    "scale-refused",
    "bench",
    "bench-refused",
    "agreement",
    "overhead",
];

/// Looks into the page at two widths and tells what is wrong on the console.
const INSPECTOR: &str = r#"
const problem = text => console.error("problem: " + text);
const settled = () => new Promise(done => setTimeout(done, 1000));
// What shows data: neither axes nor grids.
const MARKS = "[aria-label=dot] > *, [aria-label=line] > *, [aria-label=area] > *, [aria-label=bar] > *, [aria-label=tick] > *";
async function inspect(frame, width) {
  await settled();
  const page = frame.contentDocument, root = page.documentElement;
  if (root.scrollWidth > width) problem(`${root.scrollWidth} px wide in ${width}`);
  const drawn = {};
  for (const figure of page.querySelectorAll("figure[data-plot]")) {
    const all = [...figure.querySelectorAll("svg[aria-label]")];
    drawn[figure.dataset.plot] = all.length;
    if (!all.length) problem(`${figure.dataset.plot} is not drawn at ${width}`);
    for (const svg of all) {
      const name = `${figure.dataset.plot}, ${svg.getAttribute("aria-label")}, at ${width}`;
      if (!svg.querySelector(MARKS)) problem(`no mark in ${name}`);
      if (/NaN|undefined/.test(svg.outerHTML)) problem(`no number in ${name}`);
      for (const text of svg.querySelectorAll("text")) {
        const r = text.getBoundingClientRect();
        if (r.left < -1 || r.right > width + 1) problem(`"${text.textContent}" is cut off in ${name}`);
        if (r.height < 10) problem(`"${text.textContent}" is too small in ${name}`);
      }
    }
  }
  const [first, second] = page.querySelectorAll("input[name=timeline]");
  const marks = () => page.querySelector("figure[data-plot=timeline] .plot").innerHTML;
  const before = marks();
  second.click();
  if (marks() == before) problem("another choice draws nothing else");
  const light = getComputedStyle(page.body).backgroundColor == "rgb(255, 255, 255)";
  document.body.append(`inspected ${width} ${light ? "light" : "dark"} ${Object.keys(drawn)} `);
}
for (const width of [1280, 360]) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 4000; frame.style.border = 0; frame.srcdoc = PAGE;
  frame.onload = () => inspect(frame, width);
  document.body.append(frame);
}
"#;

fn page(dir: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let index = dir.join("index.html");
    let ended = Command::new("python3")
        .args(["-m", "report", "--only-page", "tests/data/report"])
        .arg(&index)
        .env("PYTHONPATH", "tools")
        .current_dir(root)
        .status();
    assert!(ended.unwrap().success());
    std::fs::read_to_string(index).unwrap()
}

#[test]
fn the_report_is_right_in_a_browser() {
    let dir = folder("report");
    let page = page(&dir);
    let (dom, problems) = browse(&dir.join("index.html"), &[]);
    assert!(dom.contains("</html>"), "{dom}");
    assert_eq!(problems, Vec::<String>::new());

    let harness = harness(&dir, &page, INSPECTOR);
    for (scheme, name) in [("1", "light"), ("0", "dark")] {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let (dom, problems) = browse(&harness, &[&scheme]);
        assert_eq!(problems, Vec::<String>::new(), "{name}");
        for width in [1280, 360] {
            let inspected = format!("inspected {width} {name} {}", PLOTS.join(","));
            assert!(dom.contains(&inspected), "not {inspected}: {}", tail(&dom));
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// The page forbids itself the network, and says so where something tries.
#[test]
fn a_request_is_seen() {
    let dir = folder("request");
    let asking = page(&dir).replace("<h1>", "<img src=\"http://127.0.0.1:9/a.png\"><h1>");
    let index = dir.join("asking.html");
    std::fs::write(&index, asking).unwrap();
    let (_, problems) = browse(&index, &[]);
    let is_seen = |problem: &String| problem.contains("Content Security Policy");
    assert!(problems.iter().any(is_seen), "{problems:?}");
    std::fs::remove_dir_all(dir).unwrap();
}
