//! Retries on a real Envoy: L9, L11, L13 and what the client and the provider see of them.

use crate::support;

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use support::provider::body_hash;
use support::weir::{policy, quick_retry};
use support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, Seen, answers};

/// Refuses each call's first attempt with `refusal`, then accepts.
async fn refusing_once(refusal: Reply) -> Provider {
    Provider::start(move |seen: &Seen| match seen.attempt {
        1 => refusal.clone(),
        _ => Reply::ok(),
    })
    .await
}

async fn weir(provider: &Provider) -> Envoy {
    Envoy::start(&Bootstrap::new(provider.addr, &policy(json!({}))).replay_limit(8 << 20)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_refusal_is_retried_and_every_body_arrives_intact() {
    let provider = refusing_once(Reply::burst()).await;
    let envoy = weir(&provider).await;
    for size in [0, 100, 100_000, 3 << 20] {
        let body: Bytes = (0..size)
            .map(|i: usize| (i * 7 % 251) as u8)
            .collect::<Vec<u8>>()
            .into();
        for call in [Call::chat(size), Call::chat(format!("h2-{size}")).h2()] {
            let before = provider.count();
            let answer = call.body(body.clone()).send(envoy.addr).await;
            assert_eq!(
                (answer.status, answer.header("x-weir-attempts")),
                (200, Some("2"))
            );
            assert_eq!(
                answer.header("x-weir-class"),
                None,
                "no refusal reached the client"
            );
            let seen = &provider.seen()[before..];
            assert_eq!(seen.len(), 2);
            assert!(
                seen.iter()
                    .all(|s| (s.body_len, s.body_hash) == (size, body_hash(&body)))
            );
        }
    }
    envoy.assert_idle().await;
    envoy.wait_policy("refusals.class.burst_rate", 8).await;
    envoy.wait_policy("retries.class.burst_rate", 8).await;
    assert_eq!(envoy.policy("unplanned").await, 0);
    assert_eq!(envoy.policy("gave_up.class.burst_rate").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retried_stream_flows_event_by_event() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.attempt {
        1 => Reply::burst(),
        _ => Reply::sse(2).between(&door),
    })
    .await;
    let envoy = weir(&provider).await;
    let mut stream = Call::chat("s").open(envoy.addr).await;
    assert_eq!(stream.status(), 200);
    for event in [
        "data: {\"chunk\":0}\n\n",
        "data: {\"chunk\":1}\n\n",
        "data: [DONE]\n\n",
    ] {
        assert_eq!(stream.next().await.unwrap(), event);
        gate.let_through(1);
    }
    assert_eq!(provider.count(), 2);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_budget_returns_the_providers_own_refusal() {
    let provider = Provider::start(|seen| match seen.path.as_str() {
        "/burst" => Reply::burst().header("x-request-id", "provider-1"),
        _ => Reply::rate(),
    })
    .await;
    let envoy = weir(&provider).await;
    let burst = Call::chat("b").path("/burst").send(envoy.addr).await;
    assert_eq!(
        (burst.status, burst.header("x-weir-attempts")),
        (429, Some("2"))
    );
    assert_eq!(burst.header("x-weir-class"), Some("burst_rate"));
    assert_eq!(
        burst.header("x-weir-refused"),
        None,
        "the word is the provider's"
    );
    assert_eq!(burst.header("x-envoy-ratelimited"), None);
    assert_eq!(burst.header("x-should-retry"), Some("false"));
    assert_eq!(burst.json()["error"]["code"], "limit_burst_rate");
    let rate = Call::chat("r").path("/rate").send(envoy.addr).await;
    assert_eq!(
        (rate.status, rate.header("x-weir-attempts")),
        (429, Some("3"))
    );
    assert_eq!(rate.header("x-weir-class"), Some("rate"));
    assert_eq!(rate.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(provider.count(), 5);
    envoy.assert_idle().await;
    envoy.wait_policy("gave_up.class.burst_rate", 1).await;
    envoy.wait_policy("gave_up.class.rate", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overload_by_503_ejects_no_host_and_reaches_the_client_as_503() {
    let provider = Provider::start(|_| Reply::overloaded()).await;
    let outliers = json!({"outlier_detection": {
        "consecutive_5xx": 2, "enforcing_consecutive_5xx": 100,
        "consecutive_gateway_failure": 2, "enforcing_consecutive_gateway_failure": 100,
        "interval": "0.05s", "max_ejection_percent": 100}});
    // A key each, or every refusal would make the next call wait for longer.
    let own = policy(json!({"key": [{"header": "x-id"}]}));
    let config = Bootstrap::new(provider.addr, &own).clusters(&outliers);
    let envoy = Envoy::start(&config).await;
    for i in 0..3 {
        let answer = Call::chat(i).send(envoy.addr).await;
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (503, Some("3"))
        );
        assert_eq!(answer.header("x-weir-class"), Some("overloaded"));
        assert_eq!(answer.json()["error"]["code"], "overloaded");
    }
    assert_eq!(provider.count(), 9);
    let ejected = envoy
        .stats("cluster.provider.outlier_detection.ejections_")
        .await;
    assert!(
        !ejected.is_empty() && ejected.values().all(|n| *n == 0),
        "{ejected:?}"
    );
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_retry_starts_before_the_servers_minimum() {
    let provider = Provider::start(|seen| match (seen.attempt, seen.id.as_str()) {
        (1, "seconds") => Reply::rate().header("retry-after", "1"),
        (1, "millis") => Reply::rate().header("retry-after-ms", "600"),
        _ => Reply::ok(),
    })
    .await;
    let envoy = weir(&provider).await;
    for (id, least) in [("seconds", 1000), ("millis", 600)] {
        let before = provider.count();
        let answer = Call::chat(id).send(envoy.addr).await;
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (200, Some("2"))
        );
        let seen = &provider.seen()[before..];
        assert!(
            seen[1].at - seen[0].at >= Duration::from_millis(least),
            "{id}"
        );
    }
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_refused_together_come_back_spread() {
    const CALLS: usize = 20;
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.attempt {
        1 => Reply::burst().after(&door),
        _ => Reply::ok(),
    })
    .await;
    // The window is [300, 900]: 600 ms wide.
    let retry = json!({"burst_retry_base_delay_ms": 300, "burst_retry_cap_delay_ms": 900});
    let config = policy(json!({"retry": retry}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(2)).await;
    let calls = (0..CALLS)
        .map(|i| Call::chat(i).start(envoy.addr))
        .collect();
    provider.wait_count(CALLS).await;
    gate.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    let again: Vec<_> = provider
        .seen()
        .into_iter()
        .filter(|s| s.attempt == 2)
        .collect();
    assert_eq!(again.len(), CALLS);
    let spread = again[CALLS - 1].at - again[0].at;
    assert!(
        spread >= Duration::from_millis(600 / 4),
        "all back within {spread:?}"
    );
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_used_up_quota_is_not_retried() {
    let provider = Provider::start(|_| Reply::quota()).await;
    let envoy = weir(&provider).await;
    let answer = Call::chat("q").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-attempts")),
        (429, Some("1"))
    );
    assert_eq!(answer.header("x-weir-class"), Some("quota_exhausted"));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(answer.json()["error"]["code"], "insufficient_quota");
    assert_eq!(provider.count(), 1);
    envoy.assert_idle().await;
    envoy.wait_policy("gave_up.class.quota_exhausted", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_call_gives_its_slot_to_the_next_one() {
    let provider = Provider::start(|seen| match (seen.id.as_str(), seen.attempt) {
        ("held", 1) => Reply::rate(),
        _ => Reply::ok(),
    })
    .await;
    let mut retry = quick_retry();
    (retry["retry_base_delay_ms"], retry["retry_cap_delay_ms"]) = (json!(1500), json!(4500));
    let config = policy(json!({"max_concurrent_calls": 1, "retry": retry}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let held = Call::chat("held").start(envoy.addr);
    envoy.wait_policy("held", 1).await;
    envoy.wait_policy("slots", 0).await;
    let next = Call::chat("next").send(envoy.addr).await;
    assert_eq!(next.status, 200);
    assert_eq!(held.answer().await.status, 200);
    assert_eq!(provider.peak(), 1);
    envoy.assert_idle().await;
}
