//! Keys by credential and by header on a real Envoy: each has a gate of its own, none shows.

use crate::support;

use serde_json::{Value, json};
use support::weir::policy;
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen, answers};

async fn gated() -> (Provider, Gate) {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    (provider, gate)
}

/// One call at a time for each key.
fn keyed(key: Value) -> Value {
    policy(json!({"max_concurrent_calls": 1, "key": key}))
}

/// Begins like no word that Envoy or Weir would write by themselves.
fn credential(number: usize) -> String {
    format!("zq7x-{number:06}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_clients_queue_does_not_delay_another() {
    let (provider, gate) = gated().await;
    let config = keyed(json!(["credential"]));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(2)).await;
    let by = |id: &str, header: &str, value: &str| {
        Call::chat(id).header(header, value).start(envoy.addr)
    };
    let mut calls = vec![by("greedy-1", "authorization", "Bearer a")];
    provider.wait_count(1).await;
    for id in ["greedy-2", "greedy-3", "greedy-4"] {
        calls.push(by(id, "authorization", "Bearer a"));
    }
    // The same account, by another header.
    calls.push(by("greedy-5", "x-api-key", "a"));
    envoy.wait_policy("waiting", 4).await;
    calls.push(by("modest", "authorization", "Bearer b"));
    calls.push(Call::chat("nobody").start(envoy.addr));
    provider.wait_count(3).await;
    assert_eq!(envoy.policy("waiting").await, 4);
    gate.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
    envoy.wait_policy("queued", 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_tells_models_of_one_cluster_apart() {
    let (provider, gate) = gated().await;
    let config = keyed(json!(["cluster", {"header": "X-Model"}]));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let of = |model: &str| Call::chat(model).header("x-model", model).start(envoy.addr);
    let mut calls = vec![of("large"), of("small")];
    provider.wait_count(2).await;
    calls.push(of("large"));
    envoy.wait_policy("waiting", 1).await;
    gate.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_keys_have_a_thousand_gates_and_none_shows_its_credential() {
    const KEYS: usize = 1000;
    /// Calls under way at one time, two of each key.
    const AT_ONCE: usize = 20;
    let provider = Provider::start(|seen: &Seen| match seen.attempt {
        // Retries are logged.
        1 if seen.id.ends_with('7') => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let config = keyed(json!(["credential"]));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(2)).await;
    for first in (0..KEYS).step_by(AT_ONCE / 2) {
        let conns = Conn::many(envoy.addr, AT_ONCE).await;
        let calls = conns.into_iter().enumerate().map(|(at, conn)| {
            let number = first + at / 2;
            let value = format!("Bearer {}", credential(number));
            conn.start(Call::chat(number).header("authorization", &value))
        });
        let all = answers(calls.collect()).await;
        assert!(all.iter().all(|answer| answer.status == 200));
    }
    let keys = envoy
        .wait_stat("wasmcustom.weir.plugin.keys", |keys| keys == KEYS as u64)
        .await;
    assert_eq!(keys, KEYS as u64);
    assert_eq!(envoy.plugin("overflow").await, 0);
    envoy.assert_idle().await;
    envoy.wait_policy("admitted", 2 * KEYS as u64).await;
    for page in [
        "/stats",
        "/stats/prometheus",
        "/config_dump",
        "/clusters",
        "/listeners",
    ] {
        let text = envoy.admin(page).await;
        assert!(!text.contains("zq7x"), "a credential on {page}");
    }
    let log = envoy.log();
    assert!(
        log.contains(r#""weir":"retry""#),
        "there is a line about a key"
    );
    assert!(!log.contains("zq7x"), "a credential in the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_without_room_for_their_key_share_a_gate() {
    let (provider, gate) = gated().await;
    let mut config = keyed(json!(["credential"]));
    config["max_keys"] = json!(10);
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(2)).await;
    let of = |number| {
        Call::chat(number)
            .header("x-api-key", &credential(number))
            .start(envoy.addr)
    };
    let mut calls = vec![];
    for number in 0..10 {
        calls.push(of(number));
        provider.wait_count(number + 1).await;
    }
    for number in 10..20 {
        calls.push(of(number));
    }
    envoy.wait_policy("waiting", 9).await;
    assert_eq!(provider.count(), 11);
    gate.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
    assert_eq!(envoy.plugin("overflow").await, 10);
    assert_eq!(envoy.plugin("keys").await, 11);
}
