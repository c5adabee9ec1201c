//! L9, L10, L11, L12 on a real Envoy: a refusal shuts its gate on all workers, one probe opens it.

use crate::support;

use std::time::Duration;

use serde_json::{Value, json};
use support::client::InFlight;
use support::parts::merge;
use support::weir::policy;
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen, answers};

/// A refused call is not retried, so that it is no probe.
fn once(patch: Value) -> Value {
    let mut all = json!({"retry": {"retry_max_attempts": 1, "burst_max_attempts": 1}});
    merge(&mut all, patch);
    policy(all)
}

async fn start(envoy: &Envoy, calls: usize) -> Vec<InFlight> {
    let conns = Conn::many(envoy.addr, calls).await.into_iter().enumerate();
    conns.map(|(i, conn)| conn.start(Call::chat(i))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_on_four_workers_one_goes_first_and_none_before_its_time() {
    const CALLS: usize = 200;
    let [slow, door] = [(), ()].map(|()| Gate::closed());
    let (refused, answered) = (slow.clone(), door.clone());
    let provider = Provider::start(move |seen: &Seen| match seen.id.as_str() {
        "refused" => Reply::rate().header("retry-after", "3").after(&refused),
        _ => Reply::ok().after(&answered),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &once(json!({}))).workers(4)).await;
    let refused = Call::chat("refused").start(envoy.addr);
    provider.wait_count(1).await;
    // A refusal that takes so long makes the grace of the probe 2 s.
    tokio::time::sleep(Duration::from_millis(500)).await;
    slow.open();
    let refused_at = tokio::time::Instant::now();
    assert_eq!(refused.answer().await.status, 429);
    let calls = start(&envoy, CALLS).await;
    envoy.wait_policy("waiting", CALLS as u64).await;
    assert!(envoy.policy("pause_left_ms").await > 0);
    assert_eq!(provider.count(), 1, "nobody starts in the pause");
    provider.wait_count(2).await;
    let probe = &provider.seen()[1];
    assert!(probe.at - refused_at >= Duration::from_secs(3), "L9");
    envoy.wait_policy("waiting", CALLS as u64 - 1).await;
    assert_eq!(provider.count(), 2, "L12: one probe");
    door.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    assert_eq!(provider.count(), 1 + CALLS);
    assert!(envoy.workers_used().await >= 3);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_does_not_shut_the_gate() {
    let door = Gate::closed();
    let answered = door.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.id.as_str() {
        "refused" => Reply::rate(),
        _ => Reply::ok().after(&answered),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &once(json!({}))).workers(2)).await;
    assert_eq!(Call::chat("refused").send(envoy.addr).await.status, 429);
    let calls = start(&envoy, 6).await;
    // None of them has headers, and all of them go.
    provider.wait_count(7).await;
    let (probe, next) = (provider.seen()[1].at, provider.seen()[2].at);
    assert!(
        next - probe >= Duration::from_millis(150),
        "after the grace"
    );
    door.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_the_providers_word_once_and_weirs_from_then_on() {
    let provider = Provider::start(|_: &Seen| Reply::quota()).await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &once(json!({}))).workers(4)).await;
    let first = Call::chat("first").send(envoy.addr).await;
    assert_eq!((first.status, first.header("x-weir-refused")), (429, None));
    assert_eq!(first.json()["error"]["code"], "insufficient_quota");
    for answer in answers(start(&envoy, 8).await).await {
        assert_eq!(
            (answer.status, answer.header("x-weir-refused")),
            (429, Some("quota"))
        );
        assert_eq!(answer.header("x-weir-attempts"), Some("0"));
        let weir = &answer.json()["error"]["weir"];
        assert_eq!(weir["class"], "quota_exhausted");
        let back = weir["retry_after_ms"].as_u64().expect("a time");
        assert!((800_000..1_200_000).contains(&back), "{back}");
    }
    assert_eq!(provider.count(), 1);
    envoy.wait_policy("refused.reason.quota", 8).await;
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_whose_reset_is_near_is_waited_for() {
    let provider = Provider::start(|seen: &Seen| match seen.id.as_str() {
        "first" => Reply::quota().header("retry-after", "2"),
        _ => Reply::ok(),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &once(json!({})))).await;
    assert_eq!(Call::chat("first").send(envoy.addr).await.status, 429);
    let next = Call::chat("next").send(envoy.addr).await;
    assert_eq!(next.status, 200);
    let seen = provider.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(2));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_cannot_wait_for_the_pause_are_told_at_once_on_every_worker() {
    const CALLS: usize = 40;
    let door = Gate::closed();
    let answered = door.clone();
    let provider = Provider::start(move |_: &Seen| {
        let reply = Reply::rate().header("retry-after", "100");
        reply.after(&answered)
    })
    .await;
    let config = once(json!({"max_concurrent_calls": 1}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(4)).await;
    let refused = Call::chat("refused").start(envoy.addr);
    provider.wait_count(1).await;
    let calls = start(&envoy, CALLS).await;
    envoy.wait_policy("waiting", CALLS as u64).await;
    door.open();
    assert_eq!(refused.answer().await.header("retry-after"), Some("100"));
    for answer in answers(calls).await {
        assert_eq!(answer.header("x-weir-refused"), Some("paused"));
        assert_eq!(answer.json()["error"]["weir"]["class"], "rate");
        let back: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((99..=142).contains(&back), "{back}");
    }
    assert_eq!(provider.count(), 1);
    assert!(envoy.workers_used().await >= 3);
    envoy.assert_idle().await;
}
