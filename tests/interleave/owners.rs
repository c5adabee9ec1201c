//! Worker slots in the world: workers die, are given up though they live, come back under another
//! name; others take their slots and queues.

use std::rc::Rc;

use weir::core::gate::exchange::{Exchange, Want};
use weir::core::gate::owner::{SlotState, WorkerSlot};
use weir::core::gate::{Fences, Owner, Record};

use crate::laws::{self, Broken};
use crate::scope::{Grain, Scope};
use crate::world::{Step, World, change_of};

/// A worker slot and its queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seat {
    pub slot: WorkerSlot,
    /// Messages in its queue.
    pub wakes: u8,
    /// Who registered the queue last.
    pub reader: usize,
}

/// A clearing of the gate in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sweep {
    fences: Rc<Fences>,
    exchange: Exchange,
}

impl Sweep {
    fn new(fences: Fences) -> Sweep {
        let fences = Rc::new(fences);
        Sweep {
            exchange: Exchange::reap(Rc::clone(&fences)),
            fences,
        }
    }

    /// A write that is bound to fail, because the record changed since its read, fails now.
    pub fn fail_doomed(&mut self) {
        if matches!(self.exchange.want(), Want::Write { .. }) {
            self.exchange = Exchange::reap(Rc::clone(&self.fences));
        }
    }
}

impl World {
    /// The worker has a name that has been given up.
    pub fn is_lost(&self, at: usize) -> bool {
        let owner = self.workers[at].owner();
        owner.is_some_and(|owner| {
            let seat = &self.seats[usize::from(owner.slot)];
            !seat.slot.is_held_by(owner.generation)
        })
    }

    /// A message lies in the queue that the worker reads.
    pub fn is_woken(&self, at: usize) -> bool {
        let owner = self.workers[at].owner();
        owner.is_some_and(|owner| {
            let seat = &self.seats[usize::from(owner.slot)];
            seat.wakes > 0 && seat.reader == at
        })
    }

    pub fn seat_of(&mut self, at: usize) -> &mut Seat {
        let owner = self.workers[at].owner().expect("a worker with a slot");
        &mut self.seats[usize::from(owner.slot)]
    }

    /// Something of the given-up is left: a slot that nobody has freed yet, or an entry.
    pub fn is_haunted(&self) -> bool {
        let dead = self.workers.iter().enumerate();
        let mut unburied = dead.filter(|(at, worker)| worker.is_dead && !self.is_lost(*at));
        unburied.any(|(_, worker)| worker.owner().is_some())
            || self.sweep.is_some()
            || self.needs_sweep()
    }

    fn needs_sweep(&self) -> bool {
        let fences = self.fences();
        let mut entries = self.record.entries.iter();
        self.seats
            .iter()
            .any(|seat| seat.slot.state == SlotState::Dying)
            || entries.any(|entry| fences.is_fenced(entry.owner))
    }

    fn fences(&self) -> Fences {
        let mut fences = Fences::default();
        for (slot, seat) in (0..).zip(&self.seats) {
            fences.set(slot, seat.slot.generation);
        }
        fences
    }

    pub fn death_steps(&self, steps: &mut Vec<(usize, Step)>) {
        for (at, worker) in self.workers.iter().enumerate() {
            if self.deaths > 0 && !worker.is_dead && worker.owner().is_some() {
                steps.push((at, Step::Die));
            }
            let is_held = worker.owner().is_some() && !self.is_lost(at);
            if is_held && (worker.is_dead || self.reaps > 0) {
                steps.push((at, Step::Reap));
            }
        }
        match self.sweep {
            Some(_) => {
                steps.push((0, Step::Sweep));
                if self.cuts > 0 {
                    steps.push((0, Step::Cut));
                }
            }
            None if self.needs_sweep() => steps.push((0, Step::Sweep)),
            None => {}
        }
    }

    pub fn death(&mut self, scope: &Scope, at: usize, step: Step) -> Result<(), Broken> {
        match step {
            Step::Die => {
                self.deaths -= 1;
                self.workers[at].die();
            }
            Step::Reap => {
                self.reaps -= u8::from(!self.workers[at].is_dead);
                let seat = self.seat_of(at);
                seat.slot = seat.slot.reaped().expect("a slot that is held");
            }
            Step::Cut => {
                self.cuts -= 1;
                self.sweep = None;
            }
            _ => self.go_on_sweeping(scope)?,
        }
        laws::check_state(scope, self)
    }

    fn go_on_sweeping(&mut self, scope: &Scope) -> Result<(), Broken> {
        let mut sweep = match self.sweep.take() {
            Some(sweep) => sweep,
            None => Sweep::new(self.fences()),
        };
        loop {
            match sweep.exchange.want() {
                Want::Read => {
                    let stored = self.record.encode();
                    sweep.exchange.read(Some((&stored, 0)), self.now);
                }
                Want::Write { bytes, .. } => {
                    let after = Record::decode(bytes).expect("a record this code wrote");
                    let before = std::mem::replace(&mut self.record, after);
                    sweep.exchange.wrote(true);
                    self.swept(scope, &before)?;
                }
                Want::Wake(slot) => {
                    sweep.exchange.woke();
                    self.wake(slot);
                }
                Want::Done(_) => {
                    assert!(
                        change_of(&sweep.exchange).is_some(),
                        "a clearing that failed"
                    );
                    self.free(&sweep.fences);
                    return Ok(());
                }
            }
            if scope.grain == Grain::HostCall && !matches!(sweep.exchange.want(), Want::Done(_)) {
                self.sweep = Some(sweep);
                return Ok(());
            }
        }
    }

    fn swept(&mut self, scope: &Scope, before: &Record) -> Result<(), Broken> {
        laws::check_revoked(self, None, before, self.now)?;
        laws::check_limit(self, before, 0)?;
        for at in 0..self.workers.len() {
            if self.entry(at).is_none() {
                self.workers[at].known = 0;
            }
        }
        self.date_grants(self.now, false);
        self.fail_doomed(scope, None);
        Ok(())
    }

    fn free(&mut self, fences: &Fences) {
        for (slot, seat) in (0..).zip(&mut self.seats) {
            if fences.is_at(slot, seat.slot.generation)
                && let Some(freed) = seat.slot.freed()
            {
                seat.slot = freed;
            }
        }
    }

    /// The worker takes the first slot that nobody has.
    pub fn take_seat(&mut self, at: usize) {
        let mut free = self.seats.iter().enumerate();
        let free = free.find_map(|(slot, seat)| Some((slot, seat.slot.taken()?)));
        let slot = match free {
            Some((number, slot)) => {
                self.seats[number].slot = slot;
                self.seats[number].reader = at;
                number
            }
            None => {
                self.seats.push(Seat {
                    slot: WorkerSlot::FIRST,
                    wakes: 0,
                    reader: at,
                });
                self.seats.len() - 1
            }
        };
        let owner = Owner {
            slot: u16::try_from(slot).expect("few slots"),
            generation: self.seats[slot].slot.generation,
        };
        self.workers[at].names.push(owner);
    }

    /// The worker has found out that it was given up.
    pub fn renew(&mut self, at: usize) {
        self.take_seat(at);
        let worker = &mut self.workers[at];
        if !worker.member.line().is_empty() {
            worker.member.forget_reports();
        }
    }
}
