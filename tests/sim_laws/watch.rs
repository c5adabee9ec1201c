//! The laws, as they can be seen from outside: from when attempts start and end, and, where a law
//! speaks of the record, from the record.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use weir::core::gate::owner::WorkerSlot;
use weir::core::gate::{Entry, Record};
use weir::core::time::Time;
use weir::core::wait::registry::{directory, read};

use crate::scenario::{Faults, Scenario};
use crate::sim::peer::Slot;
use crate::sim::weir::Weir;
use crate::sim::weir::router::Stage;
use crate::sim::weir::vm::VmId;
use crate::sim::world::{Seen, What, World};

/// How long a free slot and a waiter may meet before somebody is woken: a few wake-ups in a row.
const AT_ONCE: Duration = Duration::from_millis(2);
/// The same if wake-ups are lost: the bound after which a tick looks for them, and some ticks.
const BY_TICKS: Duration = Duration::from_millis(1000);
/// The same if VMs die, since the last death: their slots are free within 3 s.
const AFTER_DEATH: Duration = Duration::from_millis(3100);
/// A lower cap may meet starts that were granted before: a router retries at its leisure.
const UNDER_WAY: Duration = Duration::from_millis(30);
/// Arrivals closer together than this have no order.
const SAME_TIME: Duration = Duration::from_nanos(8);

/// An Envoy and a cluster: what has one gate.
type Gate = (usize, u16);

/// A call that waits for its first start, or is between attempts.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: u64,
    arrived: Time,
    vm: VmId,
    gate: Gate,
    waits: bool,
    /// When its last refusal came back, and the least time to its next attempt.
    refused: Option<(Time, Duration)>,
}

/// Watches one run.
#[derive(Debug)]
pub(crate) struct Watch {
    scenario: Scenario,
    /// The cap in force, and since when.
    cap: u32,
    before: u32,
    since: Time,
    calls: BTreeMap<Slot, Known>,
    /// Waiting calls of each VM in each gate, oldest first.
    waiting: BTreeMap<Gate, BTreeMap<VmId, BTreeSet<u64>>>,
    /// Since when a slot is free and somebody waits, and how many had started by then.
    idle: BTreeMap<Gate, (Time, u64)>,
    /// First starts.
    starts: BTreeMap<Gate, u64>,
    /// When a VM last died, and how many had by then.
    died: (Time, u64),
    /// Whether anybody ever had to wait.
    pub(crate) waited: u64,
    pub(crate) most_waiting: usize,
    steps: u64,
}

impl Watch {
    pub(crate) fn new(scenario: &Scenario) -> Watch {
        Watch {
            cap: scenario.cap,
            before: scenario.cap,
            since: Time(0),
            scenario: scenario.clone(),
            calls: BTreeMap::new(),
            waiting: BTreeMap::new(),
            idle: BTreeMap::new(),
            starts: BTreeMap::new(),
            died: (Time(0), 0),
            waited: 0,
            most_waiting: 0,
            steps: 0,
        }
    }

    /// Another cap is in force from now on.
    pub(crate) fn reload(&mut self, cap: u32, now: Time) {
        (self.before, self.cap, self.since) = (self.cap, cap, now);
    }

    /// After every step.
    pub(crate) fn check(&mut self, world: &mut World<Weir>) {
        let mut starts = Vec::new();
        for seen in world.seen.take().unwrap_or_default() {
            self.note(world, seen, &mut starts);
        }
        world.seen = Some(Vec::new());
        self.note_deaths(world);
        for (gate, number) in starts {
            *self.starts.entry(gate).or_default() += 1;
            self.check_cap(world, gate);
            self.check_order(world, gate, number);
        }
        self.check_no_idle_slot(world);
        self.steps += 1;
        if self.steps.is_multiple_of(64) {
            self.check_bounds(world);
        }
    }

    /// Calls whose VM died hang: they wait no more.
    fn note_deaths(&mut self, world: &World<Weir>) {
        let deaths = world.peer.envoys.iter().map(|envoy| envoy.deaths).sum();
        if deaths == self.died.1 {
            return;
        }
        self.died = (world.now, deaths);
        let hangs = |slot: &Slot| {
            let seat = world.peer.seats[*slot as usize].as_ref();
            seat.is_some_and(|seat| seat.stage == Stage::Orphaned)
        };
        let hanging: Vec<_> = self.calls.keys().copied().filter(hangs).collect();
        for slot in hanging {
            self.leave_line(slot);
        }
    }

    fn note(&mut self, world: &World<Weir>, seen: Seen, starts: &mut Vec<(Gate, u64)>) {
        let Seen {
            at,
            slot,
            number,
            what,
        } = seen;
        match what {
            What::Arrived => {
                let Some(seat) = world.peer.seats.get(slot as usize).and_then(Option::as_ref)
                else {
                    return;
                };
                let known = Known {
                    number,
                    arrived: at,
                    vm: seat.vm,
                    gate: (seat.vm.envoy, seat.cluster),
                    waits: seat.stage == Stage::Waiting,
                    refused: None,
                };
                if known.waits {
                    self.waited += 1;
                    let line = self.waiting.entry(known.gate).or_default();
                    line.entry(known.vm).or_default().insert(number);
                    let waiting = line.values().map(BTreeSet::len).sum();
                    self.most_waiting = self.most_waiting.max(waiting);
                    let most = self.scenario.max_waiting as usize;
                    // Beaten for good, a worker lets its call wait and says so later.
                    let spare = if self.scenario.faults.conflicts {
                        self.scenario.workers
                    } else {
                        0
                    };
                    assert!(waiting <= most + spare, "L15: {waiting} wait, {most} may");
                }
                self.calls.insert(slot, known);
            }
            What::Attempt { attempt, .. } => {
                // It may have arrived and started in this very step.
                let Some(known) = self.calls.get_mut(&slot) else {
                    return;
                };
                if let Some((refused, least)) = known.refused.take() {
                    let after = at.since(refused);
                    assert!(
                        after >= least,
                        "L9: call {number} after {after:?}, not {least:?}"
                    );
                }
                let known = *known;
                if attempt == 1 {
                    let max_wait = Duration::from_millis(self.scenario.max_wait_ms);
                    let waited = at.since(known.arrived);
                    // The gate looks at the clock with each tick.
                    // and then sends few away at a time.
                    let late = Duration::from_millis(20 + self.most_waiting as u64 / 4);
                    assert!(waited <= max_wait + late, "call {number} waited {waited:?}");
                    self.leave_line(slot);
                    let envoy = &world.peer.envoys[known.vm.envoy];
                    let is_counted = envoy.memory.is_reader(known.vm.vm);
                    if is_counted {
                        starts.push((known.gate, number));
                    }
                }
            }
            What::Refusal { min } => {
                let least = min.unwrap_or_default();
                let least = least.max(Duration::from_millis(self.scenario.base_ms));
                if let Some(known) = self.calls.get_mut(&slot) {
                    known.refused = Some((at, least));
                }
            }
            What::Ended | What::Failed | What::Left => {
                self.leave_line(slot);
                self.calls.remove(&slot);
            }
        }
    }

    fn leave_line(&mut self, slot: Slot) {
        if let Some(known) = self.calls.get_mut(&slot)
            && std::mem::take(&mut known.waits)
        {
            let line = self.waiting.get_mut(&known.gate).expect("a line");
            line.get_mut(&known.vm)
                .expect("a line")
                .remove(&known.number);
        }
    }

    /// L1, at each first start.
    fn check_cap(&self, world: &World<Weir>, gate: Gate) {
        let (envoy, cluster) = gate;
        let count = world.peer.envoys[envoy].in_flight.get(&cluster);
        let now = count.map_or(0, |count| count.taken());
        let under_way = match self.scenario.faults.are_none() {
            true => UNDER_WAY,
            false => UNDER_WAY + BY_TICKS,
        };
        let is_new = world.now.since(self.since) < under_way && self.since > Time(0);
        let cap = if is_new {
            self.cap.max(self.before)
        } else {
            self.cap
        };
        assert!(now <= cap, "L1: {now} in flight, the cap is {cap}");
    }

    /// L2, at each first start: nobody older waits whom no grant covers.
    fn check_order(&self, world: &World<Weir>, gate: Gate, number: u64) {
        let Faults {
            conflicts, crashes, ..
        } = self.scenario.faults;
        // A worker that was beaten, or a VM that died, has waiters that no record knows.
        if conflicts || crashes {
            return;
        }
        let lines = self.waiting.get(&gate).into_iter().flatten();
        let overtaken = lines.filter(|(_, line)| line.first().is_some_and(|n| *n < number));
        let overtaken: Vec<_> = overtaken.collect();
        if overtaken.is_empty() {
            return;
        }
        let arrived = |number: u64| {
            let known = self.calls.values().find(|known| known.number == number);
            known.map_or(world.now, |known| known.arrived)
        };
        let started = arrived(number);
        let records = records(world, gate.0);
        for (vm, line) in overtaken {
            let is_older = |n: &&u64| arrived(**n) + SAME_TIME < started;
            let older = line.range(..number).filter(is_older).count() as u32;
            let entries = records.iter().flat_map(|record| &record.entries);
            let is_its = |entry: &&Entry| {
                let queue = WorkerSlot::queue_name(entry.owner.slot);
                world.peer.envoys[vm.envoy].memory.reader(&queue) == Some(vm.vm)
            };
            let entries: Vec<_> = entries.filter(is_its).collect();
            let granted = entries.iter().map(|entry| entry.granted).sum::<u32>();
            let is_stalled = entries.iter().any(|entry| entry.stalled);
            assert!(
                granted >= older || is_stalled,
                "L2: call {number} overtook {older} of {vm:?}, {granted} granted"
            );
        }
    }

    /// L3: a free slot and a waiter do not stay together.
    fn check_no_idle_slot(&mut self, world: &World<Weir>) {
        if self.scenario.rate.is_some() {
            return;
        }
        let bound = match self.scenario.faults {
            faults if faults.crashes => AFTER_DEATH,
            faults if faults.are_none() => AT_ONCE,
            _ => BY_TICKS,
        };
        for (gate, lines) in &self.waiting {
            let count = world.peer.envoys[gate.0].in_flight.get(&gate.1);
            let taken = count.map_or(0, |count| count.taken());
            let vms = &world.peer.envoys[gate.0].vms;
            let is_alive = |vm: &VmId| vms[vm.vm].worker.is_some();
            let waits = lines
                .iter()
                .any(|(vm, line)| !line.is_empty() && is_alive(vm));
            let refuses = !self.scenario.limits.is_empty();
            if waits && taken < self.cap && !(refuses && is_kept(world, gate.0, taken)) {
                let progress = self.starts.get(gate).copied().unwrap_or(0);
                let (since, then) = *self.idle.entry(*gate).or_insert((world.now, progress));
                let idle = world.now.since(since.max(self.died.0));
                if idle > bound {
                    // Where many come and go some slot is always under way to its waiter.
                    assert!(
                        progress > then,
                        "L3: a slot of {gate:?} was idle for {idle:?}"
                    );
                    self.idle.insert(*gate, (world.now, progress));
                }
            } else {
                self.idle.remove(gate);
            }
        }
    }

    /// L15: shared data and queues stay small.
    fn check_bounds(&self, world: &World<Weir>) {
        let workers = self.scenario.workers;
        for envoy in &world.peer.envoys {
            let (bytes, messages) = envoy.memory.size();
            let gates = usize::from(self.scenario.clusters);
            let most = 2000 + workers * 64 + gates * (2000 + workers * 96);
            assert!(bytes <= most, "L15: {bytes} bytes of shared data");
            let most = 64 * (workers + 1) + 4 * self.most_waiting;
            assert!(messages <= most, "L15: {messages} messages lie in queues");
        }
    }

    /// When everything is over. L4: nothing is left; and if anybody waited, the cap was reached.
    pub(crate) fn check_end(&self, world: &mut World<Weir>) {
        assert_eq!(world.live(), 0, "calls are left");
        let rest = match self.scenario.faults {
            faults if faults.crashes => Duration::from_secs(6),
            _ => Duration::from_secs(1),
        };
        world.run_until(world.now + rest);
        for (at, envoy) in world.peer.envoys.iter().enumerate() {
            for record in records(world, at) {
                assert!(record.entries.is_empty(), "L4: {record:?}");
            }
            for name in ["slots", "waiting", "held"] {
                let gauge = envoy.memory.gauge(&format!("weir.policy.p.{name}"));
                assert_eq!(gauge.unwrap_or(0), 0, "L4: {name}");
            }
            let (_, messages) = envoy.memory.size();
            assert!(
                messages == 0 || self.scenario.faults.crashes,
                "L4: {messages} messages"
            );
        }
        // Where calls are refused, some may have waited for a gate to open.
        let is_plain = self.scenario.faults.are_none()
            && self.scenario.rate.is_none()
            && self.scenario.limits.is_empty();
        if self.waited > 0 && self.scenario.then_cap.is_none() && is_plain {
            let mut counts = world.peer.envoys.iter().flat_map(|e| e.in_flight.values());
            let cap = self.cap;
            assert!(
                counts.any(|c| c.peak == cap),
                "L1: some waited, never {cap} ran"
            );
        }
    }
}

/// Whether what refusals brought keeps waiters of an Envoy at this moment, though the cap would not:
/// a pause, the learned pace, or the learned cap.
fn is_kept(world: &World<Weir>, envoy: usize, taken: u32) -> bool {
    records(world, envoy).iter().any(|record| {
        let is_capped = record.adaptive_cap.is_some() && u64::from(taken) >= record.limit();
        is_capped || record.promises(world.now) > world.now || !record.has_permit(world.now)
    })
}

/// All records of an Envoy.
fn records(world: &World<Weir>, envoy: usize) -> Vec<Record> {
    let host = world.peer.envoys[envoy].memory.host(usize::MAX);
    let places: Vec<_> = directory(&host).places().collect();
    places
        .into_iter()
        .map(|place| read(&host, place).expect("a record"))
        .collect()
}
