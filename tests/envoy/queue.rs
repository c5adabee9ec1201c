//! L1, L2, L8, L10 on a real Envoy: cap, order and bounds of the queue.

use crate::support;

use serde_json::json;
use support::weir::{cap, policy};
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen, answers};

/// Every call waits at `gate` before it is answered.
async fn gated() -> (Provider, Gate) {
    let gate = Gate::closed();
    let door = gate.clone();
    (
        Provider::start(move |_: &Seen| Reply::ok().after(&door)).await,
        gate,
    )
}

/// `calls` at once under a cap of 4 on `workers`: the peak equals the cap and stays there.
async fn saturate(workers: u32, calls: usize) {
    const CAP: usize = 4;
    let (provider, gate) = gated().await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(4)).workers(workers)).await;
    let conns = Conn::many(envoy.addr, calls).await;
    let calls: Vec<_> = conns
        .into_iter()
        .enumerate()
        .map(|(i, conn)| conn.start(Call::chat(i)))
        .collect();
    envoy
        .wait_policy("waiting", (calls.len() - CAP) as u64)
        .await;
    for done in 0..calls.len() - CAP {
        provider.wait_count(CAP + done).await;
        assert_eq!(provider.running(), CAP, "each end starts the next at once");
        gate.let_through(1);
    }
    gate.open();
    let total = calls.len();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    assert_eq!((provider.peak(), provider.count()), (CAP, total));
    if workers > 1 {
        assert!(
            envoy.workers_used().await >= 3,
            "the calls were on {workers} workers"
        );
    }
    envoy.assert_idle().await;
    assert_eq!(
        envoy.policy("grants_by_tick").await,
        0,
        "L3: no timer was needed"
    );
    envoy.wait_policy("admitted", total as u64).await;
    envoy.wait_policy("queued", (total - CAP) as u64).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_calls_on_one_worker_keep_the_cap() {
    saturate(1, 8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_calls_on_one_worker_keep_the_cap() {
    saturate(1, 64).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_calls_on_four_workers_keep_the_cap() {
    saturate(4, 8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_calls_on_four_workers_keep_the_cap() {
    saturate(4, 64).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_start_in_order_of_arrival_across_workers() {
    const CALLS: usize = 16;
    let (provider, gate) = gated().await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(1)).workers(4)).await;
    let mut calls = vec![];
    for (i, conn) in Conn::many(envoy.addr, CALLS).await.into_iter().enumerate() {
        calls.push(conn.start(Call::chat(i)));
        provider.wait_count(1).await;
        envoy.wait_policy("waiting", i as u64).await;
    }
    gate.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    let expected: Vec<String> = (0..CALLS).map(|i| i.to_string()).collect();
    assert_eq!(provider.ids(), expected);
    assert_eq!(provider.peak(), 1);
    assert!(envoy.workers_used().await >= 3);
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_holds_its_slot_until_its_last_byte() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::sse(3).between(&door)).await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(1))).await;
    let mut first = Call::chat("first").open(envoy.addr).await;
    assert_eq!(
        first.next().await.unwrap(),
        "data: {\"chunk\":0}\n\n",
        "nothing is buffered"
    );
    let second = Call::chat("second").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    for event in ["data: {\"chunk\":1}\n\n", "data: {\"chunk\":2}\n\n"] {
        gate.let_through(1);
        assert_eq!(first.next().await.unwrap(), event);
    }
    assert_eq!((provider.count(), envoy.policy("slots").await), (1, 1));
    gate.open();
    assert_eq!(first.next().await.unwrap(), "data: [DONE]\n\n");
    assert_eq!(second.answer().await.status, 200);
    assert_eq!(provider.peak(), 1);
    drop(first);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_beyond_the_full_queue_is_refused_and_told_when_to_return() {
    let (provider, gate) = gated().await;
    let config = policy(json!({"max_concurrent_calls": 1, "queue": {"max_waiting": 1}}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    let waiting = Call::chat("waiting").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    let refused = Call::chat("refused").send(envoy.addr).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-weir-refused"), Some("queue_full"));
    assert_eq!(refused.header("x-weir-attempts"), Some("0"));
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    let millis: u64 = refused.header("retry-after-ms").unwrap().parse().unwrap();
    assert!(
        seconds >= 1 && seconds * 1000 >= millis,
        "{seconds} s, {millis} ms"
    );
    let error = &refused.json()["error"];
    assert_eq!(error["type"], "rate_limit_error");
    assert_eq!(error["code"], "weir_queue_full");
    let told = &error["weir"];
    assert_eq!(told["refused"], "queue_full");
    assert_eq!(told["policy"], "default");
    assert_eq!(told["limit"], "max_waiting");
    assert_eq!(told["sent_upstream"], false);
    assert_eq!(told["retry_after_ms"], millis);
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(waiting.answer().await.status, 200);
    assert_eq!(provider.ids(), ["running", "waiting"]);
    envoy.assert_idle().await;
    envoy.wait_policy("refused.reason.queue_full", 1).await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waited_its_time_is_refused_without_being_sent() {
    let (provider, gate) = gated().await;
    let config = policy(json!({"max_concurrent_calls": 1, "queue": {"max_wait_ms": 150}}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    let refused = Call::chat("waited").send(envoy.addr).await;
    assert_eq!(
        (refused.status, refused.header("x-weir-refused")),
        (429, Some("wait_too_long"))
    );
    assert_eq!(refused.json()["error"]["weir"]["sent_upstream"], false);
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(Call::chat("later").send(envoy.addr).await.status, 200);
    assert_eq!(provider.ids(), ["running", "later"]);
    envoy.assert_idle().await;
    envoy.wait_policy("refused.reason.wait_too_long", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_must_not_wait_starts_now_or_is_refused() {
    let (provider, gate) = gated().await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(1))).await;
    let hurried = |id: &str| Call::chat(id).header("x-weir-no-wait", "1");
    let running = hurried("starts now").start(envoy.addr);
    provider.wait_count(1).await;
    let refused = hurried("refused").send(envoy.addr).await;
    assert_eq!(
        (refused.status, refused.header("x-weir-refused")),
        (429, Some("no_wait"))
    );
    let patient = Call::chat("patient")
        .header("x-weir-no-wait", "false")
        .start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(patient.answer().await.status, 200);
    assert_eq!(provider.ids(), ["starts now", "patient"]);
    assert!(
        provider
            .seen()
            .iter()
            .all(|s| s.header("x-weir-no-wait").is_none())
    );
    envoy.assert_idle().await;
    envoy.wait_policy("refused.reason.no_wait", 1).await;
}
