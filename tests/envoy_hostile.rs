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
use support::{Bootstrap, Call, Envoy, Gate, Peer, Provider, Reply, Wire, raw};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

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

/// Streams that the host resumes in one callback it resumes one inside the other, until the stack
/// ends.
const MANY: usize = 600;

fn lua(code: &str) -> serde_json::Value {
    json!({"name": "envoy.filters.http.lua", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
        "default_source_code": {"inline_string": code}}})
}

fn many_streams(config: Bootstrap) -> Bootstrap {
    config.hcm(json!({"http2_protocol_options": {"max_concurrent_streams": 2 * MANY}}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raised_cap_starts_any_number_of_waiters() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_| Reply::ok().after(&door)).await;
    // Every further filter of the chain takes its part of the stack.
    let idle = "function envoy_on_request(handle) end";
    let config = Bootstrap::new(provider.addr, &cap(1)).dynamic();
    let config = many_streams((0..12).fold(config, |config, _| config.after_gate(lua(idle))));
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

/// Envoy's own timers end calls that wait and calls that are held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_envoy_ends_itself_are_not_started_any_more() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen| match seen.id.as_str() {
        "held" => Reply::burst(),
        _ => Reply::ok().after(&door),
    })
    .await;
    let slow = policy(json!({"max_concurrent_calls": 1, "retry": {
        "burst_retry_base_delay_ms": 2000, "burst_retry_cap_delay_ms": 2500}}));
    for timer in [
        json!({"stream_idle_timeout": "0.4s"}),
        json!({"common_http_protocol_options": {"max_stream_duration": "0.4s"}}),
    ] {
        let envoy = Envoy::start(&Bootstrap::new(provider.addr, &slow).hcm(timer)).await;
        assert_eq!(Call::chat("held").send(envoy.addr).await.status, 504);
        let calls: Vec<_> = (0..4).map(|i| Call::chat(i).start(envoy.addr)).collect();
        for answer in support::answers(calls).await {
            assert_eq!(answer.status, 504);
            assert_eq!(answer.header("x-weir-refused"), None);
        }
        envoy.assert_idle().await;
    }
    gate.open();
}

/// Refusals of every kind, broken answers, and clients of whom three of four leave at random, with
/// the whole process stopped now and then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_leaves_nothing_behind() {
    let provider = Provider::start(|seen| match seen.n % 8 {
        0 => Reply::rate(),
        1 => Reply::overloaded(),
        2 => Reply::reset(),
        3 => Reply::burst().broken(),
        4 => Reply::sse(3),
        5 => Reply::ok(),
        _ => Reply::burst(),
    })
    .await;
    let config = policy(json!({"max_concurrent_calls": 4, "retry": {
        "retry_max_attempts": 5, "burst_max_attempts": 5,
        "retry_base_delay_ms": 5, "retry_cap_delay_ms": 10,
        "burst_retry_base_delay_ms": 5, "burst_retry_cap_delay_ms": 30}}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(4)).await;
    let (addr, end) = (envoy.addr, Instant::now() + Duration::from_secs(4));
    let client = |n: u64| {
        tokio::spawn(async move {
            let mut seed = n;
            while Instant::now() < end {
                seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let call = Call::chat(seed);
                let call = if n % 2 == 0 { call.h2() } else { call };
                let patience = match seed >> 62 {
                    0 => Duration::from_secs(20),
                    _ => Duration::from_micros((seed >> 32) % 40_000),
                };
                let answer = timeout(patience, call.try_send(addr)).await;
                assert!(answer.is_ok() || seed >> 62 != 0, "a call hangs");
                if let Ok(Ok(answer)) = answer {
                    assert_eq!(answer.header("x-weir-retry"), None);
                    assert_eq!(answer.header("x-envoy-ratelimited"), None);
                }
            }
        })
    };
    let clients: Vec<_> = (0..24).map(client).collect();
    for pause in [30, 300, 2500] {
        sleep(Duration::from_millis(300)).await;
        envoy.stall(Duration::from_millis(pause)).await;
    }
    for client in clients {
        client.await.unwrap();
    }
    envoy.assert_idle().await;
    assert!(provider.count() > 100);
}
