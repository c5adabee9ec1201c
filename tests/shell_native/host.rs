//! The host of one VM: what each import does, with Envoy's rules and status codes.
//!
//! An import fails on demand with the statuses that the SDK lets through; any other status is a
//! panic of the SDK, and so the end of the VM.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::MutexGuard;

use proxy_wasm::types::{BufferType, LogLevel, MapType, MetricType, Status, StreamType};
use weir::core::answer::{Edit, Reply};
use weir::core::call::{Action, Headers};
use weir::core::time::Time;
use weir::port::{Level, MetricKind};

use super::stream::{Half, Stream};
use super::vm::die;
use crate::memhost::memory::{Memory, Reader, State};

thread_local! {
    static HOST: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// The property that tells the halves apart.
pub(crate) const ATTEMPT: &str = "upstream.request_attempt_count";

/// What the VM is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Running {
    #[default]
    Nothing,
    /// `on_tick` or `on_queue_ready`: from here, and only from here, other streams are resumed.
    Clockwork,
    Configure,
    Stream,
}

/// The host of one VM.
pub(crate) struct Host {
    pub(crate) memory: Memory,
    pub(crate) vm: usize,
    pub(crate) now: Time,
    pub(crate) running: Running,
    /// The effective context.
    pub(crate) current: u32,
    pub(crate) roots: BTreeMap<u32, Root>,
    pub(crate) streams: BTreeMap<u32, Stream>,
    /// What the VM does to streams, to be carried out after the callback.
    pub(crate) actions: Vec<Action>,
    metrics: Vec<(MetricKind, String)>,
}

/// A root context.
#[derive(Debug, Default)]
pub(crate) struct Root {
    pub(crate) json: String,
    /// How often it ticks, in milliseconds.
    pub(crate) period: u32,
}

/// Gives this thread a host.
pub(crate) fn install(memory: Memory, vm: usize) {
    let host = Host {
        memory,
        vm,
        now: Time(0),
        running: Running::Nothing,
        current: 0,
        roots: BTreeMap::new(),
        streams: BTreeMap::new(),
        actions: Vec::new(),
        metrics: Vec::new(),
    };
    HOST.set(Some(host));
}

/// Asks this thread's host.
pub(crate) fn with<T>(question: impl FnOnce(&mut Host) -> T) -> T {
    HOST.with_borrow_mut(|host| match host {
        Some(host) => question(host),
        None => die("a host call on a thread without a VM"),
    })
}

impl Host {
    /// A call is made; whether it fails on demand.
    fn fails(&self, call: &'static str) -> bool {
        self.memory.state().calls.make(call, true)
    }

    /// A call is made that the SDK lets not fail.
    fn count(&self, call: &'static str) {
        self.memory.state().calls.make(call, false);
    }

    /// What VMs share, while this one lives. One that has died in the middle of a callback runs on,
    /// and nobody notices what it does.
    fn alive(&self) -> Option<MutexGuard<'_, State>> {
        let mut state = self.memory.state();
        state.lives(self.vm).then_some(state)
    }

    pub(crate) fn stream(&mut self, id: u32) -> &mut Stream {
        match self.streams.get_mut(&id) {
            Some(stream) => stream,
            None => die(&format!("no stream {id}")),
        }
    }

    fn half(&mut self, map: MapType) -> Result<&mut Half, Status> {
        let stream = self.streams.get_mut(&self.current);
        let half = stream.map(|stream| match map {
            MapType::HttpRequestHeaders => &mut stream.request,
            MapType::HttpResponseHeaders => &mut stream.response,
            _ => die("no such map in this test"),
        });
        half.filter(|half| half.is_open).ok_or(Status::BadArgument)
    }

    // ===== headers and bodies =====

    /// `None` stands for an empty map.
    pub(crate) fn header_pairs(&mut self, map: MapType) -> Result<Option<Headers>, Status> {
        let fails = self.fails("get_header_map_pairs");
        let headers = self.half(map)?.headers.clone();
        Ok((!fails).then_some(headers))
    }

    fn change(&mut self, map: MapType, edit: Edit) -> Status {
        self.count("change_header");
        match self.half(map) {
            Ok(half) => {
                half.change(edit);
                Status::Ok
            }
            Err(status) => status,
        }
    }

    pub(crate) fn replace_header(&mut self, map: MapType, name: &str, value: &[u8]) -> Status {
        self.change(map, Edit::Set(name.to_owned().into(), value.to_vec()))
    }

    pub(crate) fn add_header(&mut self, map: MapType, name: &str, value: &[u8]) -> Status {
        self.change(map, Edit::Add(name.to_owned().into(), value.to_vec()))
    }

    pub(crate) fn remove_header(&mut self, map: MapType, name: &str) -> Status {
        self.change(map, Edit::Remove(name.to_owned().into()))
    }

    pub(crate) fn buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        max: usize,
    ) -> Result<Vec<u8>, Status> {
        if self.fails("get_buffer_bytes") {
            return Err(Status::NotFound);
        }
        let bytes = match buffer {
            BufferType::PluginConfiguration if self.running == Running::Configure => {
                self.roots.get(&self.current).map(|r| r.json.as_bytes())
            }
            BufferType::HttpResponseBody => {
                let stream = self.streams.get(&self.current);
                stream.and_then(|stream| stream.body.as_deref())
            }
            _ => None,
        };
        let bytes = bytes.ok_or(Status::BadArgument)?;
        let end = start.saturating_add(max).min(bytes.len());
        Ok(bytes.get(start..end).unwrap_or_default().to_vec())
    }

    // ===== properties =====

    pub(crate) fn property(&mut self, path: &str) -> Result<Vec<u8>, Status> {
        let path = path.replace('\0', ".");
        // Without this one an attempt would pass for a call that arrives, and wait for its own slot.
        // Envoy has it for every stream.
        let tells_the_half = path == ATTEMPT;
        if !tells_the_half && self.fails("get_property") {
            return Err(Status::NotFound);
        }
        let stream = self.streams.get(&self.current);
        let value = stream.and_then(|stream| {
            let left = stream.left.get(&path);
            left.or_else(|| stream.properties.get(&path))
        });
        value.cloned().ok_or(Status::NotFound)
    }

    pub(crate) fn set_property(&mut self, path: &str, value: &[u8]) -> Status {
        self.count("set_property");
        match self.streams.get_mut(&self.current) {
            Some(stream) => {
                stream.left.insert(path.replace('\0', "."), value.to_vec());
                Status::Ok
            }
            None => Status::BadArgument,
        }
    }

    // ===== what VMs share =====

    pub(crate) fn shared_data(&mut self, key: &str) -> Option<(Vec<u8>, u32)> {
        if self.fails("get_shared_data") {
            return None;
        }
        self.alive()?.get(key).ok().flatten()
    }

    pub(crate) fn set_shared_data(&mut self, key: &str, value: &[u8], cas: u32) -> Status {
        if self.fails("set_shared_data") {
            return Status::CasMismatch;
        }
        match self.alive().map(|mut state| state.set(key, value, cas)) {
            Some(Ok(())) => Status::Ok,
            Some(Err(_)) | None => Status::CasMismatch,
        }
    }

    /// The queue wakes the root that is running, or whose stream is.
    pub(crate) fn register_queue(&mut self, name: &str) -> u32 {
        self.count("register_shared_queue");
        let reader = Reader {
            vm: self.vm,
            root: self.root(),
        };
        match self.alive() {
            Some(mut state) => state.register(name, reader),
            None => u32::MAX,
        }
    }

    fn root(&self) -> u32 {
        let stream = self.streams.get(&self.current);
        stream.map_or(self.current, |stream| stream.root)
    }

    pub(crate) fn enqueue(&mut self, queue: u32, message: &[u8]) -> Status {
        if self.fails("enqueue_shared_queue") {
            return Status::NotFound;
        }
        match self.alive().map(|mut state| state.enqueue(queue, message)) {
            Some(Ok(())) => Status::Ok,
            Some(Err(_)) | None => Status::NotFound,
        }
    }

    pub(crate) fn dequeue(&mut self, queue: u32) -> Result<Vec<u8>, Status> {
        if self.fails("dequeue_shared_queue") {
            return Err(Status::NotFound);
        }
        match self.alive().map(|mut state| state.dequeue(queue)) {
            Some(Ok(Some(message))) => Ok(message),
            Some(Ok(None)) => Err(Status::Empty),
            Some(Err(_)) | None => Err(Status::NotFound),
        }
    }

    // ===== what is done to streams =====

    pub(crate) fn turn_to(&mut self, context: u32) -> Status {
        let is_there = self.streams.contains_key(&context) || self.roots.contains_key(&context);
        if self.fails("set_effective_context") || !is_there {
            // And the previous one stays.
            return Status::BadArgument;
        }
        self.current = context;
        Status::Ok
    }

    pub(crate) fn resume(&mut self, stream: StreamType) -> Status {
        self.count("continue_stream");
        let id = self.current;
        if self.running != Running::Clockwork {
            die(&format!("stream {id} is resumed from {:?}", self.running));
        }
        let Some(paused) = self.streams.get_mut(&id) else {
            die(&format!("context {id} is resumed and no stream"));
        };
        let half = match stream {
            StreamType::HttpRequest => &mut paused.request,
            StreamType::HttpResponse => &mut paused.response,
            _ => die("such a stream is never resumed"),
        };
        if !half.is_paused {
            die(&format!("stream {id} is resumed while not paused"));
        }
        half.settle(false);
        let edits = half.take_edits();
        self.actions.push(match stream {
            StreamType::HttpRequest => Action::Start { gate: id },
            _ => Action::Answer { attempt: id, edits },
        });
        Status::Ok
    }

    pub(crate) fn reply(
        &mut self,
        status: u32,
        headers: Vec<(String, String)>,
        body: &[u8],
    ) -> Status {
        self.count("send_local_response");
        let id = self.current;
        let Some(stream) = self.streams.get_mut(&id) else {
            die(&format!("context {id} is answered and no stream"));
        };
        if !stream.request.is_open || stream.is_replied {
            die(&format!("stream {id} is answered when it must not be"));
        }
        stream.is_replied = true;
        stream.request.settle(false);
        let reply = Reply {
            status: status as u16,
            headers: headers
                .into_iter()
                .map(|(name, value)| (&*name.leak(), value))
                .collect(),
            body: body.to_vec(),
        };
        self.actions.push(Action::Refuse { gate: id, reply });
        Status::Ok
    }

    // ===== what is told =====

    pub(crate) fn log(&mut self, level: LogLevel, line: String) -> Status {
        self.count("log");
        let level = match level {
            LogLevel::Error | LogLevel::Critical => Level::Error,
            LogLevel::Warn => Level::Warn,
            LogLevel::Info | LogLevel::Debug | LogLevel::Trace => Level::Info,
        };
        if let Some(mut state) = self.alive() {
            state.log(level, line);
        }
        Status::Ok
    }

    pub(crate) fn log_level(&mut self) -> LogLevel {
        self.count("get_log_level");
        match self.memory.state().is_tracing {
            true => LogLevel::Trace,
            false => LogLevel::Info,
        }
    }

    pub(crate) fn define_metric(&mut self, kind: MetricType, name: &str) -> u32 {
        self.count("define_metric");
        if self.metrics.iter().any(|(_, known)| known == name) {
            die(&format!("{name} is defined twice"));
        }
        let kind = match kind {
            MetricType::Counter => MetricKind::Counter,
            MetricType::Gauge => MetricKind::Gauge,
            _ => MetricKind::Histogram,
        };
        if kind == MetricKind::Counter {
            self.memory.state().metric(kind, name, 0);
        }
        self.metrics.push((kind, name.to_owned()));
        (self.metrics.len() - 1) as u32
    }

    pub(crate) fn record_metric(&mut self, metric: u32, value: u64) -> Status {
        match self.metrics.get(metric as usize) {
            Some((kind, name)) if !self.fails("record_metric") => {
                if let Some(mut state) = self.alive() {
                    state.metric(*kind, name, value);
                }
                Status::Ok
            }
            _ => Status::NotFound,
        }
    }

    pub(crate) fn increment_metric(&mut self, metric: u32, offset: i64) -> Status {
        let Some((kind, name)) = self.metrics.get(metric as usize) else {
            return Status::NotFound;
        };
        match u64::try_from(offset) {
            Ok(more) if more > 0 && !self.fails("increment_metric") => {
                if let Some(mut state) = self.alive() {
                    state.metric(*kind, name, more);
                }
                Status::Ok
            }
            // Envoy's counters take no less than 1.
            _ => Status::BadArgument,
        }
    }

    // ===== time and entropy =====

    pub(crate) fn tick_every(&mut self, period: u32) -> Status {
        self.count("set_tick_period_milliseconds");
        let root = self.root();
        if let Some(root) = self.roots.get_mut(&root) {
            root.period = period;
        }
        Status::Ok
    }

    /// Nanoseconds of the monotonic clock.
    pub(crate) fn clock(&mut self, clock: u32) -> Option<u64> {
        let is_right = clock == 1 && !self.fails("clock_time_get");
        is_right.then_some(self.now.0)
    }

    pub(crate) fn entropy(&mut self, size: usize) -> Option<Vec<u8>> {
        if self.fails("random_get") {
            return None;
        }
        let mut state = self.memory.state();
        let drawn = (0..size.div_ceil(8)).flat_map(|_| state.random.draw().to_le_bytes());
        Some(drawn.take(size).collect())
    }
}
