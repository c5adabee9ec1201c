//! Envoy's configuration for a set of paths.

use std::path::{Path as FilePath, PathBuf};

use serde_json::{Value, json};

use super::super::path::Path;
use super::native;
use super::upstream::{Upstream, cluster};

const API: &str = "type.googleapis.com/envoy";
/// Longer than any client waits: no timeout of Envoy's decides.
const LONG: &str = "300s";

/// One path and where it leads.
pub(crate) struct Front {
    pub(crate) path: Path,
    pub(crate) upstream: Upstream,
}

/// All that one Envoy is started with.
pub(crate) struct Setup {
    pub(crate) fronts: Vec<Front>,
    /// Weir's cap on concurrent calls; 0 is none.
    pub(crate) cap: u32,
    /// The plugin.
    pub(crate) wasm: PathBuf,
}

impl Setup {
    pub(super) fn bootstrap(&self) -> Value {
        let listeners: Vec<Value> = self.fronts.iter().map(|f| self.listener(f)).collect();
        let clusters = self
            .fronts
            .iter()
            .map(|f| cluster(f.path.id(), &f.upstream));
        json!({
            "node": {"id": "demo", "cluster": "demo"},
            "admin": {"address": any_port()},
            "static_resources": {"listeners": listeners, "clusters": clusters.collect::<Vec<_>>()},
        })
    }

    fn listener(&self, front: &Front) -> Value {
        let name = front.path.id();
        let manager = json!({
            "@type": format!("{API}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
            "stat_prefix": name,
            "stream_idle_timeout": LONG,
            "route_config": {"name": name, "virtual_hosts": [{
                "name": name, "domains": ["*"],
                "routes": [{"match": {"prefix": "/"}, "route": route(front)}]}]},
            "http_filters": self.filters(front.path),
        });
        json!({
            "name": name,
            "address": any_port(),
            // Connections are dealt out evenly to the workers.
            "connection_balance_config": {"exact_balance": {}},
            "filter_chains": [{"filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": manager}]}],
        })
    }

    /// Weir's gate, the buffer that lets every call be retried, and Weir's attempt half behind
    /// the router; or the router behind what Envoy has of its own.
    fn filters(&self, path: Path) -> Value {
        let router = format!("{API}.extensions.filters.http.router.v3.Router");
        if path != Path::Weir {
            let mut filters = native::filters(path);
            filters.push(
                json!({"name": "envoy.filters.http.router", "typed_config": {"@type": router}}),
            );
            return filters.into();
        }
        json!([
            self.weir(false),
            {"name": "envoy.filters.http.buffer", "typed_config": {
                "@type": format!("{API}.extensions.filters.http.buffer.v3.Buffer"),
                "max_request_bytes": 1 << 20}},
            {"name": "envoy.filters.http.router", "typed_config": {
                "@type": router,
                "upstream_http_filters": [
                    self.weir(true),
                    {"name": "envoy.filters.http.upstream_codec", "typed_config": {
                        "@type": format!("{API}.extensions.filters.http.upstream_codec.v3.UpstreamCodec")}}]}},
        ])
    }

    /// One half of Weir. Both have the same name, VM and configuration, and so share one VM.
    fn weir(&self, attempt: bool) -> Value {
        json!({"name": "weir", "typed_config": {
            "@type": format!("{API}.extensions.filters.http.wasm.v3.Wasm"),
            "config": {
                "name": "weir", "root_id": "weir", "failure_policy": "FAIL_RELOAD",
                "allow_on_headers_stop_iteration": attempt,
                "vm_config": {
                    "vm_id": "weir", "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": text(&self.wasm)}}},
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": weir_config(self.cap).to_string()}}}})
    }
}

/// Weir with a cap, 0 for none, and its defaults for everything else.
pub(crate) fn weir_config(cap: u32) -> Value {
    json!({"version": 1, "policies": [
        {"name": "demo", "max_concurrent_calls": cap}]})
}

fn route(front: &Front) -> Value {
    let mut route = json!({"cluster": front.path.id(), "timeout": LONG});
    if let Some(host) = front.upstream.host() {
        set(&mut route, "host_rewrite_literal", json!(host));
    }
    if let Some(policy) = native::retry(front.path) {
        set(&mut route, "retry_policy", policy);
    }
    route
}

fn any_port() -> Value {
    json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}})
}

pub(super) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

pub(super) fn text(path: &FilePath) -> String {
    path.to_string_lossy().into_owned()
}
