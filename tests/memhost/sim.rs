//! One process: its workers, its streams, and what a test may ask of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use weir::core::answer::Reply as Own;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::{Action, StreamId};
use weir::core::config::Config;
use weir::core::time::Time;

use super::call::{Ask, Call, Received, State, edit, ms};
use super::memory::Memory;
use super::router::Route;
use super::seat::Seat;
use super::vm::{Plugin, Vm};

/// One Envoy process with Weir in it.
pub(crate) struct Sim {
    pub(crate) memory: Memory,
    pub(crate) now: Time,
    /// The tick while something is due.
    pub(crate) busy: Duration,
    /// The number of the first seat's VM in the process.
    first_vm: usize,
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

pub(crate) fn config(json: &str) -> Rc<Plugin> {
    let config = Config::parse(json.as_bytes()).expect("a valid configuration");
    Rc::new(Plugin {
        json: json.to_owned(),
        config: Rc::new(config),
    })
}

/// One policy named `p` with these fields.
pub(crate) fn policy(fields: &str) -> String {
    let comma = if fields.is_empty() { "" } else { "," };
    format!(r#"{{"policies":[{{"name":"p"{comma}{fields}}}]}}"#)
}

impl Sim {
    /// Workers under one configuration, ticking every millisecond while something is due.
    pub(crate) fn new(workers: usize, json: &str) -> Sim {
        Sim::part_of(&Memory::default(), 0..workers, json)
    }

    /// Some workers of a process, by the numbers of their VMs.
    pub(crate) fn part_of(memory: &Memory, vms: Range<usize>, json: &str) -> Sim {
        let memory = memory.clone();
        let config = config(json);
        let now = Time(1_000_000_000_000);
        let first_vm = vms.start;
        let workers = vms.len();
        let seats = vms.map(|vm| Seat::new(&memory, vm, &config, now));
        let mut sim = Sim {
            first_vm,
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
    pub(crate) fn configure(&mut self, worker: usize, config: &Rc<Plugin>) {
        let now = self.now;
        let seat = &mut self.seats[worker];
        seat.config = Rc::clone(config);
        seat.configure(now, config);
        self.settle();
    }

    /// A configuration comes into force on all workers.
    pub(crate) fn reload(&mut self, json: &str) {
        let config = config(json);
        for worker in 0..self.seats.len() {
            self.configure(worker, &config);
        }
    }

    /// A seat of this part of the process that runs and whose queue holds a message.
    pub(crate) fn woken(&self) -> Option<usize> {
        let seat = |vm: usize| {
            vm.checked_sub(self.first_vm)
                .filter(|seat| *seat < self.seats.len())
        };
        let runs = |vm| seat(vm).is_some_and(|seat| self.gets_to_run(seat));
        self.memory.woken(runs).and_then(seat)
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
