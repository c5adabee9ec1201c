//! Slots are granted: waiters start, held calls are retried.

use super::state::{Call, Hold, Stage};
use super::{Action, Worker, hold, marks};
use crate::core::report::stats::{Count, Measure, measure};
use crate::core::time::Time;
use crate::core::wait::{CallId, GateId, Kind};
use crate::port::Host;

/// Grants taken in one callback, and as many calls that fall due; the rest is for the next.
///
/// Envoy carries actions out one *inside* the other: what a resumed stream calls in the VM ends by
/// carrying out the next action. V8's stack of 1 MiB holds about 150 with no other filter in the
/// chain, and one more ends the VM. Twice this number leaves each 30 KiB.
pub(super) const AT_ONCE: usize = 16;

impl Worker {
    /// This worker was woken: a gate granted it something.
    pub fn wake(&mut self, host: &impl Host, now: Time) -> Vec<Action> {
        let places = self.gates.take_wakes(host);
        let mut actions = Vec::new();
        self.collect(host, now, &places, Count::GrantByWake, &mut actions);
        self.turn_away(host, now, &places, &mut actions);
        actions
    }

    /// Takes what was granted to this worker in these gates, as far as there is room.
    pub(super) fn collect(
        &mut self,
        host: &impl Host,
        now: Time,
        places: &[GateId],
        by: Count,
        actions: &mut Vec<Action>,
    ) {
        for place in places {
            while actions.len() < AT_ONCE {
                let Some((id, kind)) = self.gates.claim(host, now, *place) else {
                    break;
                };
                actions.extend(self.granted(host, now, id, kind, *place, by));
            }
            if actions.len() >= AT_ONCE {
                self.gates.wake_again(host, *place);
            }
        }
    }

    fn granted(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        kind: Kind,
        place: GateId,
        by: Count,
    ) -> Option<Action> {
        let epoch = self.gates.sight(place).epoch;
        let Some(mut call) = self.lift(id) else {
            // Nobody waits under this number: the slot goes back.
            let line = self.gates.line_mut(place);
            line.return_grant();
            line.decide(epoch);
            self.gates.report(host, now, place);
            return None;
        };
        self.stats.count(&call.policy_name, by);
        call.epoch = epoch;
        if call.is_shadow() {
            self.phantom_starts(host, now, &mut call, place);
            self.keep(id, call);
            return None;
        }
        call.has_grant = true;
        let action = match (kind, std::mem::replace(&mut call.stage, Stage::Going)) {
            (Kind::Ready, Stage::Held(held)) => Some(self.retry(host, now, &mut call, held)),
            (Kind::Fresh, _) | (Kind::Ready, _) => {
                self.stats.count(&call.policy_name, Count::Admitted);
                let waited = now.since(call.arrived);
                measure(host, &call.policy_name, Measure::Wait, waited);
                call.started = Some(now);
                call.gate.map(|gate| Action::Start { gate })
            }
        };
        self.keep(id, call);
        action
    }

    /// Lets a held refusal go with the mark that makes the router try again.
    pub(super) fn retry(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        held: Hold,
    ) -> Action {
        let policy = &call.policy_name;
        self.stats.count(policy, Count::Retry(held.refusal.class));
        measure(host, policy, Measure::Hold, now.since(held.since));
        let (edits, undo) = marks::retry_edits(&held.refusal, call.gate.is_some());
        call.undo = undo;
        // Should the router not retry after all, this is what the client gets.
        call.passed = Some(hold::passed(&held.refusal, false));
        if call.gate.is_none() {
            call.orphaned = Some(now + hold::ORPHANED);
        }
        Action::Answer {
            attempt: held.attempt,
            edits,
        }
    }
}
