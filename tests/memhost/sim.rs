//! One process: its workers, its streams, and what a test may ask of them.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Streams of VMs that died.
    pub(crate) lost: BTreeSet<StreamId>,
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
    pub(crate) next_tick: Time,
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
            lost: BTreeSet::new(),
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
}
