//! Workers, the virtual clock, and the streams that Weir pauses and resumes.
//!
//! A resume of what is not paused, an answer to what is gone: Envoy may die of either, so here
//! each fails the test.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use weir::core::answer::Reply as Own;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::{Action, StreamId, Worker};
use weir::core::config::Config;
use weir::core::time::Time;

use super::call::{Ask, Call, Received, State, edit, ms};
use super::host::{MemHost, Memory};
use super::router::Route;

/// More steps than this without the clock moving are a livelock.
const STEPS: usize = 10_000;

/// The tick while nothing is due, as the shell asks for it.
const IDLE: Duration = Duration::from_millis(200);

/// One Envoy process with Weir in it.
pub(crate) struct Sim {
    pub(crate) memory: Memory,
    pub(crate) now: Time,
    /// The tick while something is due.
    pub(crate) busy: Duration,
    pub(crate) seats: Vec<Seat>,
    pub(crate) calls: Vec<Call>,
    pub(crate) route: Route,
    /// Which halves are installed.
    pub(crate) has_gate: bool,
    pub(crate) has_attempt: bool,
    /// Heads of answers as the router saw them, after Weir.
    pub(crate) routed: Vec<(usize, u16, weir::core::call::Headers)>,
    /// An attempt went out without a grant.
    pub(crate) unplanned: bool,
    /// Calls that were let go for a retry, and how long after the refusal began.
    pub(crate) holds: Vec<(usize, Duration)>,
    /// Calls that waited and were started.
    pub(crate) started: Vec<usize>,
    pub(crate) streams: BTreeMap<StreamId, usize>,
    next_stream: StreamId,
    next_connection: u64,
}

/// A worker thread.
pub(crate) struct Seat {
    pub(crate) worker: Worker,
    pub(crate) host: MemHost,
    pub(crate) config: Rc<Config>,
    /// The thread is busy elsewhere: neither wake-ups nor ticks reach it.
    pub(crate) is_blocked: bool,
    next_tick: Time,
}

pub(crate) fn config(json: &str) -> Rc<Config> {
    Rc::new(Config::parse(json.as_bytes()).expect("a valid configuration"))
}

/// One policy named `p` with these fields.
pub(crate) fn policy(fields: &str) -> String {
    let comma = if fields.is_empty() { "" } else { "," };
    format!(r#"{{"policies":[{{"name":"p"{comma}{fields}}}]}}"#)
}

impl Sim {
    /// Workers under one configuration, ticking every millisecond while something is due.
    pub(crate) fn new(workers: usize, json: &str) -> Sim {
        let memory = Memory::default();
        let config = config(json);
        let now = Time(1_000_000_000_000);
        let seats = (0..workers).map(|vm| Seat {
            worker: Worker::new(0xabc0 + vm as u64),
            host: memory.host(vm),
            config: Rc::clone(&config),
            is_blocked: false,
            next_tick: now,
        });
        let mut sim = Sim {
            seats: seats.collect(),
            memory,
            now,
            busy: ms(1),
            calls: Vec::new(),
            route: Route::default(),
            has_gate: true,
            has_attempt: true,
            routed: Vec::new(),
            unplanned: false,
            holds: Vec::new(),
            started: Vec::new(),
            streams: BTreeMap::new(),
            next_stream: 1,
            next_connection: 1,
        };
        for worker in 0..workers {
            sim.configure(worker, &config);
        }
        sim
    }

    /// `workers` under one policy `p` with these fields.
    pub(crate) fn policy(workers: usize, fields: &str) -> Sim {
        Sim::new(workers, &policy(fields))
    }

    /// A configuration comes into force on a worker.
    pub(crate) fn configure(&mut self, worker: usize, config: &Rc<Config>) {
        let now = self.now;
        let seat = &mut self.seats[worker];
        seat.config = Rc::clone(config);
        seat.worker.configure(&seat.host, now, config);
        self.settle();
    }

    /// A configuration comes into force on all workers.
    pub(crate) fn reload(&mut self, json: &str) {
        let config = config(json);
        for worker in 0..self.seats.len() {
            self.configure(worker, &config);
        }
    }

    pub(crate) fn take_connection(&mut self) -> u64 {
        self.next_connection += 1;
        self.next_connection
    }

    pub(crate) fn take_stream(&mut self, call: usize) -> StreamId {
        self.next_stream += 1;
        self.streams.insert(self.next_stream, call);
        self.next_stream
    }

    /// A call arrives.
    pub(crate) fn arrive(&mut self, ask: Ask) -> usize {
        let id = self.calls.len();
        let connection = ask.connection.unwrap_or_else(|| self.take_connection());
        let seat = &self.seats[ask.worker];
        let mut headers: Vec<_> = [(":authority", "llm"), (":path", "/v1/chat")]
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .into();
        for (name, value) in &ask.headers {
            headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
        self.calls.push(Call {
            worker: ask.worker,
            cluster: ask.cluster,
            connection,
            config: ask.config.unwrap_or_else(|| Rc::clone(&seat.config)),
            headers,
            request_complete: !ask.uploading,
            gate: None,
            is_paused: false,
            reference: None,
            arrived: self.now,
            began: Vec::new(),
            attempts: BTreeMap::new(),
            retries: 0,
            retry_at: None,
            has_grant: false,
            received: None,
            is_over: false,
        });
        if self.has_gate {
            self.enter_gate(id);
        } else {
            self.begin_attempt(id);
        }
        self.settle();
        id
    }

    fn enter_gate(&mut self, id: usize) {
        let gate = self.take_stream(id);
        let call = &mut self.calls[id];
        call.gate = Some(gate);
        let seat = &mut self.seats[call.worker];
        let request = Request {
            cluster: call.cluster.as_bytes(),
            connection: call.connection,
            headers: &call.headers,
        };
        let arrived = seat
            .worker
            .arrive(&seat.host, self.now, gate, &request, &call.config);
        let (marked, waits) = match arrived {
            Arrived::Untouched => {
                self.begin_attempt(id);
                return;
            }
            Arrived::Refuse(reply) => return self.refuse(id, reply),
            Arrived::Start(marked) => (marked, false),
            Arrived::Wait(marked) => (marked, true),
        };
        edit(&mut call.headers, &marked.edits);
        call.reference = Some(marked.reference);
        call.is_paused = waits;
        if !waits {
            self.start(id);
        }
    }

    fn start(&mut self, id: usize) {
        self.calls[id].has_grant = true;
        self.begin_attempt(id);
    }

    /// Weir's own answer passes the gate half like any other.
    fn refuse(&mut self, id: usize, reply: Own) {
        let mut headers = vec![(
            b":status".to_vec(),
            reply.status.to_string().as_bytes().to_vec(),
        )];
        for (name, value) in reply.headers {
            headers.push((name.as_bytes().to_vec(), value.into_bytes()));
        }
        self.deliver_head(id, reply.status, headers, false);
        self.calls[id].received.as_mut().unwrap().body = reply.body;
        self.finish(id);
    }

    /// The gate half sees an answer's head, and then the client does.
    pub(crate) fn deliver_head(
        &mut self,
        id: usize,
        status: u16,
        mut headers: weir::core::call::Headers,
        via_upstream: bool,
    ) {
        let call = &mut self.calls[id];
        assert!(call.received.is_none(), "call {id} is answered twice");
        assert!(!call.is_over, "call {id} is answered after its end");
        if let Some(gate) = call.gate {
            let seat = &mut self.seats[call.worker];
            let edits =
                seat.worker
                    .answer(&seat.host, self.now, gate, status, &headers, via_upstream);
            edit(&mut headers, &edits);
            if matches!(status, 429 | 503 | 529) || !call.attempts.is_empty() || !via_upstream {
                call.has_grant = false;
            }
        }
        call.retry_at = None;
        let status = super::call::status(&headers);
        call.received = Some(Received {
            status,
            headers,
            body: Vec::new(),
            at: self.now,
        });
    }

    /// The client has its answer to the end.
    pub(crate) fn finish(&mut self, id: usize) {
        if let Some(gate) = self.calls[id].gate {
            let seat = &mut self.seats[self.calls[id].worker];
            seat.worker.end_answer(&seat.host, self.now, gate);
        }
        self.close(id, false);
    }

    /// Both halves' streams end: the gate's first, as Envoy destroys them, or last.
    pub(crate) fn close(&mut self, id: usize, attempts_first: bool) {
        let call = &mut self.calls[id];
        call.is_over = true;
        call.is_paused = false;
        call.has_grant = false;
        call.retry_at = None;
        let gate = call.gate;
        let attempts: Vec<_> = call.attempts.keys().copied().collect();
        let end_gate = |sim: &mut Sim| {
            if let Some(gate) = gate {
                let seat = &mut sim.seats[sim.calls[id].worker];
                seat.worker.end(&seat.host, sim.now, gate);
                sim.streams.remove(&gate);
            }
        };
        if !attempts_first {
            end_gate(self);
        }
        for stream in attempts {
            self.end_attempt(id, stream);
        }
        if attempts_first {
            end_gate(self);
        }
    }

    /// The client goes away.
    pub(crate) fn abort(&mut self, id: usize) {
        self.abort_in_order(id, false);
    }

    pub(crate) fn abort_in_order(&mut self, id: usize, attempts_first: bool) {
        if !self.calls[id].is_over {
            self.close(id, attempts_first);
            self.settle();
        }
    }

    /// Carries out what a worker's callback decided.
    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start { gate } => {
                    let id = self.paused_gate(gate, "started");
                    self.started.push(id);
                    self.start(id);
                }
                Action::Refuse { gate, reply } => {
                    let id = self.paused_gate(gate, "refused");
                    self.refuse(id, reply);
                }
                Action::Answer { attempt, edits } => {
                    let id = self.call_of(attempt, "resumed");
                    let held = self.calls[id].attempts.get_mut(&attempt).unwrap();
                    assert!(held.is_paused, "call {id}: resumed while not paused");
                    held.is_paused = false;
                    self.route_answer(id, attempt, &edits);
                }
            }
        }
    }

    fn call_of(&self, stream: StreamId, what: &str) -> usize {
        match self.streams.get(&stream) {
            Some(id) => *id,
            None => panic!("a stream that is gone is {what}"),
        }
    }

    fn paused_gate(&mut self, gate: StreamId, what: &str) -> usize {
        let id = self.call_of(gate, what);
        let call = &mut self.calls[id];
        assert_eq!(call.gate, Some(gate), "no gate stream is {what}");
        assert!(call.is_paused, "call {id} is {what} while not paused");
        call.is_paused = false;
        id
    }

    /// Delivers all wake-ups, with all that follows from them at this moment.
    pub(crate) fn settle(&mut self) {
        for _ in 0..STEPS {
            let woken = self.memory.woken(|vm| !self.seats[vm].is_blocked);
            if let Some(vm) = woken {
                let seat = &mut self.seats[vm];
                let actions = seat.worker.wake(&seat.host, self.now);
                self.act(actions);
            } else if let Some(id) = self.due_retry() {
                self.calls[id].retry_at = None;
                self.begin_attempt(id);
            } else {
                return self.keep_pace();
            }
        }
        panic!("livelock");
    }

    fn due_retry(&self) -> Option<usize> {
        let is_due = |call: &Call| call.retry_at.is_some_and(|at| at <= self.now);
        let calls = &mut self.calls.iter();
        calls.position(|call| is_due(call) && self.runs(call))
    }

    fn runs(&self, call: &Call) -> bool {
        !self.seats[call.worker].is_blocked
    }

    fn keep_pace(&mut self) {
        for seat in &mut self.seats {
            if seat.worker.is_busy() {
                seat.next_tick = seat.next_tick.min(self.now + self.busy);
            }
        }
    }

    /// Lets time pass, with all ticks in it.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let ticks = self.seats.iter().filter(|seat| !seat.is_blocked);
            let ticks = ticks.map(|seat| seat.next_tick);
            let calls = self.calls.iter().filter(|call| self.runs(call));
            let retries = calls.filter_map(|call| call.retry_at);
            let next = ticks.chain(retries).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = next.max(self.now);
            for vm in 0..self.seats.len() {
                if !self.seats[vm].is_blocked && self.seats[vm].next_tick <= self.now {
                    self.tick(vm);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// Time passes without a tick: no worker gets to run.
    pub(crate) fn jump(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    fn tick(&mut self, vm: usize) {
        let seat = &mut self.seats[vm];
        let actions = seat.worker.tick(&seat.host, self.now);
        let pace = if seat.worker.is_busy() {
            self.busy
        } else {
            IDLE
        };
        seat.next_tick = self.now + pace;
        self.act(actions);
        self.settle();
    }

    pub(crate) fn state(&self, id: usize) -> State {
        self.calls[id].state()
    }

    pub(crate) fn states(&self) -> Vec<State> {
        self.calls.iter().map(Call::state).collect()
    }

    /// What the client of an answered call got.
    pub(crate) fn received(&self, id: usize) -> &Received {
        let received = self.calls[id].received.as_ref();
        received.unwrap_or_else(|| panic!("call {id} is {:?}", self.state(id)))
    }

    /// A header of the client's answer.
    pub(crate) fn got(&self, id: usize, name: &str) -> Option<String> {
        super::call::header(&self.received(id).headers, name)
    }

    /// A counter of policy `p`.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.memory.counter(&format!("weir.policy.p.{name}"))
    }

    /// A counter of the plugin.
    pub(crate) fn plugin(&self, name: &str) -> u64 {
        self.memory.counter(&format!("weir.plugin.{name}"))
    }

    /// A gauge of policy `p`.
    pub(crate) fn gauge(&self, name: &str) -> Option<u64> {
        self.memory.gauge(&format!("weir.policy.p.{name}"))
    }

    /// Since when the clock has run, in milliseconds, from `start`.
    pub(crate) fn since(&self, start: Time) -> u64 {
        self.now.since(start).as_millis() as u64
    }
}
