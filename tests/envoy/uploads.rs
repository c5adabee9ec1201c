//! A refusal that comes while the client still uploads must not be held: that once killed Envoy.

use crate::support;

use std::time::Duration;

use support::weir::cap;
use support::{Bootstrap, Call, Envoy, Provider, Reply, raw};

/// A 3 MiB upload over a second, refused at its head: Envoy lives, the client sees the refusal.
async fn early_refusal(shape: impl Fn(Bootstrap) -> Bootstrap, held: bool) {
    let provider = Provider::start_early(|_| Reply::burst()).await;
    let config = shape(Bootstrap::new(provider.addr, &cap(2)));
    let envoy = Envoy::start(&config).await;
    let body = vec![b'x'; 3 << 20];
    let upload = raw::upload(envoy.addr, "up", &body, Duration::from_secs(1)).await;
    let answer = String::from_utf8_lossy(&upload.answer);
    assert_eq!(raw::status(&upload.answer), Some(429), "{answer}");
    assert!(
        answer.contains("limit_burst_rate"),
        "the provider's own word: {answer}"
    );
    envoy.assert_idle().await;
    if held {
        assert_eq!(provider.count(), 2, "a complete request is retried");
        assert_eq!(envoy.plugin("avoided.request_incomplete").await, 0);
    } else {
        assert_eq!(provider.count(), 1, "an incomplete request is not held");
        let avoided = "wasmcustom.weir.plugin.avoided.request_incomplete";
        envoy.wait_stat(avoided, |n| n == 1).await;
    }
    let after = Call::chat("after").send(envoy.addr).await;
    assert_eq!(after.status, 429, "Envoy goes on serving");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_refused_early_over_http1_is_answered() {
    early_refusal(|b| b, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_refused_early_over_http2_is_answered() {
    early_refusal(Bootstrap::h2_upstream, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buffered_upload_is_retried_over_http1() {
    early_refusal(Bootstrap::buffered, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buffered_upload_is_retried_over_http2() {
    early_refusal(|b| b.buffered().h2_upstream(), true).await;
}
