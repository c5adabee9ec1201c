//! Refusals without a body, with one that never ends and with one too large to keep back.

use crate::support;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Provider, Reply};

/// Refuses the first attempt with `refusal`, then accepts.
async fn refusing_once(refusal: Reply) -> Provider {
    Provider::start(move |seen| match seen.attempt {
        1 => refusal.clone(),
        _ => Reply::ok(),
    })
    .await
}

async fn weir(provider: &Provider) -> Envoy {
    Envoy::start(&Bootstrap::new(provider.addr, &policy(json!({})))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_without_a_body_is_retried() {
    for refusal in [Reply::new(429, ""), Reply::new(503, "")] {
        let provider = refusing_once(refusal).await;
        let envoy = weir(&provider).await;
        let answer = Call::chat("e").send(envoy.addr).await;
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (200, Some("2"))
        );
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_whose_body_never_ends_is_retried() {
    let provider = refusing_once(Reply::burst().endless()).await;
    let envoy = weir(&provider).await;
    let answer = Call::chat("e").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-attempts")),
        (200, Some("2"))
    );
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_final_refusal_whose_body_never_ends_reaches_the_client() {
    let provider = Provider::start(|_| Reply::quota().endless()).await;
    let envoy = weir(&provider).await;
    let mut answer = Call::chat("e").open(envoy.addr).await;
    assert_eq!(answer.status(), 429);
    assert!(
        answer
            .next()
            .await
            .is_some_and(|b| b.starts_with(b"{\"error\""))
    );
    assert_eq!(answer.header("x-weir-class"), Some("quota_exhausted"));
    drop(answer);
    envoy.assert_idle().await;
    assert_eq!(provider.count(), 1);
}

/// Beyond what may be kept back, the filter may retry or pass on, but the answer is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_refusal_is_retried_or_reaches_the_client_whole() {
    const HUGE: usize = 10 << 20;
    let provider = refusing_once(Reply::new(429, vec![b'.'; HUGE])).await;
    let envoy = weir(&provider).await;
    let answer = Call::chat("e").send(envoy.addr).await;
    match answer.header("x-weir-attempts") {
        Some("2") => assert_eq!(answer.status, 200),
        _ => {
            assert_eq!((answer.status, answer.body.len()), (429, HUGE));
            assert_eq!(answer.header("x-weir-class"), Some("rate"));
        }
    }
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_final_refusal_reaches_the_client_whole() {
    let provider = Provider::start(|_| Reply::new(429, vec![b'.'; 10 << 20])).await;
    let once = json!({"retry": {"retry_max_attempts": 1, "burst_max_attempts": 1}});
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &policy(once))).await;
    let answer = Call::chat("h").send(envoy.addr).await;
    assert_eq!((answer.status, answer.body.len()), (429, 10 << 20));
    assert_eq!(answer.header("x-weir-class"), Some("rate"));
    assert_eq!(provider.count(), 1);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_end_a_body_too() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::burst().trailed(),
        _ => Reply::ok().trailed(),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &policy(json!({"max_concurrent_calls": 1})));
    let envoy = Envoy::start(&config.h2_upstream()).await;
    for i in 0..2 {
        let answer = Call::chat(i).send(envoy.addr).await;
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (200, Some("2"))
        );
    }
    envoy.assert_idle().await;
    assert_eq!(envoy.plugin("avoided.body_without_end").await, 0);
}

/// `{"error":{"message":...,"type":"limit_burst_rate","code":"limit_burst_rate"}}`, as `gzip` packs it.
const PACKED: &str = "H4sIAAAAAAACA23LwQ2AIAxA0VVIz8YBGMMFCEJjGkGkLQdC2F29e37/D0DmwmAHZBTxB4KFDWtDUcNe0dAVGL1gNFqKqY3CmfoKC2i/vzhRJnV7Y1H3Da+EEn9lzgdvViRsbwAAAA==";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packed_refusal_is_unpacked_to_be_read_and_passed_on_as_it_came() {
    let packed = BASE64_STANDARD.decode(PACKED).expect("base64");
    let reply = Reply::new(429, packed.clone())
        .header("content-type", "application/json")
        .header("content-encoding", "gzip");
    let provider = Provider::start(move |_| reply.clone()).await;
    let envoy = weir(&provider).await;
    let answer = Call::chat("g").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-class")),
        (429, Some("burst_rate"))
    );
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(answer.body, packed);
    assert_eq!(provider.count(), 2);
    envoy.assert_idle().await;
}
