//! L4 and L5 on a real Envoy: clients that leave while waiting, running or held.

use crate::support;

use std::time::Duration;

use serde_json::json;
use support::weir::{cap, policy};
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen};

async fn gated(config: &serde_json::Value) -> (Provider, Gate, Envoy) {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, config)).await;
    (provider, gate, envoy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_the_queue_frees_its_place() {
    let (provider, gate, envoy) = gated(&cap(1)).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    let leaving = Call::chat("leaving").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    let staying = Call::chat("staying").start(envoy.addr);
    envoy.wait_policy("waiting", 2).await;
    leaving.abort();
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(staying.answer().await.status, 200);
    assert_eq!(provider.ids(), ["running", "staying"]);
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_its_running_call_passes_the_slot_on() {
    let (provider, gate, envoy) = gated(&cap(1)).await;
    let running = Call::chat("leaving").start(envoy.addr);
    provider.wait_count(1).await;
    let next = Call::chat("next").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    running.abort();
    provider.wait_count(2).await;
    gate.open();
    assert_eq!(next.answer().await.status, 200);
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_mid_stream_passes_the_slot_on() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.id.as_str() {
        "leaving" => Reply::sse(3).between(&door),
        _ => Reply::ok(),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(1))).await;
    let mut leaving = Call::chat("leaving").open(envoy.addr).await;
    assert!(leaving.next().await.is_some());
    let next = Call::chat("next").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    drop(leaving);
    assert_eq!(next.answer().await.status, 200);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_while_held_is_not_retried() {
    let provider = Provider::start(|_| Reply::burst()).await;
    let long = json!({"burst_retry_base_delay_ms": 20_000, "burst_retry_cap_delay_ms": 60_000});
    let config = policy(json!({"max_concurrent_calls": 1, "retry": long}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let held = Call::chat("held").start(envoy.addr);
    envoy.wait_policy("held", 1).await;
    envoy.wait_policy("slots", 0).await;
    held.abort();
    envoy.assert_idle().await;
    assert_eq!(provider.count(), 1);
    assert_eq!(envoy.policy("retries.class.burst_rate").await, 0);
}

/// Each try aborts a waiter within 3 ms of the end of the call before it; whatever side of the
/// grant that falls on, the slot must come back.
async fn leave_near_the_grant(workers: u32) {
    const TRIES: u64 = 300;
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.id.starts_with("stay") {
        true => Reply::ok().after(&door),
        false => Reply::ok(),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(1)).workers(workers)).await;
    let _balance = Conn::many(envoy.addr, workers as usize).await;
    let mut seed = 0x5eed_u64;
    for i in 0..TRIES {
        let stay = Call::chat(format!("stay{i}")).start(envoy.addr);
        provider.wait_id(&format!("stay{i}")).await;
        let leave = Call::chat(format!("leave{i}")).start(envoy.addr);
        tokio::time::sleep(Duration::from_micros(draw(&mut seed) % 3000)).await;
        gate.let_through(1);
        tokio::time::sleep(Duration::from_micros(draw(&mut seed) % 3000)).await;
        leave.abort();
        assert_eq!(stay.answer().await.status, 200);
    }
    assert_eq!(Call::chat("last").send(envoy.addr).await.status, 200);
    envoy.assert_idle().await;
    let started = provider
        .ids()
        .iter()
        .filter(|id| id.starts_with("leave"))
        .count() as u64;
    assert!(
        (TRIES / 10..TRIES).contains(&started),
        "{started} left after their grant"
    );
    let queued = envoy.policy("queued").await;
    assert!(queued > TRIES / 2, "{queued} waited");
}

/// SplitMix64: the same tries in every run.
fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_near_the_grant_loses_no_slot_on_one_worker() {
    leave_near_the_grant(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_near_the_grant_loses_no_slot_on_four_workers() {
    leave_near_the_grant(4).await;
}
