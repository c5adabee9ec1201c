//! A refused call is held for a retry, or its refusal is passed on.

use std::time::Duration;

use super::attempt::Next;
use super::end::leave_line;
use super::read::Body;
use super::state::{Call, Hold, Passed, Refusal, Stage};
use super::{Action, StreamId, Worker, marks};
use crate::core::answer::{Edit, remove_marks};
use crate::core::classify::Class;
use crate::core::config::Policy;
use crate::core::gate::{self, Allowance};
use crate::core::report::stats::{Count, Measure, measure};
use crate::core::report::{Avoided, Event, LogLine};
use crate::core::retry::{GiveUp, MaxAttempts, Plan, Situation, decide};
use crate::core::time::Time;
use crate::core::wait::{CallId, Kind, Settled, Waiter};
use crate::port::Host;

/// How long a call without gate half and without attempt is remembered.
pub(super) const ORPHANED: Duration = Duration::from_secs(2);

/// A call that was just refused.
pub(super) struct Refused {
    pub(super) stream: StreamId,
    /// Whether the request was complete when the refusal began.
    pub(super) request_complete: bool,
    pub(super) body: Body,
    /// The last moment to start another attempt.
    pub(super) deadline: Time,
    pub(super) refusal: Refusal,
}

/// Why a refused call is not held.
enum NoHold {
    /// Another attempt of it is.
    Taken,
    /// So are as many as may be.
    Full,
    /// The gate has no retries left.
    RetriesSpent,
    /// It could not try again in time.
    TooLate,
}

impl Worker {
    /// Holds a refused call or passes its refusal on.
    pub(super) fn plan(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        refused: Refused,
    ) -> Next {
        let Refused {
            stream,
            request_complete,
            body,
            deadline,
            refusal,
        } = refused;
        let Some(policy) = call.policy() else {
            return Next::UNCHANGED;
        };
        let retry = policy.retry();
        let window = match refusal.class {
            Class::BurstRate => retry.burst_window(),
            _ => retry.window(),
        };
        let retry_after_cap = retry.retry_after_cap();
        let max_attempts = max_attempts(policy);
        let allowance = Allowance {
            percent: retry.ratio_percent(),
            per_second: retry.ratio_min_per_second(),
        };
        let delay = call.backoff.draw(
            refusal.class,
            window.base(),
            window.cap(),
            refusal.verdict.server_min(),
            [host.random(), host.random()],
        );
        let pause = call
            .place
            .and_then(|place| self.gates.sight(place).lasting(now));
        let last_start = call.last_start(now + delay.wait, deadline);
        let plan = decide(&Situation {
            verdict: *refusal.verdict,
            attempts_made: call.made_before.saturating_add(call.attempts_made),
            max_attempts,
            request_complete,
            can_be_held: matches!(body, Body::Whole | Body::WithoutEnd),
            now,
            deadline: Some(deadline),
            is_shut_out: pause.is_some_and(|pause| pause.no_start_before() > last_start),
            retry_after_cap,
            delay: delay.wait,
        });
        if call.is_shadow() {
            let count = match plan {
                Plan::GiveUp { .. } => Count::GaveUp(refusal.class),
                Plan::Hold { .. } => Count::Retry(refusal.class),
            };
            self.stats.count(&call.policy_name, count);
            return Next::UNCHANGED;
        }
        match plan {
            Plan::GiveUp { why } => {
                let avoided = match why {
                    GiveUp::RequestIncomplete => Some(Avoided::RequestIncomplete),
                    GiveUp::CannotBeHeld if body == Body::OverCap => Some(Avoided::BodyOverCap),
                    GiveUp::Deadline => call.route_forbids(stream, now + delay.wait),
                    _ => None,
                };
                if let Some(avoided) = avoided {
                    self.avoid(host, now, &call.policy_name, avoided);
                }
                let spent = matches!(why, GiveUp::Deadline | GiveUp::AttemptsSpent);
                let mut edits = self.pass_on(host, now, call, &refusal, spent);
                if call.gate.is_none() && body == Body::Unseen {
                    edits.extend(marks::no_retry_edits(&refusal).0);
                }
                Next::Pass(edits)
            }
            Plan::Hold { not_before, delay } => {
                let ask = gate::Hold {
                    until: last_start,
                    allowance,
                };
                if let Err(no) = self.ask_to_hold(host, now, call, stream, ask) {
                    let (avoided, spent) = match no {
                        NoHold::Taken => (Some(Avoided::HoldTaken), false),
                        NoHold::Full => (Some(Avoided::HoldsFull), false),
                        NoHold::RetriesSpent => (Some(Avoided::RetryBudget), true),
                        NoHold::TooLate => (
                            call.route_forbids(stream, call.deadline),
                            last_start == deadline,
                        ),
                    };
                    if let Some(avoided) = avoided {
                        self.avoid(host, now, &call.policy_name, avoided);
                    }
                    return Next::Pass(self.pass_on(host, now, call, &refusal, spent));
                }
                measure(host, &call.policy_name, Measure::Delay, delay);
                self.write_line(host, now, call, &refusal, Some(delay));
                call.stage = Stage::Held(Hold {
                    attempt: stream,
                    since: now,
                    not_before,
                    ready_since: None,
                    deadline,
                    refusal,
                });
                Next::Pause
            }
        }
    }

    /// Asks for a place among those that are held.
    fn ask_to_hold(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &Call,
        stream: StreamId,
        ask: gate::Hold,
    ) -> Result<(), NoHold> {
        if matches!(call.stage, Stage::Held(_)) {
            return Err(NoHold::Taken);
        }
        let Some((place, id)) = call.place.zip(self.streams.get(&stream)) else {
            return Ok(());
        };
        let waiter = Waiter {
            call: *id,
            kind: Kind::Ready,
            until: ask.until,
        };
        match self.gates.hold(host, now, place, call.key, waiter, ask) {
            Settled::Held => Ok(()),
            Settled::HoldTooLate => Err(NoHold::TooLate),
            Settled::RetriesSpent => Err(NoHold::RetriesSpent),
            _ => Err(NoHold::Full),
        }
    }

    /// A held call's not-before has passed: it waits for its turn.
    pub(super) fn ripen(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        call: &mut Call,
    ) -> Option<Action> {
        let Stage::Held(hold) = &mut call.stage else {
            return None;
        };
        hold.ready_since = Some(now);
        let deadline = hold.deadline;
        if let Some(place) = call.place {
            let waiter = Waiter {
                call: id,
                kind: Kind::Ready,
                until: call.last_start(now, deadline),
            };
            self.gates.line_mut(place).wait(call.key, waiter);
            self.gates.report(host, now, place);
            return None;
        }
        let Stage::Held(hold) = std::mem::replace(&mut call.stage, Stage::Going) else {
            return None;
        };
        call.has_grant = true;
        Some(self.retry(host, now, call, hold))
    }

    /// A held call gives up: the provider's answer goes on to the client.
    pub(super) fn give_up(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
    ) -> Option<Action> {
        let Stage::Held(hold) = self.let_go(host, now, call) else {
            return None;
        };
        let budget_spent = hold.deadline <= now;
        if budget_spent && let Some(avoided) = call.route_forbids(hold.attempt, call.deadline) {
            self.avoid(host, now, &call.policy_name, avoided);
        }
        let edits = self.pass_on(host, now, call, &hold.refusal, budget_spent);
        Some(Action::Answer {
            attempt: hold.attempt,
            edits,
        })
    }

    pub(super) fn release_hold(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        why: Avoided,
    ) -> Next {
        self.avoid(host, now, &call.policy_name, why);
        match self.give_up(host, now, call) {
            Some(Action::Answer { edits, .. }) => Next::Pass(edits),
            _ => Next::UNCHANGED,
        }
    }

    /// The call no longer waits and is no longer held: its place is free. What it was is returned.
    pub(super) fn let_go(&mut self, host: &impl Host, now: Time, call: &mut Call) -> Stage {
        if let Some(place) = call.place
            && matches!(call.stage, Stage::Waiting | Stage::Held(_))
        {
            leave_line(self.gates.line_mut(place), call);
            self.gates.report(host, now, place);
        }
        std::mem::replace(&mut call.stage, Stage::Going)
    }

    /// A refusal goes on to the client (law L11).
    fn pass_on(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        refusal: &Refusal,
        budget_spent: bool,
    ) -> Vec<Edit> {
        self.stats
            .count(&call.policy_name, Count::GaveUp(refusal.class));
        self.write_line(host, now, call, refusal, None);
        call.passed = Some(passed(refusal, budget_spent));
        // A mark that is not ours would make the router retry.
        let mut edits = remove_marks(&refusal.headers);
        if call.gate.is_some() {
            let (hiding, undo) = marks::final_edits(refusal);
            edits.extend(hiding);
            call.undo = undo;
        }
        edits
    }

    fn write_line(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &Call,
        refusal: &Refusal,
        delay: Option<Duration>,
    ) {
        if !self.log.take(now) {
            self.stats.drop_log_line();
            return;
        }
        let line = LogLine {
            event: delay.map_or(Event::GiveUp, Event::Retry),
            policy: &call.policy_name,
            key: call.key_tag,
            class: refusal.class,
            status: refusal.status,
            evidence: refusal.verdict.evidence,
            attempt: call.made_before.saturating_add(refusal.attempt),
            of: call
                .policy()
                .map_or(1, |policy| max_attempts(policy).of(refusal.class)),
            server_min: refusal.verdict.server_min(),
        };
        host.log(crate::port::Level::Info, &line.to_json());
    }
}

fn max_attempts(policy: &Policy) -> MaxAttempts {
    let retry = policy.retry();
    MaxAttempts {
        retry: retry.max_attempts().get().into(),
        burst: retry.burst_max_attempts().get().into(),
    }
}

/// What the client's answer says of a refusal.
pub(super) fn passed(refusal: &Refusal, budget_spent: bool) -> Passed {
    Passed {
        class: refusal.class,
        known_wait: refusal.verdict.server_min(),
        budget_spent,
    }
}
