//! L6 on a real Envoy: a listener update keeps calls, slots and order.

use crate::support;

use serde_json::{Value, json};
use support::weir::{cap, policy};
use support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, Seen};

async fn gated(config: &Value, workers: u32) -> (Provider, Gate, Bootstrap, Envoy) {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let config = Bootstrap::new(provider.addr, config)
        .dynamic()
        .workers(workers);
    let envoy = Envoy::start(&config).await;
    (provider, gate, config, envoy)
}

/// Updates and waits until Envoy has taken `n` listeners in all.
async fn update(envoy: &Envoy, config: &Bootstrap, weir: &Value, n: u64) {
    envoy.update(&config.clone().weir(&weir.to_string()));
    envoy
        .wait_stat("listener_manager.lds.update_success", |v| v == n)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_through_an_update_is_still_served() {
    for workers in [1, 4] {
        let (provider, gate, config, envoy) = gated(&cap(1), workers).await;
        let running = Call::chat("running").start(envoy.addr);
        provider.wait_count(1).await;
        let before = Call::chat("before").start(envoy.addr);
        envoy.wait_policy("waiting", 1).await;
        let same_cap = policy(json!({"max_concurrent_calls": 1, "queue": {"max_waiting": 7}}));
        update(&envoy, &config, &same_cap, 2).await;
        let after = Call::chat("after").start(envoy.addr);
        envoy.wait_policy("waiting", 2).await;
        assert_eq!(provider.count(), 1, "no slot was lost or made");
        gate.open();
        for call in [running, before, after] {
            assert_eq!(call.answer().await.status, 200);
        }
        assert_eq!(provider.ids(), ["running", "before", "after"]);
        assert_eq!(provider.peak(), 1);
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_higher_cap_wakes_waiters_at_once_and_a_lower_one_holds_from_the_next_grant() {
    let (provider, gate, config, envoy) = gated(&cap(1), 2).await;
    let mut calls = vec![Call::chat(0).start(envoy.addr)];
    provider.wait_count(1).await;
    for i in 1..6 {
        calls.push(Call::chat(i).start(envoy.addr));
        envoy.wait_policy("waiting", i).await;
    }
    update(&envoy, &config, &cap(3), 2).await;
    provider.wait_running(3).await;
    envoy.wait_policy("waiting", 3).await;
    update(&envoy, &config, &cap(2), 3).await;
    // A fresh call proves that the lower cap has arrived: it waits, and the limit says so.
    calls.push(Call::chat(6).start(envoy.addr));
    envoy.wait_policy("waiting", 4).await;
    envoy.wait_policy("limit", 2).await;
    gate.let_through(1);
    provider.wait_running(2).await;
    gate.let_through(1);
    provider.wait_count(4).await;
    assert_eq!(
        provider.running(),
        2,
        "the running drained to the lower cap"
    );
    for started in 5..=7 {
        gate.let_through(1);
        provider.wait_count(started).await;
    }
    gate.open();
    let all = support::answers(calls).await;
    assert!(all.iter().all(|a| a.status == 200));
    let mut ids = provider.ids();
    ids[1..3].sort();
    assert_eq!(
        ids,
        ["0", "1", "2", "3", "4", "5", "6"],
        "1 and 2 started together"
    );
    assert_eq!(provider.peak(), 3);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_back_and_forth_ends_at_the_newest_configuration() {
    let (provider, gate, config, envoy) = gated(&cap(1), 1).await;
    for (n, limit) in [(2, 3), (3, 1), (4, 2)] {
        update(&envoy, &config, &cap(limit), n).await;
        let first = provider.count();
        let calls: Vec<_> = (0..5).map(|i| Call::chat(i).start(envoy.addr)).collect();
        let limit = limit as usize;
        provider.wait_count(first + limit).await;
        envoy.wait_policy("waiting", (5 - limit) as u64).await;
        assert_eq!(provider.running(), limit, "after update {n}");
        gate.let_through(5);
        assert!(
            support::answers(calls)
                .await
                .iter()
                .all(|a| a.status == 200)
        );
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_update_is_rejected_and_the_old_configuration_serves_on() {
    let (provider, gate, config, envoy) = gated(&cap(1), 1).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    envoy.update(
        &config
            .clone()
            .weir("{\"version\": 1, \"policies\": [{\"name\": \"A b\"}]}"),
    );
    envoy
        .wait_stat("listener_manager.lds.update_rejected", |n| n == 1)
        .await;
    assert!(
        envoy.log().contains("policies[0].name"),
        "the rejection names the path"
    );
    let waiting = Call::chat("waiting").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(waiting.answer().await.status, 200);
    assert_eq!(provider.peak(), 1);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_call_is_retried_through_an_update() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::rate(),
        _ => Reply::ok(),
    })
    .await;
    let retry = json!({"retry_base_delay_ms": 1500, "retry_cap_delay_ms": 4500});
    let weir = policy(json!({"max_concurrent_calls": 1, "retry": retry}));
    let config = Bootstrap::new(provider.addr, &weir).dynamic();
    let envoy = Envoy::start(&config).await;
    let held = Call::chat("held").start(envoy.addr);
    envoy.wait_policy("held", 1).await;
    let other = policy(json!({"max_concurrent_calls": 2, "retry": retry}));
    update(&envoy, &config, &other, 2).await;
    let answer = held.answer().await;
    assert_eq!(
        (answer.status, answer.header("x-weir-attempts")),
        (200, Some("2"))
    );
    envoy.assert_idle().await;
}
