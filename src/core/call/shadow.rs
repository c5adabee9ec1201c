//! A policy in shadow mode: everything is decided and counted, nothing is changed.
//!
//! Beside a call that goes its way untouched lives its *phantom*, which does in the gate what the
//! call would have done: it waits, is granted a slot, keeps it as long as the call really takes, and
//! gives it back. A phantom that waits lives on when its call has long been answered, as a *ghost*.

use std::time::Duration;

use super::arrive::{Arrived, Marked};
use super::state::Call;
use super::{Action, Worker, turn_away};
use crate::core::answer::Refused;
use crate::core::gate::Why;
use crate::core::report::stats::{Count, Measure, measure};
use crate::core::time::Time;
use crate::core::wait::{CallId, GateId, Settled};
use crate::port::Host;

/// Ghosts of one worker; beyond it a phantom ends with its call.
const GHOSTS: usize = 10_000;

/// What a call would be doing if its policy were in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phantom {
    /// What it really does: it started at once.
    Same,
    /// Nothing: it would not be there.
    Refused,
    /// Waiting for its start.
    Waits,
    /// Running, since it was granted a slot so much later than it really started.
    Runs { late: Duration },
    /// Waiting, though the call is over; it took this long.
    GhostWaits { took: Duration },
    /// Running, though the call is over.
    GhostRuns { began: Time, until: Time },
}

impl Worker {
    /// A call arrives under a policy in shadow mode: it starts, whatever the gate says.
    pub(super) fn arrive_in_shadow(
        &mut self,
        now: Time,
        id: CallId,
        call: &mut Call,
        settled: Settled,
    ) -> Arrived {
        call.started = Some(now);
        call.phantom = Some(match settled {
            Settled::Waits(_) => {
                self.stats.count(&call.policy_name, Count::Queued);
                Phantom::Waits
            }
            Settled::Refused(refuse) => {
                let (_, by_stay) = call.wait_ends();
                let reason = match refuse.why {
                    Why::Shut(pause) => turn_away::reason(&pause),
                    Why::NoWait { .. } => Refused::NoWait,
                    Why::QueueFull => Refused::QueueFull,
                    Why::TooLate { .. } if by_stay => Refused::WaitTooLong,
                    Why::TooLate { .. } => Refused::Deadline,
                };
                self.stats.count(&call.policy_name, Count::Refused(reason));
                Phantom::Refused
            }
            _ => {
                self.stats.count(&call.policy_name, Count::Admitted);
                call.has_grant = true;
                Phantom::Same
            }
        });
        Arrived::Start(Marked {
            edits: Vec::new(),
            reference: self.reference(id),
        })
    }

    /// The phantom of a call gets its slot.
    pub(super) fn phantom_starts(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        place: GateId,
    ) {
        // Nothing is sent, so nothing can tell: it is taken to be accepted.
        if self.accept(place, call.epoch) {
            self.gates.report(host, now, place);
        }
        self.stats.count(&call.policy_name, Count::Admitted);
        let waited = now.since(call.arrived);
        measure(host, &call.policy_name, Measure::Wait, waited);
        call.phantom = Some(match call.phantom {
            Some(Phantom::GhostWaits { took }) => Phantom::GhostRuns {
                began: now,
                until: now + took,
            },
            _ => Phantom::Runs { late: waited },
        });
    }

    /// The real call is over. Its phantom lives on if it has yet to do what the call did.
    pub(super) fn phantom_survives(&mut self, now: Time, call: &mut Call) -> bool {
        let ghost = match call.phantom {
            Some(Phantom::Waits) => Phantom::GhostWaits {
                took: now.since(call.arrived),
            },
            Some(Phantom::Runs { late }) => Phantom::GhostRuns {
                began: call.arrived + late,
                until: now + late,
            },
            _ => return false,
        };
        if self.ghosts >= GHOSTS {
            return false;
        }
        self.ghosts += 1;
        call.phantom = Some(ghost);
        call.gate = None;
        true
    }

    /// The clock has come to a phantom.
    pub(super) fn phantom_due(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        mut call: Box<Call>,
    ) -> Option<Action> {
        if matches!(
            call.phantom,
            Some(Phantom::Waits | Phantom::GhostWaits { .. })
        ) {
            let reason = match call.wait_ends().1 {
                true => Refused::WaitTooLong,
                false => Refused::Deadline,
            };
            self.phantom_leaves(host, now, id, call, reason);
        } else {
            self.end_phantom(host, now, &mut call);
            self.drop_call(id, &mut call);
        }
        None
    }

    /// A phantom that waits would be refused.
    pub(super) fn phantom_leaves(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        mut call: Box<Call>,
        reason: Refused,
    ) {
        self.stats.count(&call.policy_name, Count::Refused(reason));
        let is_ghost = call.phantom != Some(Phantom::Waits);
        self.end_phantom(host, now, &mut call);
        match is_ghost {
            true => self.drop_call(id, &mut call),
            false => self.keep(id, call),
        }
    }

    /// Gives back what a phantom has in its gate.
    pub(super) fn end_phantom(&mut self, host: &impl Host, now: Time, call: &mut Call) {
        let phantom = call.phantom.replace(Phantom::Refused);
        let Some(place) = call.place else {
            return;
        };
        let line = self.gates.line_mut(place);
        match phantom {
            None | Some(Phantom::Same | Phantom::Refused) => return,
            Some(Phantom::Waits) => {
                line.leave(call.key);
            }
            Some(Phantom::GhostWaits { .. }) => {
                self.ghosts = self.ghosts.saturating_sub(1);
                line.leave(call.key);
            }
            Some(Phantom::Runs { late }) => line.finish(now.since(call.arrived + late)),
            Some(Phantom::GhostRuns { began, .. }) => {
                self.ghosts = self.ghosts.saturating_sub(1);
                line.finish(now.since(began));
            }
        }
        self.gates.report(host, now, place);
    }
}

impl Call {
    /// Whether the call is only watched.
    pub(super) fn is_shadow(&self) -> bool {
        self.phantom.is_some()
    }

    /// Whether the call itself has, or would have had, the slots of its attempts.
    pub(super) fn has_own_slots(&self) -> bool {
        matches!(self.phantom, None | Some(Phantom::Same))
    }

    /// When the clock next has something to say to the phantom.
    pub(super) fn phantom_ends(&self) -> Option<Time> {
        match self.phantom? {
            Phantom::Waits | Phantom::GhostWaits { .. } => Some(self.wait_ends().0),
            Phantom::GhostRuns { until, .. } => Some(until),
            Phantom::Same | Phantom::Refused | Phantom::Runs { .. } => None,
        }
    }
}
