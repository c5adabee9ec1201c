//! The harness itself on a real Envoy without Weir: what the other tests take for granted.

use crate::support;

use std::time::Duration;

use serde_json::json;
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, raw};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provider_and_clients_talk_through_envoy() {
    let provider = Provider::start(|seen| match seen.path.as_str() {
        "/stream" => Reply::sse(3),
        "/reset" => Reply::reset(),
        "/broken" => Reply::ok().broken(),
        _ => Reply::ok(),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::plain(provider.addr)).await;
    let answer = Call::chat("a").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.json()["object"].as_str()),
        (200, Some("chat.completion"))
    );
    let answer = Call::chat("b").h2().path("/stream").send(envoy.addr).await;
    assert!(answer.text().ends_with("[DONE]\n\n"), "{answer:?}");
    assert_eq!(
        Call::chat("c").path("/reset").send(envoy.addr).await.status,
        503
    );
    assert!(
        Call::chat("d")
            .path("/broken")
            .try_send(envoy.addr)
            .await
            .is_err()
    );
    assert_eq!(provider.ids(), ["a", "b", "c", "d"]);
    assert_eq!(provider.peak(), 1);
    assert_eq!(envoy.stat("http.front.downstream_rq_total").await, Some(4));
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_keeps_calls_running_and_an_abort_ends_one() {
    let gate = Gate::closed();
    let script = {
        let gate = gate.clone();
        move |_: &support::Seen| Reply::ok().after(&gate)
    };
    let provider = Provider::start(script).await;
    let envoy = Envoy::start(&Bootstrap::plain(provider.addr)).await;
    let calls: Vec<_> = (0..3).map(|i| Call::chat(i).start(envoy.addr)).collect();
    provider.wait_running(3).await;
    let mut calls = calls.into_iter();
    calls.next().unwrap().abort();
    provider.wait_running(2).await;
    gate.open();
    for call in calls {
        assert_eq!(call.answer().await.status, 200);
    }
    assert_eq!(provider.peak(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_dealt_to_all_workers() {
    let provider = Provider::start(|_| Reply::ok()).await;
    let envoy = Envoy::start(&Bootstrap::plain(provider.addr).workers(4)).await;
    let mut conns = Conn::many(envoy.addr, 8).await;
    for (i, conn) in conns.iter_mut().enumerate() {
        assert_eq!(conn.send(Call::chat(i)).await.status, 200);
    }
    assert_eq!(envoy.workers_used().await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_update_takes_effect_and_a_bad_one_is_rejected() {
    let provider = Provider::start(|_| Reply::ok()).await;
    let config = Bootstrap::plain(provider.addr).dynamic();
    let envoy = Envoy::start(&config).await;
    assert_eq!(Call::chat("a").send(envoy.addr).await.status, 200);
    let denied = json!({"match": {"prefix": "/"}, "direct_response": {"status": 418}});
    envoy.update(&config.clone().route(denied));
    envoy
        .wait_stat("listener_manager.lds.update_success", |n| n == 2)
        .await;
    envoy
        .wait_stat("listener_manager.total_listeners_draining", |n| n <= 1)
        .await;
    assert_eq!(Call::chat("b").send(envoy.addr).await.status, 418);
    envoy.update(&config.clone().action(&json!({"cluster": null})));
    envoy
        .wait_stat("listener_manager.lds.update_rejected", |n| n == 1)
        .await;
    assert_eq!(Call::chat("c").send(envoy.addr).await.status, 418);
    let bad = Envoy::validate(&config.action(&json!({"cluster": null}))).await;
    assert_eq!(
        bad.status.code(),
        Some(0),
        "a listener from a file is not validated"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_early_refusal_of_an_upload_reaches_the_client() {
    let provider = Provider::start_early(|_| Reply::burst()).await;
    let config = Bootstrap::plain(provider.addr);
    for config in [
        config.clone(),
        config.clone().h2_upstream(),
        config.buffered(),
    ] {
        let envoy = Envoy::start(&config).await;
        let body = vec![b'x'; 3 << 20];
        let upload = raw::upload(envoy.addr, "u", &body, Duration::from_secs(1)).await;
        assert_eq!(raw::status(&upload.answer), Some(429), "{upload:?}");
        envoy.assert_alive().await;
    }
}
