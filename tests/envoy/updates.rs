//! L6 on a real Envoy: many updates under load, by listener and by filter, there and back, and two
//! builds of the code side by side. `WEIR_PROVE=1` makes ten times as many updates.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use support::weir::{cap, policy};
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen, answers};
use tokio::task::JoinHandle;

/// Clients that call all the time.
const CLIENTS: usize = 16;

/// The limits after update `n`: every field changes now and then.
fn limits(n: u64) -> (u64, Value) {
    let cap = 1 + n * 3 % 5;
    let mut patch = json!({
        "max_concurrent_calls": cap,
        "mode": if n % 7 == 3 { "shadow" } else { "enforce" },
        "queue": {"max_waiting": 500 + n},
    });
    if n % 2 == 1 {
        patch["rate"] = json!({"requests_per_second": 300 + n, "burst": 1 + n % 4});
    }
    if n % 3 == 1 {
        patch["ramp"] = json!({
            "mode": null, "initial_per_second": 100, "growth_percent": 100, "every_ms": 500});
    }
    if n % 4 == 2 {
        patch["queue"]["fair_by"] = json!({"header": "x-team"});
    }
    if n % 5 == 4 {
        patch["queue"]["priority_header"] = json!("x-class");
    }
    let mut weir = policy(patch);
    weir["max_keys"] = json!(1 + n % 8);
    (cap, weir)
}

/// Clients with a connection for every call, or one for all calls.
fn load(envoy: &Envoy, stop: &Arc<AtomicBool>, sent: &Arc<AtomicUsize>) -> Vec<JoinHandle<()>> {
    let addr = envoy.addr;
    let client = |id: usize| {
        let (stop, sent) = (stop.clone(), sent.clone());
        tokio::spawn(async move {
            let mut kept = Conn::h1(addr).await.expect("an open listener");
            while !stop.load(Ordering::SeqCst) {
                let n = sent.fetch_add(1, Ordering::SeqCst);
                let call = Call::chat(n)
                    .header("x-team", ["a", "b", "c"][n % 3])
                    .header("x-class", ["high", "normal", "low"][n % 3]);
                let answer = match id % 2 {
                    0 => call.send(addr).await,
                    _ => kept.send(call).await,
                };
                assert_eq!(answer.status, 200, "{}", answer.text());
                if id % 2 == 1 && answer.header("connection") == Some("close") {
                    kept = Conn::h1(addr).await.expect("an open listener");
                }
            }
        })
    };
    (0..CLIENTS).map(client).collect()
}

async fn updates_under_load(by_filter: bool) {
    let updates = if std::env::var_os("WEIR_PROVE").is_some() {
        200
    } else {
        20
    };
    let door = Gate::closed();
    let shut = Arc::new(AtomicBool::new(false));
    let (before, is_shut) = (door.clone(), shut.clone());
    let provider = Provider::start(move |_: &Seen| match is_shut.load(Ordering::SeqCst) {
        true => Reply::ok().after(&before),
        false => Reply::ok(),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &limits(0).1).workers(4);
    let config = if by_filter {
        config.discovered()
    } else {
        config.dynamic()
    };
    let envoy = Envoy::start(&config).await;
    let (stop, sent) = Default::default();
    let clients = load(&envoy, &stop, &sent);
    for n in 1..=updates {
        let (cap, weir) = limits(n);
        envoy.update(&config.clone().weir(&weir.to_string()));
        envoy.wait_policy("limit", cap).await;
    }
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.expect("every call was answered");
    }
    envoy.assert_idle().await;
    let sent = sent.load(Ordering::SeqCst);
    assert_eq!(provider.count(), sent, "each call was sent once");
    envoy.wait_policy("calls", sent as u64).await;
    envoy.wait_policy("unplanned", 0).await;

    // What is in force now is the last of them, on every worker.
    shut.store(true, Ordering::SeqCst);
    let (_, last) = limits(updates);
    let mut last = last["policies"][0].clone();
    last["mode"] = json!("enforce");
    last["max_concurrent_calls"] = json!(3);
    let last = json!({"policies": [last]}).to_string();
    envoy.update(&config.clone().weir(&last));
    let calls: Vec<_> = Conn::many(envoy.addr, 12).await;
    let calls: Vec<_> = calls
        .into_iter()
        .enumerate()
        .map(|(i, conn)| conn.start(Call::chat(i).header("x-class", "high")))
        .collect();
    provider.wait_running(3).await;
    envoy.wait_policy("slots", 3).await;
    envoy.wait_policy("waiting", 9).await;
    door.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_many_updates_of_the_listener_under_load_lose_nothing() {
    updates_under_load(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_many_updates_of_the_filters_under_load_lose_nothing() {
    updates_under_load(true).await;
}

/// A provider that answers with a stream that goes on until the door opens.
async fn streaming() -> (Provider, Gate) {
    let door = Gate::closed();
    let between = door.clone();
    let provider = Provider::start(move |_: &Seen| Reply::sse(1).between(&between)).await;
    (provider, door)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_there_and_back_twice_with_streams_open_on_each() {
    let (provider, door) = streaming().await;
    let config = Bootstrap::new(provider.addr, &cap(2)).dynamic().workers(2);
    let envoy = Envoy::start(&config).await;
    let mut streams = vec![Call::chat("a1").open(envoy.addr).await];
    let mut waiting = vec![];
    for (n, limit, name) in [(2, 4, "b1"), (3, 2, "a2"), (4, 5, "b2")] {
        envoy.update(&config.clone().weir(&cap(limit).to_string()));
        envoy
            .wait_stat("listener_manager.lds.update_success", |v| v == n)
            .await;
        // Traffic says which is newest; going back runs no code of the filter's.
        if limit == 2 {
            waiting.push(Call::chat(name).start(envoy.addr));
            envoy.wait_policy("waiting", 1).await;
        } else {
            streams.push(Call::chat(name).open(envoy.addr).await);
        }
        envoy.wait_policy("limit", limit.into()).await;
    }
    // The last update woke the one that waited.
    provider.wait_count(4).await;
    envoy.wait_policy("slots", 4).await;
    door.open();
    for stream in &mut streams {
        while stream.next().await.is_some() {}
    }
    assert!(answers(waiting).await.iter().all(|a| a.status == 200));
    drop(streams);
    envoy.assert_idle().await;
    assert_eq!(provider.count(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_filters_that_change_under_an_open_connection_are_followed_there_and_back() {
    let (provider, door) = streaming().await;
    door.open();
    let config = Bootstrap::new(provider.addr, &cap(1))
        .discovered()
        .workers(2);
    let envoy = Envoy::start(&config).await;
    let mut kept = Conn::h1(envoy.addr).await.unwrap();
    assert_eq!(kept.send(Call::chat("first")).await.status, 200);
    for limit in [3, 1, 3, 1] {
        envoy.update(&config.clone().weir(&cap(limit).to_string()));
        // The connection is the oldest of all, and stays.
        let mut tries = 0;
        while envoy.policy("limit").await != u64::from(limit) {
            assert_eq!(kept.send(Call::chat("again")).await.status, 200);
            tries += 1;
            assert!(tries < 2000, "the limit never became {limit}");
        }
    }
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_pooled_connections_from_before_an_update_do_not_bring_the_old_cap_back() {
    let door = Gate::closed();
    let before = door.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.id.as_str() {
        "pooled" => Reply::ok(),
        _ => Reply::ok().after(&before),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &cap(4)).dynamic().workers(4);
    let envoy = Envoy::start(&config).await;
    let mut pooled = Conn::many(envoy.addr, 4).await;
    for conn in &mut pooled {
        assert_eq!(conn.send(Call::chat("pooled")).await.status, 200);
    }
    let mut calls = vec![Call::chat("running").start(envoy.addr)];
    provider.wait_count(5).await;
    envoy.update(&config.clone().weir(&cap(1).to_string()));
    envoy
        .wait_stat("listener_manager.lds.update_success", |v| v == 2)
        .await;
    envoy.wait_policy("limit", 1).await;
    for (i, conn) in pooled.into_iter().enumerate() {
        calls.push(conn.start(Call::chat("drains")));
        envoy.wait_policy("waiting", i as u64 + 1).await;
        envoy.wait_policy("limit", 1).await;
    }
    assert_eq!(provider.running(), 1);
    door.open();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_a_wake_up_comes_when_the_root_it_was_registered_under_is_gone() {
    let door = Gate::closed();
    let before = door.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&before)).await;
    let config = Bootstrap::new(provider.addr, &cap(1)).dynamic();
    let config = config
        .arg("--drain-time-s")
        .arg("1")
        .arg("--drain-strategy")
        .arg("immediate");
    let envoy = Envoy::start(&config).await;
    let early = Call::chat("early").start(envoy.addr);
    provider.wait_count(1).await;
    door.let_through(1);
    assert_eq!(early.answer().await.status, 200);
    let other = policy(json!({"max_concurrent_calls": 1, "queue": {"max_waiting": 7}}));
    envoy.update(&config.clone().weir(&other.to_string()));
    envoy
        .wait_stat("listener_manager.lds.update_success", |v| v == 2)
        .await;
    envoy
        .wait_stat("listener_manager.total_listeners_draining", |v| v == 0)
        .await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(2).await;
    let waiting = Call::chat("waiting").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    door.open();
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(waiting.answer().await.status, 200);
    envoy.wait_policy("grants_by_wake", 1).await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_two_builds_of_the_code_side_by_side_share_one_gate() {
    let (provider, door) = streaming().await;
    let config = Bootstrap::new(provider.addr, &cap(2)).dynamic().workers(2);
    let envoy = Envoy::start(&config).await;
    let old = Call::chat("old").open(envoy.addr).await;
    let next = envoy.other_build();
    envoy.update(&config.clone().code(next));
    envoy
        .wait_stat("listener_manager.lds.update_success", |v| v == 2)
        .await;
    let new = Call::chat("new").open(envoy.addr).await;
    let waits = Call::chat("waits").start(envoy.addr);
    envoy.wait_policy("waiting", 1).await;
    envoy.wait_policy("slots", 2).await;
    assert_eq!(provider.count(), 2, "the old code's slot counts");
    // It ends in a VM of the old code and wakes one of the new.
    drop(old);
    provider.wait_id("waits").await;
    door.open();
    assert_eq!(waits.answer().await.status, 200);
    drop(new);
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("grants_by_tick").await, 0);
}
