//! The cluster of a provider: on this machine in plain HTTP, or by name with TLS.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::super::target::Target;
use super::config::{set, text};

const API: &str = "type.googleapis.com/envoy";
/// No breaker opens at the load of a demo. Envoy's default allows 3 retries at once.
const MANY: u32 = 1_000_000;

/// Where a path leads.
#[derive(Clone)]
pub(crate) enum Upstream {
    Mock(SocketAddr),
    Real(Target),
}

impl Upstream {
    /// The host that requests must name, if it is not the client's choice. The server name in
    /// TLS follows it.
    pub(super) fn host(&self) -> Option<String> {
        match self {
            Self::Mock(_) => None,
            Self::Real(t) if matches!(t.port, 80 | 443) => Some(t.host.clone()),
            Self::Real(t) => Some(format!("{}:{}", t.host, t.port)),
        }
    }

    fn endpoint(&self) -> (String, u16) {
        match self {
            Self::Mock(addr) => (addr.ip().to_string(), addr.port()),
            Self::Real(t) => (t.host.clone(), t.port),
        }
    }
}

pub(super) fn cluster(name: &str, upstream: &Upstream) -> Value {
    let (address, port) = upstream.endpoint();
    let mut cluster = json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "10s",
        "circuit_breakers": {"thresholds": [{
            "max_connections": MANY, "max_pending_requests": MANY,
            "max_requests": MANY, "max_retries": MANY}]},
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{
            "endpoint": {"address": {"socket_address": {
                "address": address, "port_value": port}}}}]}]},
    });
    if let Upstream::Real(target) = upstream {
        set(&mut cluster, "type", json!("LOGICAL_DNS"));
        set(&mut cluster, "dns_lookup_family", json!("V4_PREFERRED"));
        if let Some(ca) = &target.ca {
            set(&mut cluster, "transport_socket", tls(&text(ca)));
            set(
                &mut cluster,
                "typed_extension_protocol_options",
                negotiated(),
            );
        }
    }
    cluster
}

fn tls(ca: &str) -> Value {
    json!({"name": "envoy.transport_sockets.tls", "typed_config": {
        "@type": format!("{API}.extensions.transport_sockets.tls.v3.UpstreamTlsContext"),
        "common_tls_context": {"validation_context": {"trusted_ca": {"filename": ca}}}}})
}

/// The server name and the name that its certificate must have are the host that the request
/// names. HTTP/2 if the server offers it.
fn negotiated() -> Value {
    json!({"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": format!("{API}.extensions.upstreams.http.v3.HttpProtocolOptions"),
        "upstream_http_protocol_options": {"auto_sni": true, "auto_san_validation": true},
        "auto_config": {"http2_protocol_options": {}}}})
}
