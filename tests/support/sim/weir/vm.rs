//! A worker thread's VM.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use weir::core::call::{Action, Worker};
use weir::core::config::Config;
use weir::core::time::Time;

use super::super::draw::{Draw, For};
use super::super::memhost::{MemHost, Memory};
use super::super::peer::{Orders, Slot};
use super::Weir;

/// What Envoy makes of the shell's tick while something is due.
const BUSY: Duration = Duration::from_millis(4);

/// The tick otherwise.
const IDLE: Duration = Duration::from_millis(200);

/// The tick of a VM that is alone and has nothing to do.
const ALONE: Duration = Duration::from_secs(10);

/// From a message to the callback of its reader.
const WAKE: (Duration, Duration) = (Duration::from_micros(15), Duration::from_micros(60));

/// From the death of a VM to the next one in its place.
const RESTART: Duration = Duration::from_secs(1);

/// A VM, by Envoy and worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VmId {
    pub(crate) envoy: usize,
    pub(crate) vm: usize,
}

/// A worker thread's VM; none while it is dead.
pub(crate) struct Vm {
    pub(crate) worker: Option<Worker>,
    pub(crate) config: Rc<Config>,
    host: MemHost,
    next_tick: Time,
    is_woken: bool,
    lives: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// If it is still this time's turn.
    Tick(VmId, Time),
    Wake(VmId),
    Restart(VmId),
    /// The router's next attempt, for the call of this number.
    Retry(Slot, u64),
}

impl Vm {
    pub(crate) fn new(memory: &Memory, vm: usize, config: &Rc<Config>) -> Vm {
        Vm {
            worker: None,
            config: Rc::clone(config),
            host: memory.host(vm),
            next_tick: Time::NEVER,
            is_woken: false,
            lives: 0,
        }
    }
}

/// To the tick that has something to do, where no other VM gives any: those before it are left out.
fn span_alone(due: Option<Time>, now: Time) -> Duration {
    let left = due.map_or(ALONE, |due| due.since(now));
    let ticks = left.min(ALONE).as_nanos().div_ceil(BUSY.as_nanos());
    BUSY * (ticks as u32).max(1)
}

impl Weir {
    /// Calls a VM, and sees to what follows from it. `None` if it is dead, or died of it.
    pub(crate) fn ask<T>(
        &mut self,
        id: VmId,
        orders: &mut Orders<Timer>,
        question: impl FnOnce(&mut Worker, &MemHost, Time) -> T,
    ) -> Option<T> {
        let is_alone = self.is_alone(id);
        let envoy = &mut self.envoys[id.envoy];
        let now = envoy.began + orders.now.since(Time(0));
        let vm = &mut envoy.vms[id.vm];
        let worker = vm.worker.as_mut()?;
        let answer = question(worker, &vm.host, now);
        let tick = match is_alone {
            true => Some(span_alone(worker.next_due(), now)),
            false => worker.is_busy(now + 2 * IDLE).then_some(BUSY),
        };
        let sent = envoy.memory.take_sent();
        let is_dead = envoy.memory.state().dead.contains(&id.vm);
        for reader in sent {
            self.call_soon(VmId { vm: reader, ..id }, orders);
        }
        if is_dead {
            self.die(id, orders);
            return None;
        }
        if let Some(span) = tick {
            self.tick_within(id, span, orders);
        }
        Some(answer)
    }

    /// Whether a VM is ticked only when something is due: no other shares its records.
    fn is_alone(&self, id: VmId) -> bool {
        self.is_sparing && self.envoys[id.envoy].vms.len() == 1
    }

    /// A configuration comes into force on a VM.
    pub(crate) fn configure(&mut self, id: VmId, config: &Rc<Config>, orders: &mut Orders<Timer>) {
        self.vm(id).config = Rc::clone(config);
        self.ask(id, orders, |worker, host, now| {
            worker.configure(host, now, config);
        });
    }

    /// A VM starts, with a new root.
    pub(crate) fn start_vm(&mut self, id: VmId, orders: &mut Orders<Timer>) {
        let number = (id.envoy as u64) << 32 | id.vm as u64;
        let mut draw = Draw::of_call(self.seed, For::Host, !number);
        let vm = self.vm(id);
        let nonce = draw.bits().wrapping_add(vm.lives);
        vm.lives += 1;
        vm.worker = Some(Worker::new(nonce));
        vm.next_tick = Time::NEVER;
        let config = Rc::clone(&vm.config);
        self.envoys[id.envoy].memory.state().dead.remove(&id.vm);
        self.configure(id, &config, orders);
        self.tick_within(id, draw.between(Duration::ZERO, IDLE), orders);
    }

    /// A VM dies: all it knew is gone, shared data stays.
    pub(crate) fn die(&mut self, id: VmId, orders: &mut Orders<Timer>) {
        if self.vm(id).worker.take().is_none() {
            return;
        }
        self.envoys[id.envoy].deaths += 1;
        let slots = 0..self.seats.len() as Slot;
        for slot in slots {
            self.orphan(slot, id);
        }
        orders.after(RESTART, Timer::Restart(id));
    }

    pub(crate) fn tick(&mut self, id: VmId, at: Time, orders: &mut Orders<Timer>) {
        if self.vm(id).next_tick != at {
            return;
        }
        self.vm(id).next_tick = Time::NEVER;
        let actions = self.ask(id, orders, |worker, host, now| worker.tick(host, now));
        self.act(id, actions.unwrap_or_default(), orders);
        if self.vm(id).worker.is_some() && !self.is_alone(id) {
            self.tick_within(id, IDLE, orders);
        }
    }

    pub(crate) fn wake(&mut self, id: VmId, orders: &mut Orders<Timer>) {
        self.vm(id).is_woken = false;
        let actions = self.ask(id, orders, |worker, host, now| worker.wake(host, now));
        self.act(id, actions.unwrap_or_default(), orders);
        let envoy = &self.envoys[id.envoy];
        if envoy.vms[id.vm].worker.is_some() && envoy.memory.has_message(id.vm) {
            self.call_soon(id, orders);
        }
    }

    /// Carries out what a VM decided. It does so itself: if it dies over one, the rest is not done.
    fn act(&mut self, id: VmId, actions: Vec<Action>, orders: &mut Orders<Timer>) {
        for action in actions {
            if self.vm(id).worker.is_none() {
                return;
            }
            self.carry_out(id, action, orders);
        }
    }

    /// Has the reader of a message called.
    fn call_soon(&mut self, id: VmId, orders: &mut Orders<Timer>) {
        if !std::mem::replace(&mut self.vm(id).is_woken, true) {
            let (least, most) = WAKE;
            let span = self.network.between(least, most);
            orders.after(span, Timer::Wake(id));
        }
    }

    fn tick_within(&mut self, id: VmId, span: Duration, orders: &mut Orders<Timer>) {
        let at = orders.now + span;
        let vm = self.vm(id);
        if at < vm.next_tick {
            vm.next_tick = at;
            orders.after(span, Timer::Tick(id, at));
        }
    }

    /// The VMs of an Envoy that are alive.
    pub(crate) fn alive(&self, envoy: usize) -> BTreeSet<usize> {
        let vms = self.envoys[envoy].vms.iter().enumerate();
        vms.filter(|(_, vm)| vm.worker.is_some())
            .map(|(at, _)| at)
            .collect()
    }
}
