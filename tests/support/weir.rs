//! Short forms of the plugin's configuration.

use serde_json::{Value, json};

use super::parts::merge;

/// One policy called `default` that caps nothing and waits only milliseconds before a retry.
/// `patch` is merged into the policy.
pub(crate) fn policy(patch: Value) -> Value {
    let mut policy = json!({
        "name": "default",
        "ramp": {"mode": "off"},
        "retry": quick_retry(),
    });
    merge(&mut policy, patch);
    json!({"version": 1, "policies": [policy]})
}

/// A cap and nothing else.
pub(crate) fn cap(calls: u32) -> Value {
    policy(json!({"max_concurrent_calls": calls}))
}

/// The usual numbers of attempts, with windows that keep a suite quick.
pub(crate) fn quick_retry() -> Value {
    json!({
        "retry_max_attempts": 3, "burst_max_attempts": 2,
        "retry_base_delay_ms": 50, "retry_cap_delay_ms": 100,
        "burst_retry_base_delay_ms": 50, "burst_retry_cap_delay_ms": 150,
    })
}
