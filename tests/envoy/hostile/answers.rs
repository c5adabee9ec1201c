//! Answers that come too early, too large or in pieces.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::support::weir::{cap, policy};
use crate::support::{Bootstrap, Call, Envoy, Peer, Provider, Reply, Wire, raw};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Sends `parts` with a pause between them in answer to the first request, then accepts.
async fn answering(parts: Vec<String>) -> Wire {
    Wire::start(move |n, mut peer: Peer| {
        let parts = parts.clone();
        async move {
            if n == 1 {
                for part in parts {
                    peer.send(part).await;
                    sleep(Duration::from_millis(50)).await;
                }
                if !peer.head().await {
                    return;
                }
            }
            peer.serve(OK).await;
        }
    })
    .await
}

/// 32 KiB is what Envoy's own guide to hardening names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_beyond_the_listeners_buffer_reaches_the_client_whole() {
    for status in [400, 403, 429, 500, 503] {
        let head = format!("HTTP/1.1 {status} No\r\ncontent-length: 60000\r\n\r\n");
        let parts = vec![head + &"a".repeat(10_000), "b".repeat(50_000)];
        let provider = answering(parts).await;
        let config = Bootstrap::new(provider.addr, &cap(1))
            .listener(json!({"per_connection_buffer_limit_bytes": 32_768}));
        let envoy = Envoy::start(&config).await;
        let answer = Call::chat("large").send(envoy.addr).await;
        assert_eq!((answer.status, answer.body.len()), (status, 60_000));
        assert_eq!(Call::chat("next").send(envoy.addr).await.status, 200);
        envoy.assert_idle().await;
    }
}

/// A final refusal that is let go by the clock while the client still uploads: a hold would crash
/// here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_early_refusal_without_end_survives_the_rest_of_the_upload() {
    let h1 = Wire::start(|_, mut peer: Peer| async move {
        let head = "HTTP/1.1 429 No\r\ncontent-length: 40\r\n\r\n{\"error\":{\"code\":";
        peer.send(head).await;
        sleep(Duration::from_millis(1400)).await;
        peer.send("\"limit_burst_rate\"}}  ").await;
        peer.head().await;
    })
    .await;
    let h2 = Provider::start_early(|_| Reply::burst().endless()).await;
    let over_h2 = Bootstrap::new(h2.addr, &cap(1)).h2_upstream();
    for config in [Bootstrap::new(h1.addr, &cap(1)), over_h2] {
        let config = config.action(&json!({"timeout": "0.5s"}));
        let envoy = Envoy::start(&config).await;
        let body = vec![b'.'; 20_000];
        let upload = raw::upload(envoy.addr, "u", &body, Duration::from_millis(1800)).await;
        let text = String::from_utf8_lossy(&upload.answer);
        assert_eq!(raw::status(&upload.answer), Some(429), "{text}");
        assert!(text.contains("limit_burst_rate"), "{text}");
        envoy.assert_idle().await;
    }
    assert_eq!((h1.count(), h2.count()), (1, 1));
}

/// Whatever a provider's answer looks like, the next call is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_kill_nothing_and_keep_no_slot() {
    let many: String = (0..200).map(|i| format!("x-{i}: a\r\n")).collect();
    let odd = [
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 429 No\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 429 No\r\nx-\u{e9}\u{ff}: a\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 429 No\r\nretry-after: \u{e9}\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n",
        &format!("HTTP/1.1 429 No\r\n{many}content-length: 0\r\n\r\n"),
        &format!("HTTP/1.1 503 No\r\nx-a: {}\r\ncontent-length: 0\r\n\r\n", "a".repeat(59_000)),
        "HTTP/1.1 204 No\r\nx-weir-retry: 1\r\nx-envoy-ratelimited: 1\r\n\r\n",
        "HTTP/1.1 304 No\r\ncontent-length: 99\r\n\r\n",
        "HTTP/1.1 000 No\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 999 No\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.0 429 No\r\n\r\nuntil the end",
        "HTTP/1.1 429 No\r\ncontent-length: 99\r\n\r\nbroken off",
        "HTTP/1.1 429 No\r\ncontent-length: 0\r\n\r\nand more than was announced",
        "",
    ]
    .map(str::to_owned);
    let script = odd.clone();
    let provider = Wire::start(move |n, mut peer: Peer| {
        let answer = (n % 2 == 0)
            .then(|| script.get(n / 2 - 1).cloned())
            .flatten();
        async move {
            peer.send(answer.as_deref().unwrap_or(OK)).await;
        }
    })
    .await;
    let once = json!({"max_concurrent_calls": 1,
        "retry": {"retry_max_attempts": 1, "burst_max_attempts": 1}});
    // The provider closes after each answer, which must not meet the next request.
    let options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let fresh = json!({"typed_extension_protocol_options": {options: {
        "@type": format!("type.googleapis.com/{options}"),
        "common_http_protocol_options": {"max_requests_per_connection": 1},
        "explicit_http_config": {"http_protocol_options": {}}}}});
    let config = Bootstrap::new(provider.addr, &policy(once)).clusters(&fresh);
    let envoy = Envoy::start(&config).await;
    let _ = Call::chat("first").try_send(envoy.addr).await;
    let rounds = odd.len();
    for answer in odd {
        if let Ok(seen) = Call::chat("odd").try_send(envoy.addr).await {
            assert_eq!(seen.header("x-weir-retry"), None, "{answer}");
        }
        assert_eq!(
            Call::chat("next").send(envoy.addr).await.status,
            200,
            "after {answer}"
        );
    }
    assert_eq!(provider.count(), 1 + 2 * rounds);
    envoy.assert_idle().await;
}
