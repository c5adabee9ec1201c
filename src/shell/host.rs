//! The port over host calls. The only file that names them.
//!
//! The SDK panics on a status it does not expect, and a panic kills the VM. So headers are only
//! touched in their phase, and only the `_bytes` calls are used: header values are bytes.

use litemap::LiteMap;
use std::cell::{Cell, RefCell};
use std::time::Duration;

use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, LogLevel, MapType, MetricType, Status};

use super::wasi;
use crate::core::answer::{Edit, Reply};
use crate::core::call::{Headers, StreamId};
use crate::core::time::Time;
use crate::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

/// A write number that no write has, which makes a write succeed only on a key never written.
const NEVER_WRITTEN: u32 = u32::MAX;

/// Carries what differs between two near moments into the high bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Which header map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Map {
    Request,
    Response,
}

/// Envoy, as the host of this VM.
#[derive(Debug, Default)]
pub(super) struct Envoy {
    /// Metrics by name: defining one twice makes a second one.
    metrics: RefCell<LiteMap<String, u32>>,
    is_tracing: Cell<bool>,
}

impl Host for Envoy {
    fn random(&self) -> u64 {
        // Jitter alone suffers from a host that has none, and the clock still tells VMs apart.
        match wasi::entropy() {
            Some(bits) => u64::from_le_bytes(bits),
            None => wasi::now().0.wrapping_mul(SPREAD),
        }
    }

    fn wall_ms(&self) -> u64 {
        wasi::wall_ms()
    }

    fn entropy(&self) -> Result<[u8; 16], HostError> {
        wasi::entropy().ok_or(HostError::Refused)
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        match hostcalls::get_shared_data(key) {
            Ok((Some(bytes), Some(cas))) => Ok(Stored::Present { bytes, cas }),
            Ok((None, None)) => Ok(Stored::Absent),
            Ok(_) | Err(_) => Err(HostError::Refused),
        }
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let cas = match expect {
            Expect::New => NEVER_WRITTEN,
            Expect::Same(cas) => cas,
        };
        hostcalls::set_shared_data(key, Some(bytes), Some(cas)).map_err(refusal)
    }

    fn queue_register(&self, name: &str) -> Result<QueueId, HostError> {
        hostcalls::register_shared_queue(name).map_err(refusal)
    }

    fn queue_send(&self, queue: QueueId, message: &[u8]) -> Result<(), HostError> {
        hostcalls::enqueue_shared_queue(queue, Some(message)).map_err(refusal)
    }

    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        hostcalls::dequeue_shared_queue(queue).map_err(refusal)
    }

    fn metric(&self, kind: MetricKind, name: &str, value: u64) {
        let Some(id) = self.metric_id(kind, name) else {
            return;
        };
        // A metric that was defined takes any value; there is nothing to do about one that does not.
        let _ = match kind {
            MetricKind::Counter if value == 0 => Ok(()),
            MetricKind::Counter => {
                hostcalls::increment_metric(id, i64::try_from(value).unwrap_or(i64::MAX))
            }
            MetricKind::Gauge | MetricKind::Histogram => hostcalls::record_metric(id, value),
        };
    }

    fn is_tracing(&self) -> bool {
        self.is_tracing.get()
    }

    fn log(&self, level: Level, line: &str) {
        let level = match level {
            Level::Trace => LogLevel::Trace,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        let _ = hostcalls::log(level, line);
    }
}

impl Envoy {
    fn metric_id(&self, kind: MetricKind, name: &str) -> Option<u32> {
        let mut metrics = self.metrics.try_borrow_mut().ok()?;
        if let Some(id) = metrics.get(name) {
            return Some(*id);
        }
        let kind = match kind {
            MetricKind::Counter => MetricType::Counter,
            MetricKind::Gauge => MetricType::Gauge,
            MetricKind::Histogram => MetricType::Histogram,
        };
        let id = hostcalls::define_metric(kind, name).ok()?;
        metrics.insert(name.to_owned(), id);
        Some(id)
    }

    /// Looks whether the operator wants to see more; not for every call, since each look is a host
    /// call.
    pub(super) fn look_at_log_level(&self) {
        let level = hostcalls::get_log_level();
        self.is_tracing
            .set(level.is_ok_and(|level| level == LogLevel::Trace));
    }

    pub(super) fn now(&self) -> Time {
        wasi::now()
    }

    /// How often the calling root ticks. Any callback of the root or of its streams may say so.
    pub(super) fn tick_every(&self, period: Duration) {
        let _ = hostcalls::set_tick_period(period);
    }

    /// The plugin's configuration; readable in `on_configure`.
    pub(super) fn configuration(&self) -> Vec<u8> {
        hostcalls::get_buffer(BufferType::PluginConfiguration, 0, usize::MAX)
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    /// A part of the answer's body that the host keeps back; readable in `on_http_response_body`.
    pub(super) fn answer_body(&self, from: usize, at_most: usize) -> Vec<u8> {
        hostcalls::get_buffer(BufferType::HttpResponseBody, from, at_most)
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    /// All headers of a map; readable in the callback that announces them.
    pub(super) fn headers(&self, map: Map) -> Headers {
        hostcalls::get_map_bytes(map.into())
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| (name.into_bytes(), value))
            .collect()
    }

    /// Changes headers, in the callback that announces them or while the stream is paused there.
    pub(super) fn edit(&self, map: Map, edits: &[Edit]) {
        let map = MapType::from(map);
        for edit in edits {
            let _ = match edit {
                Edit::Set(name, value) => hostcalls::set_map_value_bytes(map, name, Some(value)),
                Edit::Add(name, value) => hostcalls::add_map_value_bytes(map, name, value),
                Edit::Remove(name) => hostcalls::set_map_value_bytes(map, name, None),
            };
        }
    }

    /// Has the route of the stream of the running callback chosen anew, by the headers as they are now.
    pub(super) fn choose_route_again(&self) {
        let _ = hostcalls::call_foreign_function("clear_route_cache", None);
    }

    pub(super) fn property(&self, path: &[&str]) -> Option<Vec<u8>> {
        hostcalls::get_property(path.to_vec()).ok().flatten()
    }

    pub(super) fn number(&self, path: &[&str]) -> Option<u64> {
        let bytes = self.property(path)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Leaves a value in the stream's filter state, where both halves see it.
    pub(super) fn leave(&self, name: &str, value: &[u8]) {
        let _ = hostcalls::set_property(vec![name], Some(value));
    }

    /// Answers the stream of the running callback.
    pub(super) fn reply(&self, reply: &Reply) {
        let headers = reply
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let _ = hostcalls::send_http_response(reply.status.into(), headers, Some(&reply.body));
    }

    /// Makes another stream the one that the next calls are about. If it is gone the previous one
    /// stays, so nothing may be called then.
    pub(super) fn turn_to(&self, stream: StreamId) -> bool {
        hostcalls::set_effective_context(stream).is_ok()
    }

    /// Lets a paused request go on. Only once, and only from a callback of a root.
    pub(super) fn resume_request(&self) {
        let _ = hostcalls::resume_http_request();
    }

    /// Lets a paused answer go on. Only once, and only from a callback of a root.
    pub(super) fn resume_answer(&self) {
        let _ = hostcalls::resume_http_response();
    }
}

impl From<Map> for MapType {
    fn from(map: Map) -> MapType {
        match map {
            Map::Request => MapType::HttpRequestHeaders,
            Map::Response => MapType::HttpResponseHeaders,
        }
    }
}

fn refusal(status: Status) -> HostError {
    match status {
        Status::CasMismatch => HostError::Conflict,
        Status::NotFound => HostError::Gone,
        _ => HostError::Refused,
    }
}
