//! A call is over: client gone, answered to the end, or refused. All it had is free at once.

use super::repeats::{Note, write_down};
use super::state::{Call, Stage};
use super::{StreamId, Worker};
use crate::core::report::Avoided;
use crate::core::time::Time;
use crate::core::wait::{CallId, Line};
use crate::port::Host;

impl Worker {
    /// The downstream stream is gone.
    pub fn end(&mut self, host: &impl Host, now: Time, gate: StreamId) {
        let lifted = self.lift_by_stream(gate);
        self.streams.remove(&gate);
        if let Some((id, call)) = lifted {
            self.bury(host, now, id, call);
        }
    }

    /// The same for a call that was answered well and has given back all it had, which needs no time.
    /// False if it is no such call, for which [`Worker::end`] is there.
    pub fn end_plainly(&mut self, gate: StreamId) -> bool {
        let is_plain = |call: &Call| {
            call.stage == Stage::Answered
                && !(call.has_failed || call.has_grant || call.is_shadow())
                && !call.attempts.values().any(|attempt| attempt.has_slot)
        };
        let Some(id) = self.streams.get(&gate).copied() else {
            return true;
        };
        if !self.calls.get(&id).is_some_and(|call| is_plain(call)) {
            return false;
        }
        self.streams.remove(&gate);
        if let Some(mut call) = self.lift(id) {
            self.drop_call(id, &mut call);
        }
        true
    }

    /// Gives back all a call has and forgets it. Its attempts' streams may end later: they find no
    /// call.
    pub(super) fn bury(&mut self, host: &impl Host, now: Time, id: CallId, mut call: Box<Call>) {
        self.remember(host, now, &call);
        let survives = self.phantom_survives(now, &mut call);
        if !survives {
            self.end_phantom(host, now, &mut call);
            self.drop_call(id, &mut call);
        }
        let has_slot = call.has_grant || call.attempts.values().any(|attempt| attempt.has_slot);
        let has_place = matches!(call.stage, Stage::Waiting | Stage::Held(_));
        // As a rule its last attempt gave the slot back, and there is nothing to tell.
        if let Some(place) = call.place
            && (has_slot || has_place)
        {
            let line = self.gates.line_mut(place);
            for attempt in call.attempts.values().filter(|attempt| attempt.has_slot) {
                line.finish(now.since(attempt.began));
                if attempt.is_undecided {
                    line.lose(attempt.epoch);
                }
            }
            if std::mem::take(&mut call.has_grant) {
                return_grant(line, &call);
            }
            leave_line(line, &call);
            self.gates.report(host, now, place);
        }
        if survives {
            call.attempts.clear();
            self.keep(id, call);
        }
    }
}

impl Worker {
    /// Notes what a call that failed has used of its budget: its client may repeat it.
    fn remember(&mut self, host: &impl Host, now: Time, call: &Call) {
        let has_failed = match call.stage {
            Stage::Answered => call.has_failed,
            // Without a gate half nobody sees the client's answer.
            _ if call.gate.is_none() => call.passed.is_some(),
            _ => true,
        };
        let budget = call.policy().map(|policy| policy.retry().budget());
        if let (Some(tag), Some(budget)) = (call.repeat, budget)
            && has_failed
            && call.attempts_made > 0
        {
            let note = Note {
                tag,
                since: call.budget_since,
                // As long as the budget, so that one who comes back when all is spent is a new call.
                until: now + budget,
                made: call.made_before.saturating_add(call.attempts_made),
            };
            if !write_down(host, now, note) {
                self.avoid(host, now, &call.policy_name, Avoided::RepeatsFull);
            }
        }
    }
}

/// The slot goes back that no attempt has taken up.
pub(super) fn return_grant(line: &mut Line, call: &Call) {
    line.return_grant();
    if !call.is_answered {
        line.decide(call.epoch);
    }
}

/// The call no longer waits and is no longer held.
pub(super) fn leave_line(line: &mut Line, call: &Call) {
    match &call.stage {
        Stage::Waiting => {
            line.leave(call.key);
        }
        Stage::Held(hold) if hold.ready_since.is_some() => {
            line.leave(call.key);
        }
        Stage::Held(_) => line.let_go(call.key),
        Stage::Going | Stage::Refused | Stage::Answered => {}
    }
}
