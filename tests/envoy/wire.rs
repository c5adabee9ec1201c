//! What leaves Envoy: headers to provider and client, log lines, stat names.

use crate::support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, Seen};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_weirs_reaches_the_provider_and_nothing_false_the_client() {
    let false_headers = |reply: Reply| {
        reply
            .header("x-weir-attempts", "99")
            .header("x-weir-retry", "1")
            .header("x-weir-refused", "queue_full")
            .header("x-weir-class", "nonsense")
            .header("x-weir-other", "1")
            .header("x-provider", "kept")
    };
    let provider = Provider::start(move |seen: &Seen| match seen.attempt {
        1 => false_headers(Reply::burst()),
        _ => false_headers(Reply::ok()),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &policy(json!({})))).await;
    let answer = Call::chat("a")
        .header("x-weir-no-wait", "0")
        .header("x-weir-other", "1")
        .header("x-client", "kept")
        .send(envoy.addr)
        .await;
    assert_eq!((answer.status, provider.count()), (200, 2));
    for seen in provider.seen() {
        let leaked = seen.headers.iter().find(|(name, _)| {
            name.starts_with("x-weir")
                || name.starts_with("x-envoy-retr")
                || name == "x-envoy-max-retries"
        });
        assert_eq!(leaked, None);
        assert_eq!(seen.header("x-client"), Some(&b"kept"[..]));
    }
    let ours: BTreeSet<&str> = answer
        .headers
        .keys()
        .map(|n| n.as_str())
        .filter(|n| n.starts_with("x-weir"))
        .collect();
    assert_eq!(
        ours,
        BTreeSet::from(["x-weir-attempts", "x-weir-queued-ms"])
    );
    assert_eq!(answer.header("x-weir-attempts"), Some("2"));
    assert_eq!(answer.header("x-provider"), Some("kept"));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_is_told_how_long_it_queued() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let config = policy(json!({"max_concurrent_calls": 1}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let first = Call::chat("first").start(envoy.addr);
    provider.wait_count(1).await;
    let second = Call::chat("second").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    let queued = |answer: &support::Answer| -> u64 {
        answer
            .header("x-weir-queued-ms")
            .expect("always there")
            .parse()
            .expect("whole ms")
    };
    let (first, second) = (first.answer().await, second.answer().await);
    assert!(queued(&second) > queued(&first), "{second:?}");
    assert_eq!(second.header("x-weir-attempts"), Some("1"));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_tells_each_decision_and_no_secret() {
    let refusal = Reply::json(
        429,
        &json!({"error": {"code": "limit_burst_rate", "message": "swordfish-answer of org-swordfish"}}),
    );
    let provider = Provider::start(move |_: &Seen| refusal.clone()).await;
    let config = policy(json!({}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let answer = Call::chat("a")
        .path("/v1/chat?api_key=swordfish-query")
        .header("authorization", "Bearer sk-swordfish-key")
        .header("x-api-key", "swordfish-api-key")
        .body("{\"prompt\": \"swordfish-prompt\"}")
        .send(envoy.addr)
        .await;
    assert_eq!((answer.status, provider.count()), (429, 2));
    envoy.assert_idle().await;
    let log = envoy.log();
    assert!(!log.contains("swordfish"), "a secret was logged:\n{log}");
    let stats = envoy.admin("/stats").await;
    assert!(!stats.contains("swordfish"), "a secret is a stat name");
    let lines: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(&line[line.find("{\"weir\":")?..]).ok())
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|l| l["weir"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(told, ["retry", "give_up"], "{log}");
    for (line, attempt) in lines.iter().zip([1, 2]) {
        assert_eq!(line["policy"], "default");
        assert_eq!(line["class"], "burst_rate");
        assert_eq!(line["status"], 429);
        assert_eq!(
            (&line["attempt"], &line["of"]),
            (&json!(attempt), &json!(2))
        );
        assert!(
            line["key"].is_string() && line["evidence"].is_string(),
            "{line}"
        );
    }
    assert!(
        lines[0]["delay_ms"]
            .as_u64()
            .is_some_and(|d| (50..=150).contains(&d)),
        "{lines:?}"
    );
}

/// The names that may exist, with `*` for a class, reason or kind.
const POLICY_STATS: &str = "calls admitted queued refused.reason.* refusals.class.* \
    retries.class.* gave_up.class.* unplanned retry_dropped failed_over grants_by_wake grants_by_tick \
    slots waiting held limit rate_milli_per_s pause_left_ms wait hold delay";
const PLUGIN_STATS: &str = "workers keys degraded cas_conflicts cas_exhausted reaped \
    reaped_alive overflow config_flaps log_dropped avoided.*";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stats_have_the_documented_names_and_become_labels_in_prometheus() {
    let provider = Provider::start(|seen| match (seen.path.as_str(), seen.attempt) {
        ("/refused", 1) => Reply::rate(),
        _ => Reply::ok(),
    })
    .await;
    let config = policy(json!({"name": "ark", "max_concurrent_calls": 3}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    assert_eq!(Call::chat("a").send(envoy.addr).await.status, 200);
    assert_eq!(
        Call::chat("b")
            .path("/refused")
            .send(envoy.addr)
            .await
            .status,
        200
    );
    envoy
        .wait_stat("wasmcustom.weir.policy.ark.retries.class.rate", |n| n == 1)
        .await;
    envoy
        .wait_stat("wasmcustom.weir.policy.ark.calls", |n| n == 2)
        .await;
    envoy
        .wait_stat("wasmcustom.weir.policy.ark.limit", |n| n == 3)
        .await;
    envoy.assert_idle().await;
    let page = envoy.admin("/stats?filter=wasmcustom").await;
    for name in page.lines().filter_map(|line| line.split(": ").next()) {
        assert!(is_documented(name), "{name} is not in the table");
    }
    let prometheus = envoy.admin("/stats/prometheus").await;
    let value = |name: &str, labels: &[&str]| {
        let line = prometheus.lines().find(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('{'))
                && labels.iter().all(|label| line.contains(label))
        });
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    assert_eq!(
        value("weir_policy_calls", &["weir_policy=\"ark\""]),
        Some(2),
        "{prometheus}"
    );
    let labels = ["weir_policy=\"ark\"", "weir_class=\"rate\""];
    assert_eq!(
        value("weir_policy_refusals", &labels),
        Some(1),
        "{prometheus}"
    );
    assert_eq!(
        value("weir_policy_limit", &["weir_policy=\"ark\""]),
        Some(3),
        "{prometheus}"
    );
}

fn is_documented(name: &str) -> bool {
    let name = name.trim_start_matches("wasmcustom.weir.");
    let (name, table) = match name.strip_prefix("policy.") {
        Some(rest) => (
            rest.split_once('.').map_or("", |(_, stat)| stat),
            POLICY_STATS,
        ),
        None => (name.strip_prefix("plugin.").unwrap_or(""), PLUGIN_STATS),
    };
    table
        .split_whitespace()
        .any(|known| match known.strip_suffix('*') {
            Some(stem) => name.starts_with(stem) && name.len() > stem.len(),
            None => name == known,
        })
}
