//! The one model behind all connections of a provider.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::model::{Count, Limits, Model, Refusal, Start, WindowState};

pub(super) struct State {
    start: Instant,
    key: Option<String>,
    inner: Mutex<Inner>,
}

struct Inner {
    model: Model,
    /// Calls by how they came: HTTP version and server name asked for in TLS.
    transports: BTreeMap<String, usize>,
}

/// Kinds of transport that are told apart.
const MAX_TRANSPORTS: usize = 100;

impl State {
    pub(super) fn new(limits: Limits, seed: u64, key: Option<String>) -> Self {
        Self {
            start: Instant::now(),
            key,
            inner: Mutex::new(Inner {
                model: Model::new(limits, seed),
                transports: BTreeMap::new(),
            }),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Is this the key, if one is asked for?
    pub(super) fn allows(&self, key: Option<&str>) -> bool {
        self.key.as_deref().is_none_or(|wanted| Some(wanted) == key)
    }

    /// A call's head has come.
    pub(super) fn arrive(
        self: &Arc<Self>,
        transport: String,
    ) -> (Result<(Start, Running), Refusal>, Option<WindowState>) {
        let mut inner = self.lock();
        // Read under the lock, so that the model's time never goes back.
        let now = self.now();
        let arrived = inner.model.arrive(now);
        let window = inner.model.window(now);
        if inner.transports.len() < MAX_TRANSPORTS || inner.transports.contains_key(&transport) {
            *inner.transports.entry(transport).or_default() += 1;
        }
        (arrived.map(|s| (s, Running(self.clone()))), window)
    }

    pub(super) fn count(&self) -> Count {
        self.lock().model.count().clone()
    }

    pub(super) fn log(&self) -> Value {
        let inner = self.lock();
        let count = inner.model.count();
        let starts = count.starts.iter().map(|s| {
            json!({"number": s.number, "at_ms": ms(s.at),
                "service_ms": ms(s.service.whole), "first_byte_ms": ms(s.service.first_byte)})
        });
        let refusals = count
            .refusals
            .iter()
            .map(|(at, limit)| json!({"at_ms": ms(*at), "limit": limit}));
        json!({
            "accepted": count.accepted, "refused": count.refused,
            "running": count.running, "peak": count.peak,
            "transports": inner.transports,
            "starts": starts.collect::<Vec<_>>(), "refusals": refusals.collect::<Vec<_>>(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that runs; over when dropped.
pub(super) struct Running(Arc<State>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().model.end();
    }
}

fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
