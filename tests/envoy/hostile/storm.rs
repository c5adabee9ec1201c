//! Everything at once.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::support::weir::policy;
use crate::support::{Bootstrap, Call, Envoy, Provider, Reply};

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
                let call = if n.is_multiple_of(2) { call.h2() } else { call };
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
        assert!(client.await.is_ok(), "a client's assertion failed");
    }
    envoy.assert_idle().await;
    // Most are refused, and each refusal makes all others wait.
    assert!(provider.count() > 20);
}
