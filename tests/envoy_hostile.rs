//! Clients, providers and surroundings at their worst: whatever they do, no call hangs, no slot
//! stays behind, and neither a VM nor the process dies.

mod support;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use support::weir::{cap, policy};
use support::{Bootstrap, Call, Envoy, Gate, Peer, Provider, Reply, Wire};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// `n` calls at once as streams of one connection, which is one worker's. Gives their statuses.
async fn streams(envoy: &Envoy, n: usize) -> Vec<JoinHandle<u16>> {
    let socket = tokio::net::TcpStream::connect(envoy.addr).await.unwrap();
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
    let (sender, connection) = shaken.await.unwrap();
    tokio::spawn(connection);
    let call = |i: usize| {
        let mut sender = sender.clone();
        tokio::spawn(async move {
            sender.ready().await.unwrap();
            let request = Request::post("http://api.test/v1").header("x-id", i.to_string());
            let request = request.body(Full::new(Bytes::from_static(b"{}"))).unwrap();
            let answer = timeout(Duration::from_secs(20), sender.send_request(request));
            let answer = answer.await.expect("no call hangs");
            answer.map_or(0, |answer| answer.status().as_u16())
        })
    };
    (0..n).map(call).collect()
}

/// How many got which status.
async fn count(calls: Vec<JoinHandle<u16>>, status: u16) -> usize {
    let mut found = 0;
    for call in calls {
        found += usize::from(call.await.unwrap() == status);
    }
    found
}

/// Waiters that the hosts resumes in one callback it resumes one inside the other, until the
/// stack ends.
const MANY: usize = 600;

fn many_streams(config: Bootstrap) -> Bootstrap {
    config.hcm(json!({"http2_protocol_options": {"max_concurrent_streams": 2 * MANY}}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raised_cap_starts_any_number_of_waiters() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_| Reply::ok().after(&door)).await;
    let config = many_streams(Bootstrap::new(provider.addr, &cap(1)).dynamic());
    let envoy = Envoy::start(&config).await;
    let calls = streams(&envoy, MANY).await;
    envoy.wait_policy("waiting", MANY as u64 - 1).await;
    envoy.update(&config.weir(&cap(2 * MANY as u32).to_string()));
    provider.wait_running(MANY).await;
    gate.open();
    assert_eq!(count(calls, 200).await, MANY);
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_waiters_may_be_refused_at_once() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_| Reply::ok().after(&door)).await;
    let brief = policy(json!({"max_concurrent_calls": 1, "queue": {"max_wait_ms": 2000}}));
    let envoy = Envoy::start(&many_streams(Bootstrap::new(provider.addr, &brief))).await;
    let calls = streams(&envoy, MANY).await;
    envoy.wait_policy("waiting", MANY as u64 - 1).await;
    envoy.stall(Duration::from_millis(2200)).await;
    envoy
        .wait_policy("refused.reason.wait_too_long", MANY as u64 - 1)
        .await;
    gate.open();
    assert_eq!(count(calls, 429).await, MANY - 1);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_holds_may_end_at_once() {
    let provider = Provider::start(|_| Reply::burst()).await;
    let same = json!({"retry": {
        "burst_retry_base_delay_ms": 1500, "burst_retry_cap_delay_ms": 1800}});
    let envoy = Envoy::start(&many_streams(Bootstrap::new(provider.addr, &policy(same)))).await;
    let calls = streams(&envoy, MANY).await;
    envoy.wait_policy("held", MANY as u64).await;
    envoy.stall(Duration::from_millis(2000)).await;
    assert_eq!(count(calls, 429).await, MANY);
    assert_eq!(provider.count(), 2 * MANY);
    envoy.assert_idle().await;
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_does_not_wait_for_its_own_slot_at_a_second_gate() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &cap(1)).gate_twice();
    let envoy = Envoy::start(&config).await;
    let calls = (0..3).map(|i| Call::chat(i).start(envoy.addr)).collect();
    for answer in support::answers(calls).await {
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (200, Some("2"))
        );
    }
    assert_eq!((provider.count(), provider.peak()), (6, 1));
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("calls").await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_internal_redirect_passes_the_gate_again() {
    let provider = Provider::start(|seen| match (seen.path.as_str(), seen.attempt) {
        ("/there", 2) => Reply::burst(),
        ("/there", _) => Reply::ok(),
        _ => Reply::new(302, "").header("location", "http://api.test/there"),
    })
    .await;
    let config =
        Bootstrap::new(provider.addr, &cap(1)).action(&json!({"internal_redirect_policy": {}}));
    let envoy = Envoy::start(&config).await;
    let calls = (0..3).map(|i| Call::chat(i).start(envoy.addr)).collect();
    for answer in support::answers(calls).await {
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (200, Some("2"))
        );
    }
    assert_eq!((provider.count(), provider.peak()), (9, 1));
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("calls").await, 6);
}
