//! Many calls that start or end at one moment.

use std::time::Duration;

use serde_json::json;

use crate::support::streams::{count, streams};
use crate::support::weir::{cap, policy};
use crate::support::{Bootstrap, Envoy, Gate, Provider, Reply};

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
    let calls = streams(envoy.addr, MANY).await;
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
    let calls = streams(envoy.addr, MANY).await;
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
    // A key each, or they would not be retried together.
    let same = json!({"key": [{"header": "x-id"}], "retry": {
        "burst_retry_base_delay_ms": 1500, "burst_retry_cap_delay_ms": 1800}});
    let envoy = Envoy::start(&many_streams(Bootstrap::new(provider.addr, &policy(same)))).await;
    let calls = streams(envoy.addr, MANY).await;
    envoy.wait_policy("held", MANY as u64).await;
    envoy.stall(Duration::from_millis(2000)).await;
    assert_eq!(count(calls, 429).await, MANY);
    assert_eq!(provider.count(), 2 * MANY);
    envoy.assert_idle().await;
}
