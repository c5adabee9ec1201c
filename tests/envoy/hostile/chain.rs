//! Calls that meet the gate more than once.

use serde_json::json;

use crate::support::weir::cap;
use crate::support::{Bootstrap, Call, Envoy, Provider, Reply, answers};

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
    for answer in answers(calls).await {
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
    for answer in answers(calls).await {
        assert_eq!(
            (answer.status, answer.header("x-weir-attempts")),
            (200, Some("2"))
        );
    }
    assert_eq!((provider.count(), provider.peak()), (9, 1));
    envoy.assert_idle().await;
    assert_eq!(envoy.policy("calls").await, 6);
}
