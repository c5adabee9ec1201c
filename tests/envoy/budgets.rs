//! Budgets and patience on a real Envoy: retries keep to a share of calls, repeats to the budget of
//! their call, and waits to what the client says.

use crate::support;

use serde_json::json;
use support::weir::{policy, quick_retry};
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen, answers};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_of_all_workers_share_one_budget() {
    const CALLS: usize = 40;
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.attempt {
        1 => Reply::rate().after(&door),
        _ => Reply::ok(),
    })
    .await;
    let mut retry = quick_retry();
    retry["retry_ratio_percent"] = json!(25);
    retry["retry_ratio_min_per_second"] = json!(0);
    let config = policy(json!({"retry": retry}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(4)).await;
    let conns = Conn::many(envoy.addr, CALLS).await;
    let calls = conns.into_iter().enumerate();
    let calls = calls.map(|(i, c)| c.start(Call::chat(i))).collect();
    provider.wait_count(CALLS).await;
    gate.open();
    let all = answers(calls).await;
    let (served, passed): (Vec<_>, Vec<_>) = all.iter().partition(|a| a.status == 200);
    assert_eq!((served.len(), passed.len()), (10, 30));
    for answer in passed {
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        assert_eq!(answer.header("x-weir-class"), Some("rate"));
        assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    }
    assert!(envoy.workers_used().await >= 3);
    envoy.assert_idle().await;
    let avoided = "wasmcustom.weir.plugin.avoided.retry_budget";
    envoy.wait_stat(avoided, |n| n == 30).await;
    assert!(envoy.log().contains("retry.retry_ratio_percent"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_goes_on_with_its_budget_on_another_worker() {
    let provider = Provider::start(|_: &Seen| Reply::rate()).await;
    let config = Bootstrap::new(provider.addr, &policy(json!({}))).workers(2);
    let envoy = Envoy::start(&config).await;
    // One connection for each worker.
    let mut conns = Conn::many(envoy.addr, 2).await;
    let keyed = |id: &str| Call::chat(id).header("idempotency-key", "one-and-the-same");
    let first = conns[0].send(keyed("first")).await;
    assert_eq!(
        (first.status, first.header("x-weir-attempts")),
        (429, Some("3"))
    );
    assert_eq!(first.header("x-should-retry"), Some("false"));
    let again = conns[1].send(keyed("again")).await;
    assert_eq!(
        (again.status, again.header("x-weir-attempts")),
        (429, Some("1"))
    );
    let other = conns[1].send(Call::chat("other")).await;
    assert_eq!(other.header("x-weir-attempts"), Some("3"));
    let told = Call::chat("told").header("x-stainless-retry-count", "1");
    let told = conns[0].send(told).await;
    assert_eq!(told.header("x-weir-attempts"), Some("2"));
    envoy.assert_idle().await;
    assert!(!envoy.log().contains("one-and-the-same"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_leaves_the_queue_when_its_clients_own_timeout_ends() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let config = policy(json!({"max_concurrent_calls": 1}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    for (name, value) in [
        ("grpc-timeout", "200m"),
        ("x-stainless-read-timeout", "0.2"),
        ("x-stainless-timeout", "1"),
        ("x-request-timeout", "0.2"),
    ] {
        let call = Call::chat(name).header(name, value);
        let refused = call.send(envoy.addr).await;
        assert_eq!(
            (refused.status, refused.header("x-weir-refused")),
            (429, Some("deadline"))
        );
        assert_eq!(refused.json()["error"]["weir"]["limit"], name);
    }
    let patient = Call::chat("patient")
        .header("x-request-timeout", "soon")
        .start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(patient.answer().await.status, 200);
    assert_eq!(provider.ids(), ["running", "patient"]);
    envoy.assert_idle().await;
    assert_eq!(envoy.plugin("avoided.patience_unreadable").await, 1);
}
