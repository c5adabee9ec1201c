//! Several policies side by side in one Envoy, each with a path, a cluster and a provider of its own.

use serde_json::{Value, json};

use super::bootstrap::Bootstrap;
use super::client::{Call, InFlight};
use super::conn::Conn;
use super::envoy::Envoy;
use super::gate::Gate;
use super::parts::merge;
use super::provider::{Provider, Seen};
use super::reply::Reply;
use super::weir::quick_retry;

/// One policy, and what lies behind it. Every call waits at `door` before it is answered.
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    pub(crate) provider: Provider,
    pub(crate) door: Gate,
    policy: Value,
}

impl Lane {
    /// A policy of this name that bounds nothing but what `patch` says.
    pub(crate) async fn start(name: &'static str, patch: Value) -> Self {
        let door = Gate::closed();
        let before = door.clone();
        let mut policy = json!({
            "name": name,
            "match": {"clusters": [name]},
            "ramp": {"mode": "off"},
            "retry": quick_retry(),
        });
        merge(&mut policy, patch);
        Self {
            name,
            provider: Provider::start(move |_: &Seen| Reply::ok().after(&before)).await,
            door,
            policy,
        }
    }

    /// An Envoy's configuration with all these lanes, and nothing beside them.
    pub(crate) fn bootstrap(lanes: &[Self]) -> Bootstrap {
        let policies: Vec<_> = lanes.iter().map(|lane| lane.policy.clone()).collect();
        let weir = json!({"version": 1, "policies": policies});
        let first = Bootstrap::new(lanes[0].provider.addr, &weir);
        lanes.iter().fold(first, |all, lane| {
            all.cluster(lane.name, lane.provider.addr).route(json!({
                "match": {"prefix": format!("/{}/", lane.name)},
                "route": {"cluster": lane.name, "timeout": "300s"}}))
        })
    }

    /// A call that takes this lane.
    pub(crate) fn call(&self, id: impl ToString) -> Call {
        Call::chat(id).path(format!("/{}/v1/chat", self.name))
    }

    /// `count` calls in the background, each on a connection of its own.
    pub(crate) async fn calls(&self, envoy: &Envoy, count: usize) -> Vec<InFlight> {
        let conns = Conn::many(envoy.addr, count).await;
        let calls = conns.into_iter().enumerate();
        calls.map(|(i, conn)| conn.start(self.call(i))).collect()
    }

    /// The raw name of a stat of this policy.
    pub(crate) fn stat(&self, name: &str) -> String {
        format!("wasmcustom.weir.policy.{}.{name}", self.name)
    }

    /// Waits until a stat of this policy has this value.
    pub(crate) async fn wait(&self, envoy: &Envoy, name: &str, value: usize) {
        envoy
            .wait_stat(&self.stat(name), |v| v == value as u64)
            .await;
    }
}
