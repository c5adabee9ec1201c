//! The configurations that users copy: Envoy takes each as it is, and each queues, reads refusals
//! and retries.

use crate::support;

use std::path::Path;

use support::{Call, Envoy, Gate, Provider, Reply, Seen, answers, shipped};

/// Each file with the name of its policy and the cap it sets.
const FILES: [(&str, &str, usize); 4] = [
    ("minimal.yaml", "default", 8),
    ("full.yaml", "llm", 8),
    ("cluster-level.yaml", "default", 8),
    ("failover.yaml", "default", 8),
];

#[test]
fn every_shipped_file_is_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("envoy");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut tested = FILES.map(|(file, _, _)| file);
    tested.sort_unstable();
    assert_eq!(found, tested);
}

#[test]
fn the_readme_shows_what_the_minimal_file_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a text");
    let flat =
        |text: &str| -> String { text.lines().map(|l| l.trim().to_owned() + "\n").collect() };
    let minimal = flat(&read("envoy/minimal.yaml"));
    let readme = read("README.md");
    let blocks: Vec<&str> = readme.split("```yaml\n").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let yaml = block.split("```").next().expect("an end");
        assert!(
            minimal.contains(&flat(yaml)),
            "not in minimal.yaml:\n{yaml}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_takes_every_file_as_it_is() {
    for (file, _, _) in FILES {
        let ended = Envoy::validate(&shipped::as_shipped(file)).await;
        assert_eq!(ended.status.code(), Some(0), "{file}: {}", ended.log);
        let doubt = ended.log.lines().find(|l| l.contains("[warning]"));
        assert_eq!(doubt, None, "{file}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_file_passes_calls_retries_refusals_and_keeps_its_cap() {
    for (file, policy, cap) in FILES {
        let (refused, waiting) = (Gate::closed(), Gate::closed());
        let (again, door) = (refused.clone(), waiting.clone());
        let provider =
            Provider::start(
                move |seen: &Seen| match (seen.path.as_str(), seen.attempt) {
                    ("/refused", 1) => Reply::rate(),
                    ("/refused", _) => Reply::ok().after(&again),
                    ("/waits", _) => Reply::ok().after(&door),
                    _ => Reply::ok(),
                },
            )
            .await;
        let envoy = Envoy::start(&shipped::to(provider.addr, file)).await;
        let stat = |name: &str| format!("wasmcustom.weir.policy.{policy}.{name}");
        let burst = |path: &str, n: usize| -> Vec<_> {
            let call = |i| Call::chat(format!("{path} {i}")).path(path);
            (0..n).map(|i| call(i).start(envoy.addr)).collect()
        };

        let passed = Call::chat("passed").send(envoy.addr).await;
        assert_eq!((passed.status, attempts(&passed)), (200, "1"), "{file}");

        // More retries at once than Envoy allows by default.
        let calls = burst("/refused", cap);
        provider.wait_running(cap).await;
        refused.open();
        for answer in answers(calls).await {
            assert_eq!((answer.status, attempts(&answer)), (200, "2"), "{file}");
        }
        let expected = u64::try_from(cap).expect("small");
        envoy
            .wait_stat(&stat("refusals.class.rate"), |n| n == expected)
            .await;

        let calls = burst("/waits", cap + 2);
        envoy.wait_stat(&stat("waiting"), |n| n == 2).await;
        waiting.open();
        assert!(answers(calls).await.iter().all(|a| a.status == 200));
        assert_eq!(provider.peak(), cap, "{file}");
        assert_eq!(envoy.plugin("avoided.no_attempt_half").await, 0, "{file}");
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_during_a_long_upload_is_retried() {
    for (file, _, _) in FILES {
        let provider = Provider::start_early(|seen| match seen.attempt {
            1 => Reply::rate(),
            _ => Reply::ok(),
        })
        .await;
        let envoy = Envoy::start(&shipped::to(provider.addr, file)).await;
        let image = vec![b'x'; 4 << 20];
        let answer = Call::chat("long").body(image).send(envoy.addr).await;
        assert_eq!((answer.status, attempts(&answer)), (200, "2"), "{file}");
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prometheus_shows_policy_class_reason_and_kind_as_labels() {
    let provider = Provider::start(|_| Reply::quota()).await;
    let envoy = Envoy::start(&shipped::to(provider.addr, "full.yaml")).await;
    assert_eq!(Call::chat("q").send(envoy.addr).await.status, 429);
    envoy
        .wait_stat(
            "wasmcustom.weir.policy.llm.refusals.class.quota_exhausted",
            |n| n == 1,
        )
        .await;
    let page = envoy.admin("/stats/prometheus").await;
    for line in [
        r#"weir_policy_calls{weir_policy="llm"} 1"#,
        r#"weir_policy_refusals{weir_policy="llm",weir_class="quota_exhausted"} 1"#,
        r#"weir_policy_refused{weir_policy="llm",weir_reason="queue_full"} 0"#,
        r#"weir_plugin_avoided{weir_kind="request_incomplete"} 0"#,
    ] {
        let (name, labels) = line.split_once('{').expect("labels");
        let (labels, value) = labels.split_once('}').expect("labels");
        let found = page.lines().any(|l| {
            l.starts_with(&format!("{name}{{"))
                && l.ends_with(&format!("}}{value}"))
                && labels.split(',').all(|label| l.contains(label))
        });
        let near: Vec<_> = page.lines().filter(|l| l.starts_with("weir_")).collect();
        assert!(found, "{line} is not among {near:#?}");
    }
    // A stat that no tag fits would keep the policy's name in its own.
    let untagged = page.lines().find(|l| l.starts_with("weir_policy_llm"));
    assert_eq!(untagged, None);
}

fn attempts(answer: &support::Answer) -> &str {
    answer.header("x-weir-attempts").unwrap_or("no header")
}

/// Envoy then keeps the body back until the headers go on, and would hand it to an attempt that a
/// retry has ended: the SDK panics on that, and the VM with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_flag_of_the_attempt_half_a_refusal_is_passed_on_and_nothing_dies() {
    const FLAG: &str = "allow_on_headers_stop_iteration: true";
    let provider = Provider::start(|seen: &Seen| match seen.n {
        0 => Reply::rate(),
        _ => Reply::ok(),
    })
    .await;
    let bootstrap = shipped::without(FLAG, provider.addr, "minimal.yaml");
    let envoy = Envoy::start(&bootstrap).await;
    let answer = Call::chat("a").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-class")),
        (429, Some("rate"))
    );
    assert_eq!(Call::chat("b").send(envoy.addr).await.status, 200);
    envoy.assert_idle().await;
    assert_eq!(envoy.plugin("avoided.no_stop_iteration").await, 1);
}
