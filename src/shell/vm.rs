//! What all roots and streams of one VM share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::host::{Envoy, Map};
use crate::core::call::{Action, Worker};
use crate::core::time::Time;
use crate::port::Host;

/// Ticks while something is due. Envoy makes about 4 ms of it.
const BUSY: Duration = Duration::from_millis(2);

/// Ticks otherwise: heartbeat and gauges.
const IDLE: Duration = Duration::from_millis(200);

/// One worker thread's Weir.
#[derive(Debug)]
pub(super) struct Vm {
    pub(super) host: Envoy,
    worker: RefCell<Worker>,
    /// When the core was last asked something.
    asked: Cell<Time>,
}

impl Vm {
    /// The one of this VM: both halves, and old and new configurations, share it.
    pub(super) fn shared() -> Rc<Vm> {
        thread_local! {
            static VM: Rc<Vm> = Rc::new(Vm::new());
        }
        VM.with(Rc::clone)
    }

    fn new() -> Vm {
        let host = Envoy::default();
        let worker = RefCell::new(Worker::new(host.random()));
        let asked = Cell::new(host.now());
        Vm {
            host,
            worker,
            asked,
        }
    }

    /// Asks the core. Borrows end here, before anything is done to a stream. On a host that calls
    /// back from within a host call there is nothing to ask.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&mut Worker, &Envoy, Time) -> T,
    ) -> Option<T> {
        let mut worker = self.worker.try_borrow_mut().ok()?;
        let now = self.host.now();
        self.asked.set(now);
        Some(question(&mut worker, &self.host, now))
    }

    /// Asks the core what depends on no time, and does not read the clock for it.
    pub(super) fn ask_at_no_time<T>(&self, question: impl FnOnce(&mut Worker) -> T) -> Option<T> {
        let mut worker = self.worker.try_borrow_mut().ok()?;
        Some(question(&mut worker))
    }

    /// Carries out what a root's callback decided.
    pub(super) fn act(&self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start { gate } => {
                    if self.host.turn_to(gate) {
                        self.host.resume_request();
                    }
                }
                Action::Refuse { gate, reply } => {
                    if self.host.turn_to(gate) {
                        self.host.reply(&reply);
                    }
                }
                Action::Answer { attempt, edits } => {
                    if self.host.turn_to(attempt) {
                        self.host.edit(Map::Response, &edits);
                        self.host.resume_answer();
                    }
                }
            }
        }
    }

    /// Whether this reference, from filter state, names a call of this VM that is not over.
    pub(super) fn knows(&self, reference: &[u8]) -> bool {
        self.worker
            .try_borrow()
            .is_ok_and(|worker| worker.knows(reference))
    }

    /// Has the running root tick as often as the work at hand needs, which its callback has just
    /// asked the core about: the clock is not read again for it.
    pub(super) fn keep_pace(&self, current: &Cell<Duration>) {
        // Twice: the host's ticks come late.
        let next = self.asked.get() + 2 * IDLE;
        let is_busy = self
            .worker
            .try_borrow()
            .map_or(true, |worker| worker.is_busy(next));
        let wanted = if is_busy { BUSY } else { IDLE };
        if current.replace(wanted) != wanted {
            self.host.tick_every(wanted);
        }
    }
}
