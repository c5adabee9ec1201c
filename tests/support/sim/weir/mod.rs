//! Weir in front of the provider: the real core in every worker of many Envoys.
//!
//! - [`vm`]: a worker thread's VM: callbacks, ticks, wake-ups, death.
//! - [`router`]: what Envoy does with streams: attempts, answers, retries by the mark.
//! - [`flight`]: the slots in use.

mod flight;
pub(crate) mod router;
pub(crate) mod vm;

use std::collections::BTreeMap;
use std::rc::Rc;

use weir::core::call::{Headers, StreamId};
use weir::core::config::Config;
use weir::core::time::Time;

use super::crowd::{Crowd, Whose};
use super::draw::{Draw, For};
use super::memhost::memory::{Memory, Random};
use super::peer::{Arrival, Orders, Peer, Slot, TRY};
use super::words::Answer;
use router::{Seat, cluster_name};
use vm::{Timer, Vm, VmId};

/// What Weir runs in.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Processes: each with shared data and a clock of its own.
    pub(crate) envoys: usize,
    /// VMs of each.
    pub(crate) workers: usize,
    pub(crate) config: Rc<Config>,
    /// Clusters `provider-0` and so on, which calls are spread over.
    pub(crate) clusters: u16,
    pub(crate) seed: u64,
}

/// Weir as a peer.
pub(crate) struct Weir {
    pub(crate) envoys: Vec<Envoy>,
    /// Calls that are not over, by slot.
    pub(crate) seats: Vec<Option<Seat>>,
    clusters: u16,
    seed: u64,
    network: Draw,
    crowd: Rc<Crowd>,
    is_sparing: bool,
    /// Request headers by whose the call is, as they were first needed.
    requests: BTreeMap<Whose, Rc<Headers>>,
    names: Vec<Rc<str>>,
}

/// One Envoy process.
pub(crate) struct Envoy {
    pub(crate) memory: Memory,
    pub(crate) vms: Vec<Vm>,
    /// What its clock shows at the start of the run.
    pub(crate) began: Time,
    /// Slots in use, by cluster and by the simulator's own count.
    pub(crate) in_flight: BTreeMap<u16, InFlight>,
    /// VMs that died so far.
    pub(crate) deaths: u64,
    /// Attempts of VMs that found no worker slot.
    pub(crate) uncounted: u64,
    streams: BTreeMap<StreamId, Slot>,
    next_stream: StreamId,
    next_connection: u64,
}

/// Slots in use in one gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// Planned attempts at the provider.
    pub(crate) attempts: u32,
    /// Calls that the router is about to try again: they have a slot.
    pub(crate) between: u32,
    /// The most there ever were of both.
    pub(crate) peak: u32,
}

impl InFlight {
    pub(crate) fn taken(self) -> u32 {
        self.attempts + self.between
    }
}

impl Weir {
    pub(crate) fn new(setup: &Setup) -> Weir {
        let mut clocks = Draw::new(setup.seed, For::Network);
        let envoys = (0..setup.envoys).map(|at| {
            let memory = Memory::default();
            let random = Draw::of_call(setup.seed, For::Host, at as u64).bits();
            memory.state().random = Random::Stream(random);
            Envoy {
                vms: (0..setup.workers)
                    .map(|vm| Vm::new(&memory, vm, &setup.config))
                    .collect(),
                memory,
                // Up to 100 days of uptime.
                began: Time(1 + clocks.below(8_640_000_000_000_000)),
                in_flight: BTreeMap::new(),
                deaths: 0,
                uncounted: 0,
                streams: BTreeMap::new(),
                next_stream: 0,
                next_connection: 0,
            }
        });
        Weir {
            envoys: envoys.collect(),
            seats: Vec::new(),
            clusters: setup.clusters.max(1),
            seed: setup.seed,
            network: clocks,
            crowd: Rc::default(),
            is_sparing: false,
            requests: BTreeMap::new(),
            names: (0..setup.clusters.max(1))
                .map(|c| cluster_name(c).into())
                .collect(),
        }
    }

    /// Calls say whose they are.
    pub(crate) fn serving(mut self, crowd: &Rc<Crowd>) -> Weir {
        self.crowd = Rc::clone(crowd);
        self
    }

    /// Envoys with one worker are ticked only when something is due. Exact where limits are known; what
    /// is learned of refusals comes out a little different.
    pub(crate) fn sparing(mut self) -> Weir {
        self.is_sparing = true;
        self
    }

    /// Nothing is kept that only a reader of stats and logs wants.
    pub(crate) fn quiet(self) -> Weir {
        for envoy in &self.envoys {
            envoy.memory.state().is_quiet = true;
        }
        self
    }

    /// Every VM there is.
    pub(crate) fn vms(&self) -> Vec<VmId> {
        let of = |(envoy, e): (usize, &Envoy)| {
            (0..e.vms.len()).map(move |vm| VmId { envoy, vm }).collect()
        };
        let all: Vec<Vec<VmId>> = self.envoys.iter().enumerate().map(of).collect();
        all.concat()
    }

    pub(crate) fn vm(&mut self, id: VmId) -> &mut Vm {
        &mut self.envoys[id.envoy].vms[id.vm]
    }

    pub(crate) fn seat(&mut self, slot: Slot) -> Option<&mut Seat> {
        self.seats.get_mut(slot as usize)?.as_mut()
    }

    /// A call's request headers.
    fn request(&mut self, number: u64) -> Rc<Headers> {
        let whose = self.crowd.of(self.seed, number % TRY);
        if let Some(headers) = self.requests.get(&whose) {
            return Rc::clone(headers);
        }
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let mut headers = vec![
            pair(":authority", "llm"),
            pair(":path", "/v1/chat/completions"),
        ];
        let said = self.crowd.headers(whose);
        headers.extend(said.iter().map(|(name, value)| pair(name, value)));
        let headers = Rc::new(headers);
        self.requests.insert(whose, Rc::clone(&headers));
        headers
    }

    /// The worker and the cluster of a call: the same for every configuration.
    fn place(&self, number: u64) -> (VmId, u16) {
        let mut draw = Draw::of_call(self.seed, For::Place, number);
        let envoy = draw.below(self.envoys.len() as u64) as usize;
        let vm = draw.below(self.envoys[envoy].vms.len() as u64) as usize;
        let cluster = draw.below(u64::from(self.clusters)) as u16;
        (VmId { envoy, vm }, cluster)
    }
}

impl Peer for Weir {
    type Timer = Timer;

    fn begin(&mut self, orders: &mut Orders<Timer>) {
        for id in self.vms() {
            self.start_vm(id, orders);
        }
    }

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (vm, cluster) = self.place(call.number);
        self.enter(call, vm, cluster, orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        self.begin_answer(slot, answer, orders);
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.end_answer(slot, orders);
    }

    fn leave(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.abort(slot, orders);
    }

    fn timer(&mut self, timer: Timer, orders: &mut Orders<Timer>) {
        match timer {
            Timer::Tick(id, at) => self.tick(id, at, orders),
            Timer::Wake(id) => self.wake(id, orders),
            Timer::Restart(id) => self.start_vm(id, orders),
            Timer::Retry(slot, number) => self.try_again(slot, number, orders),
        }
    }
}
