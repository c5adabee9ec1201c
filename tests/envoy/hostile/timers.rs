//! Envoy's own timers.

use serde_json::json;

use crate::support::weir::policy;
use crate::support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, answers};

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
        for answer in answers(calls).await {
            assert_eq!(answer.status, 504);
            assert_eq!(answer.header("x-weir-refused"), None);
        }
        envoy.assert_idle().await;
    }
    gate.open();
}
