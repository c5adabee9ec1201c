//! L10 and L15 on a real Envoy: what cannot fit is said at once, and nothing grows without end.

use crate::support;

use serde_json::json;
use support::weir::policy;
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen, answers};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_leaves_the_queue_when_its_patience_ends() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let config = policy(json!({"max_concurrent_calls": 1, "patience_header": "x-patience"}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    let refused = Call::chat("short")
        .header("x-patience", "150")
        .send(envoy.addr)
        .await;
    assert_eq!(
        (refused.status, refused.header("x-weir-refused")),
        (429, Some("deadline"))
    );
    let patient = Call::chat("patient")
        .header("x-patience", "30000")
        .start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(patient.answer().await.status, 200);
    assert_eq!(provider.ids(), ["running", "patient"]);
    envoy.assert_idle().await;
    envoy.wait_policy("refused.reason.deadline", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_beyond_the_bound_share_one_gate() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let mut config = policy(json!({"max_concurrent_calls": 1, "key": ["host"]}));
    config["max_keys"] = json!(2);
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let to = |host: &str| Call::chat(host).header("host", host).start(envoy.addr);
    let mut calls = vec![];
    for (i, host) in ["a", "b", "c"].into_iter().enumerate() {
        calls.push(to(host));
        provider.wait_count(i + 1).await;
    }
    calls.push(to("d"));
    envoy.wait_policy("waiting", 1).await;
    assert_eq!(
        provider.running(),
        3,
        "a and b have gates; c and d share one"
    );
    gate.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
    assert!(envoy.plugin("overflow").await >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_on_four_workers_stay_under_the_cap() {
    const CALLS: usize = 24;
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let config = policy(json!({"max_concurrent_calls": 4}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(4)).await;
    let conns = Conn::many(envoy.addr, CALLS).await;
    let calls = conns
        .into_iter()
        .enumerate()
        .map(|(i, c)| c.start(Call::chat(i)))
        .collect();
    let all = answers(calls).await;
    assert!(
        all.iter().all(|a| a.header("x-weir-attempts") == Some("2")),
        "{all:?}"
    );
    assert!(all.iter().all(|a| a.status == 200));
    assert_eq!(provider.count(), 2 * CALLS);
    assert!(provider.peak() <= 4, "{}", provider.peak());
    assert!(envoy.workers_used().await >= 3);
    envoy.assert_idle().await;
    envoy
        .wait_policy("retries.class.burst_rate", CALLS as u64)
        .await;
    assert_eq!(envoy.policy("unplanned").await, 0);
}
