//! The cliffs of holding a refusal inside Envoy: each of these once lost an answer, ejected a
//! host or killed the process.

use crate::support;

use serde_json::json;
use support::provider::nobody;
use support::weir::{cap, policy};
use support::{Bootstrap, Call, Envoy, Provider, Reply, Seen, raw};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_retried_over_http2_connections() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &cap(4)).h2_upstream();
    let envoy = Envoy::start(&config).await;
    let calls = (0..8).map(|i| Call::chat(i).start(envoy.addr)).collect();
    assert!(
        support::answers(calls)
            .await
            .iter()
            .all(|a| a.status == 200)
    );
    assert_eq!(provider.count(), 16);
    assert!(provider.peak() <= 4);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_cannot_fit_the_route_timeout_passes_the_refusal_on() {
    let provider = Provider::start(|_| Reply::rate().header("retry-after", "5")).await;
    let config =
        Bootstrap::new(provider.addr, &policy(json!({}))).action(&json!({"timeout": "2s"}));
    let envoy = Envoy::start(&config).await;
    let answer = Call::chat("t").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (429, Some("5"))
    );
    assert_eq!(answer.header("x-weir-class"), Some("rate"));
    assert_eq!(answer.header("x-weir-attempts"), Some("1"));
    assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(provider.count(), 1);
    assert_eq!(
        envoy.stat("cluster.provider.upstream_rq_timeout").await,
        Some(0)
    );
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_routes_own_policy_adds_no_attempt_to_a_final_refusal() {
    for refusal in [Reply::burst(), Reply::overloaded()] {
        let status = refusal.status;
        let provider = Provider::start(move |_| refusal.clone()).await;
        let own = json!({"retry_policy": {
            "retry_on": "5xx,retriable-status-codes", "retriable_status_codes": [429, 503],
            "num_retries": 5}});
        let config = Bootstrap::new(provider.addr, &policy(json!({}))).action(&own);
        let envoy = Envoy::start(&config).await;
        let answer = Call::chat("f").send(envoy.addr).await;
        let attempts = if status == 429 { 2 } else { 3 };
        assert_eq!((answer.status, provider.count()), (status, attempts));
        assert_eq!(
            answer.header("x-weir-attempts"),
            Some(attempts.to_string().as_str())
        );
        assert_eq!(answer.header("x-envoy-ratelimited"), None);
        envoy.assert_idle().await;
        assert_eq!(envoy.policy("unplanned").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_routes_rate_limited_back_off_does_not_wait_a_second_time() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::rate().header("retry-after", "1"),
        _ => Reply::ok(),
    })
    .await;
    let own = json!({"retry_policy": {
        "retry_on": "retriable-status-codes", "retriable_status_codes": [429],
        "num_retries": 5,
        "rate_limited_retry_back_off": {
            "reset_headers": [{"name": "retry-after", "format": "SECONDS"}],
            "max_interval": "60s"}}});
    let config = Bootstrap::new(provider.addr, &policy(json!({}))).action(&own);
    let envoy = Envoy::start(&config).await;
    let answer = Call::chat("b").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-attempts")),
        (200, Some("2"))
    );
    let waited = envoy
        .stats("cluster.provider.upstream_rq_retry_backoff_")
        .await;
    assert_eq!(
        waited["cluster.provider.upstream_rq_retry_backoff_ratelimited"], 0,
        "{waited:?}"
    );
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_envoy_drops_gives_its_slot_back() {
    let provider = Provider::start(|seen| match seen.id.as_str() {
        "dropped" => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let none = json!({"circuit_breakers": {"thresholds": [{"max_retries": 0}]}});
    let config = Bootstrap::new(provider.addr, &cap(1)).clusters(&none);
    let envoy = Envoy::start(&config).await;
    let dropped = Call::chat("dropped").send(envoy.addr).await;
    assert_eq!(
        (dropped.status, dropped.header("x-weir-attempts")),
        (429, Some("1"))
    );
    assert_eq!(dropped.json()["error"]["code"], "limit_burst_rate");
    assert_eq!(dropped.header("x-weir-retry"), None);
    assert_eq!(provider.count(), 1);
    envoy.wait_policy("retry_dropped", 1).await;
    envoy.assert_idle().await;
    assert_eq!(Call::chat("next").send(envoy.addr).await.status, 200);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_503_dropped_by_the_breaker_is_still_a_503_to_the_client() {
    let provider = Provider::start(|_| Reply::overloaded()).await;
    let none = json!({"circuit_breakers": {"thresholds": [{"max_retries": 0}]}});
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(1)).clusters(&none)).await;
    let answer = Call::chat("d").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-class")),
        (503, Some("overloaded"))
    );
    envoy.wait_policy("retry_dropped", 1).await;
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_resets_hangs_or_is_down_keeps_no_slot() {
    let provider = Provider::start(|seen| match seen.path.as_str() {
        "/reset" => Reply::reset(),
        "/broken" => Reply::ok().broken(),
        "/refusal-broken" => Reply::burst().broken(),
        "/hang" => Reply::hang(),
        _ => Reply::ok(),
    })
    .await;
    let down = json!({"match": {"prefix": "/down"}, "route": {"cluster": "down"}});
    let slow = json!({"match": {"prefix": "/hang"},
        "route": {"cluster": "provider", "timeout": "0.3s"}});
    let config = Bootstrap::new(provider.addr, &cap(1))
        .cluster("down", nobody().await)
        .route(down)
        .route(slow);
    let envoy = Envoy::start(&config).await;
    for (path, status) in [("/reset", 503), ("/hang", 504), ("/down", 503)] {
        let answer = Call::chat(path).path(path).send(envoy.addr).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(
            answer.header("x-weir-refused"),
            None,
            "{path} is not Weir's refusal"
        );
        assert_eq!(
            Call::chat("next").send(envoy.addr).await.status,
            200,
            "after {path}"
        );
    }
    for path in ["/broken", "/refusal-broken"] {
        let _ = Call::chat(path).path(path).try_send(envoy.addr).await;
        assert_eq!(
            Call::chat("next").send(envoy.addr).await.status,
            200,
            "after {path}"
        );
    }
    envoy.assert_idle().await;
    envoy.wait_policy("calls", 10).await;
    envoy.wait_policy("admitted", 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_envoy_starts_on_its_own_is_counted_and_not_paused() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::reset(),
        _ => Reply::ok(),
    })
    .await;
    let own = json!({"retry_policy": {"retry_on": "reset", "num_retries": 2}});
    let config = Bootstrap::new(provider.addr, &cap(1)).action(&own);
    let envoy = Envoy::start(&config).await;
    assert_eq!(Call::chat("u").send(envoy.addr).await.status, 200);
    assert_eq!(provider.count(), 2);
    envoy.wait_policy("unplanned", 1).await;
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_not_utf8_kill_nothing() {
    let provider = Provider::start(|seen: &Seen| match seen.attempt {
        1 => Reply::burst()
            .header("x-odd", b"a\xff")
            .header("retry-after", b"\xff"),
        _ => Reply::ok().header("x-odd", b"a\xff"),
    })
    .await;
    let read = json!({
        "match": {"hosts": ["*"], "path_prefixes": ["/"]},
        "key": ["cluster", "host", "path_prefix"],
        "queue": {"no_wait_header": "x-odd"},
        "patience_header": "x-odd"});
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &policy(read))).await;
    let odd: [&[u8]; 4] = [
        b"GET /v1 HTTP/1.1\r\nhost: api.test\r\nx-id: 1\r\nx-odd: a\xff\r\nx-weir-no-wait: \xfe\r\nauthorization: Bearer \xff\xfe\r\nconnection: close\r\n\r\n",
        b"GET /v1/\xff\xfe?\xff HTTP/1.1\r\nhost: api.test\r\nx-id: 2\r\nconnection: close\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nhost: api\xff.test\r\nx-id: 3\r\nconnection: close\r\n\r\n",
        b"GET /%ff%fe HTTP/1.1\r\nhost: api.test\r\nx-id: 4\r\nconnection: close\r\n\r\n",
    ];
    for request in odd {
        let answer = raw::exchange(envoy.addr, request).await;
        let status = raw::status(&answer);
        assert!(
            matches!(status, Some(200 | 400)),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert!(
        provider.count() >= 4,
        "some went through: {:?}",
        provider.ids()
    );
    let plain = Call::chat("plain").send(envoy.addr).await;
    assert_eq!(plain.status, 200);
    envoy.assert_idle().await;
    let reloads = envoy.stats("wasm.").await;
    assert!(
        reloads
            .iter()
            .all(|(n, v)| !n.contains("vm_reload") || *v == 0),
        "{reloads:?}"
    );
}
