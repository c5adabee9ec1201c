//! Pieces of an Envoy configuration.

use std::net::SocketAddr;

use serde_json::{Value, json};

pub(super) const API: &str = "type.googleapis.com/envoy";

/// Merges `patch` into `to` as RFC 7396 says: objects by member, null removes, the rest replaces.
pub(crate) fn merge(to: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *to = patch;
        return;
    };
    if !to.is_object() {
        *to = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            to.as_object_mut().map(|o| o.remove(&name));
        } else {
            merge(&mut to[name], value);
        }
    }
}

pub(super) fn cluster(name: &str, at: SocketAddr) -> Value {
    const MANY: u32 = 1_000_000;
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [{
            "max_connections": MANY, "max_pending_requests": MANY,
            "max_requests": MANY, "max_retries": MANY}]},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{
            "endpoint": {"address": {"socket_address": {
                "address": at.ip().to_string(), "port_value": at.port()}}}}]}]},
    })
}

/// One half. Name, VM and configuration are the same in both, so that both share one VM.
pub(super) fn wasm(file: &str, config: &str, holds_headers: bool) -> Value {
    json!({"name": "weir", "typed_config": {
        "@type": format!("{API}.extensions.filters.http.wasm.v3.Wasm"),
        "config": {
            "name": "weir",
            "root_id": "weir",
            "failure_policy": "FAIL_RELOAD",
            "allow_on_headers_stop_iteration": holds_headers,
            "vm_config": {
                "vm_id": "weir",
                "runtime": "envoy.wasm.runtime.v8",
                "code": {"local": {"filename": file}}},
            "configuration": {
                "@type": "type.googleapis.com/google.protobuf.StringValue", "value": config}}}})
}

/// The shipped tags: policy, class, reason and kind become labels.
pub(super) fn stats_tags() -> Value {
    json!([
        {"tag_name": "weir_policy", "regex": r"^wasmcustom\.weir\.policy(\.([a-z0-9_-]+))\."},
        {"tag_name": "weir_class", "regex": r"^wasmcustom\.weir\.policy\..*(\.class\.([a-z_]+))$"},
        {"tag_name": "weir_reason", "regex": r"^wasmcustom\.weir\.policy\..*(\.reason\.([a-z_]+))$"},
    ])
}

pub(super) fn any_port() -> Value {
    json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}})
}
