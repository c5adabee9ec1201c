//! Envoy's configuration for a test: one listener, one HTTP connection manager with both halves
//! of Weir, and what the test changes by merging JSON into it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::envoy::{crash_wasm, weir_wasm};
use super::parts::{API, any_port, cluster, merge, stats_tags, wasm};

/// The whole upload of a test fits.
const BODY_LIMIT: u64 = 16 << 20;

/// A configuration to start, validate or update to.
#[derive(Clone, Debug)]
pub(crate) struct Bootstrap {
    pub(crate) concurrency: u32,
    pub(crate) dynamic: bool,
    /// The halves come from files of their own.
    discovered: bool,
    /// A whole bootstrap in YAML, in place of what the other fields describe.
    yaml: Option<String>,
    /// The plugin's file, if it is not the one that is shipped.
    plugin: Option<String>,
    gate: Option<String>,
    attempt: Option<String>,
    clusters: Vec<Value>,
    routes: Vec<Value>,
    before_gate: Vec<Value>,
    after_gate: Vec<Value>,
    buffer: bool,
    stop_iteration: bool,
    hcm: Value,
    vhost: Value,
    listener: Value,
    pub(crate) args: Vec<String>,
}

impl Bootstrap {
    /// Both halves with this plugin configuration, one worker, one cluster `provider`.
    pub(crate) fn new(provider: SocketAddr, weir: &Value) -> Self {
        Self {
            gate: Some(weir.to_string()),
            attempt: Some(weir.to_string()),
            ..Self::plain(provider)
        }
    }

    /// The same proxy without Weir.
    pub(crate) fn plain(provider: SocketAddr) -> Self {
        Self {
            concurrency: 1,
            dynamic: false,
            discovered: false,
            yaml: None,
            plugin: None,
            gate: None,
            attempt: None,
            clusters: vec![cluster("provider", provider)],
            routes: vec![],
            before_gate: vec![],
            after_gate: vec![],
            buffer: false,
            stop_iteration: true,
            hcm: json!({}),
            vhost: json!({}),
            listener: json!({}),
            args: vec![],
        }
        .route(
            json!({"match": {"prefix": "/"}, "route": {"cluster": "provider", "timeout": "300s"}}),
        )
    }

    /// A bootstrap as it stands in a file.
    pub(crate) fn yaml(text: String) -> Self {
        Self {
            yaml: Some(text),
            ..Self::plain(SocketAddr::from(([127, 0, 0, 1], 0)))
        }
    }

    pub(crate) fn gate_only(self) -> Self {
        Self {
            attempt: None,
            ..self
        }
    }

    pub(crate) fn attempt_only(self) -> Self {
        Self { gate: None, ..self }
    }

    /// Replaces the configuration of the halves that are there, byte for byte.
    pub(crate) fn weir(self, config: &str) -> Self {
        Self {
            gate: self.gate.map(|_| config.to_owned()),
            attempt: self.attempt.map(|_| config.to_owned()),
            ..self
        }
    }

    /// Worker threads, with connections dealt out evenly.
    pub(crate) fn workers(self, n: u32) -> Self {
        Self {
            concurrency: n,
            ..self
        }
        .listener(json!({"connection_balance_config": {"exact_balance": {}}}))
    }

    /// The listener comes from a file and can be updated.
    pub(crate) fn dynamic(self) -> Self {
        Self {
            dynamic: true,
            ..self
        }
    }

    /// Both halves come from files and can be updated under a listener that stays.
    pub(crate) fn discovered(self) -> Self {
        Self {
            discovered: true,
            ..self
        }
    }

    /// Another build of the plugin.
    pub(crate) fn code(self, file: String) -> Self {
        Self {
            plugin: Some(file),
            ..self
        }
    }

    /// The buffer filter between gate and router.
    pub(crate) fn buffered(self) -> Self {
        Self {
            buffer: true,
            ..self
        }
        .replay_limit(BODY_LIMIT)
    }

    /// `allow_on_headers_stop_iteration` is forgotten on the attempt half.
    pub(crate) fn without_stop_iteration(self) -> Self {
        Self {
            stop_iteration: false,
            ..self
        }
    }

    /// One more filter that requests meet before the gate.
    pub(crate) fn before_gate(mut self, filter: Value) -> Self {
        self.before_gate.push(filter);
        self
    }

    /// One more filter that requests meet after the gate.
    pub(crate) fn after_gate(mut self, filter: Value) -> Self {
        self.after_gate.push(filter);
        self
    }

    /// A request with the header `x-weir-test-crash` ends the VM that gets it.
    pub(crate) fn crashing(self) -> Self {
        Self {
            plugin: Some(crash_wasm()),
            ..self
        }
    }

    fn wasm(&self, config: &str, holds_headers: bool) -> Value {
        let file = self.plugin.clone().unwrap_or_else(weir_wasm);
        wasm(&file, config, holds_headers)
    }

    /// The gate once more, as by mistake.
    pub(crate) fn gate_twice(self) -> Self {
        let again = self.wasm(self.gate.as_deref().unwrap_or_default(), false);
        self.after_gate(again)
    }

    /// Bodies up to `bytes` can be replayed.
    pub(crate) fn replay_limit(self, bytes: u64) -> Self {
        self.vhost(json!({"request_body_buffer_limit": bytes}))
    }

    /// One more cluster.
    pub(crate) fn cluster(mut self, name: &str, at: SocketAddr) -> Self {
        self.clusters.push(cluster(name, at));
        self
    }

    /// Merges into every cluster.
    pub(crate) fn clusters(mut self, patch: &Value) -> Self {
        self.clusters
            .iter_mut()
            .for_each(|c| merge(c, patch.clone()));
        self
    }

    /// HTTP/2 to every cluster.
    pub(crate) fn h2_upstream(self) -> Self {
        self.clusters(&json!({"typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": format!("{API}.extensions.upstreams.http.v3.HttpProtocolOptions"),
                "explicit_http_config": {"http2_protocol_options": {}}}}}))
    }

    /// A route in front of those that are there.
    pub(crate) fn route(mut self, route: Value) -> Self {
        self.routes.insert(0, route);
        self
    }

    /// Merges into the `route` action of every route.
    pub(crate) fn action(mut self, patch: &Value) -> Self {
        self.routes
            .iter_mut()
            .for_each(|r| merge(&mut r["route"], patch.clone()));
        self
    }

    pub(crate) fn vhost(mut self, patch: Value) -> Self {
        merge(&mut self.vhost, patch);
        self
    }

    /// Merges into the connection manager.
    pub(crate) fn hcm(mut self, patch: Value) -> Self {
        merge(&mut self.hcm, patch);
        self
    }

    pub(crate) fn listener(mut self, patch: Value) -> Self {
        merge(&mut self.listener, patch);
        self
    }

    /// One more argument of the command line.
    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Writes the bootstrap, and the listener if it is dynamic, into `dir`.
    pub(crate) fn write(&self, dir: &Path) -> PathBuf {
        let (name, text) = match &self.yaml {
            Some(text) => ("envoy.yaml", text.clone()),
            None => ("envoy.json", format!("{:#}", self.bootstrap(dir))),
        };
        self.write_updates(dir);
        std::fs::write(dir.join(name), text).expect("a writable folder");
        dir.join(name)
    }

    /// Puts what can be updated in place: the listener, or the halves.
    pub(crate) fn write_updates(&self, dir: &Path) {
        if self.discovered {
            self.write_halves(dir);
        } else {
            let mut listener = self.listener_json(dir);
            listener["@type"] = json!(format!("{API}.config.listener.v3.Listener"));
            put(dir, "listener", &listener);
        }
    }

    fn write_halves(&self, dir: &Path) {
        for (name, half) in [("gate", &self.gate), ("attempt", &self.attempt)] {
            let filter = self.wasm(half.as_deref().unwrap_or_default(), name == "attempt");
            put(
                dir,
                name,
                &json!({
                    "@type": format!("{API}.config.core.v3.TypedExtensionConfig"),
                    "name": name,
                    "typed_config": filter["typed_config"],
                }),
            );
        }
    }

    /// One half as it stands in the chain.
    fn half(&self, config: &str, name: &str, dir: &Path) -> Value {
        if !self.discovered {
            return self.wasm(config, self.stop_iteration && name == "attempt");
        }
        json!({"name": name, "config_discovery": {
            "type_urls": [format!("{API}.extensions.filters.http.wasm.v3.Wasm")],
            "config_source": {"resource_api_version": "V3", "path_config_source": {
                "path": dir.join(format!("{name}.json")), "watched_directory": {"path": dir}}}}})
    }

    fn bootstrap(&self, dir: &Path) -> Value {
        let mut all = json!({
            "node": {"id": "test", "cluster": "test"},
            "admin": {"address": any_port()},
            "stats_config": {"stats_tags": stats_tags()},
            "static_resources": {"clusters": self.clusters},
        });
        if self.dynamic {
            all["dynamic_resources"] = json!({"lds_config": {"path_config_source": {
                "path": dir.join("listener.json"), "watched_directory": {"path": dir}}}});
        } else {
            all["static_resources"]["listeners"] = json!([self.listener_json(dir)]);
        }
        all
    }

    fn listener_json(&self, dir: &Path) -> Value {
        let mut listener = json!({
            "name": "front",
            "stat_prefix": "front",
            "address": any_port(),
            "filter_chains": [{"filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": self.manager(dir)}]}],
        });
        merge(&mut listener, self.listener.clone());
        listener
    }

    fn manager(&self, dir: &Path) -> Value {
        let mut filters = self.before_gate.clone();
        let gate = self.gate.iter();
        filters.extend(gate.map(|config| self.half(config, "gate", dir)));
        filters.extend(self.after_gate.clone());
        if self.buffer {
            filters.push(
                json!({"name": "envoy.filters.http.buffer", "typed_config": {
                "@type": format!("{API}.extensions.filters.http.buffer.v3.Buffer"),
                "max_request_bytes": BODY_LIMIT}}),
            );
        }
        filters.push(self.router(dir));
        let mut vhost = json!({"name": "all", "domains": ["*"], "routes": self.routes});
        merge(&mut vhost, self.vhost.clone());
        let mut manager = json!({
            "@type": format!("{API}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
            "stat_prefix": "front",
            "stream_idle_timeout": "300s",
            "route_config": {"name": "all", "virtual_hosts": [vhost]},
            "http_filters": filters,
        });
        merge(&mut manager, self.hcm.clone());
        manager
    }

    fn router(&self, dir: &Path) -> Value {
        let mut router =
            json!({"@type": format!("{API}.extensions.filters.http.router.v3.Router")});
        if let Some(config) = &self.attempt {
            router["upstream_http_filters"] = json!([
                self.half(config, "attempt", dir),
                {"name": "envoy.filters.http.upstream_codec", "typed_config": {
                    "@type": format!("{API}.extensions.filters.http.upstream_codec.v3.UpstreamCodec")}},
            ]);
        }
        json!({"name": "envoy.filters.http.router", "typed_config": router})
    }
}

/// Puts a resource's file in place by rename, which is what Envoy watches for.
fn put(dir: &Path, name: &str, resource: &Value) {
    let new = dir.join(format!("{name}.new"));
    std::fs::write(&new, json!({"resources": [resource]}).to_string()).expect("writable");
    std::fs::rename(&new, dir.join(format!("{name}.json"))).expect("one folder");
}
