//! A refusal: its body is read, it is classified, and it is held for a retry or passed on.

use std::time::Duration;

use super::attempt::Next;
use super::end::leave_line;
use super::state::{Call, Hold, Passed, Refusal, Stage};
use super::{Action, Headers, StreamId, Undo, Worker};
use crate::core::answer::{Edit, remove_marks};
use crate::core::classify::{self, Answer, Class};
use crate::core::config::Policy;
use crate::core::report::stats::{Avoided, Count, Measure, measure};
use crate::core::report::{Event, LogLine};
use crate::core::retry::{GiveUp, MaxAttempts, Plan, Situation, decide};
use crate::core::time::Time;
use crate::core::wait::{CallId, Kind};
use crate::port::Host;

/// The header that makes the router try again.
pub(super) const MARKER: &str = "x-weir-retry";

/// How much of a refusal's body is read.
pub const BODY_CAP: usize = 16 * 1024;

/// How long a refusal's body is waited for.
pub(super) const READ_FOR: Duration = Duration::from_secs(1);

/// How long a call without gate half and without attempt is remembered.
pub(super) const ORPHANED: Duration = Duration::from_secs(2);

/// How a refusal's body came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// To its end.
    Whole,
    /// It is larger than [`BODY_CAP`].
    OverCap,
    /// Its end did not come in time.
    WithoutEnd,
}

/// A part of an answer's body, as the host has it.
#[derive(Debug)]
pub struct Part<R> {
    /// Bytes that the host has kept back so far, this part included.
    pub size: usize,
    /// Whether nothing follows.
    pub is_end: bool,
    /// Gives kept bytes: from where, and how many at most.
    pub read: R,
}

/// A call that was just refused.
struct Refused {
    stream: StreamId,
    /// Whether the request was complete when the refusal began.
    request_complete: bool,
    is_over_cap: bool,
    /// The last moment to start another attempt.
    deadline: Time,
    refusal: Refusal,
}

impl Worker {
    /// More of an answer's body has come.
    pub fn read_answer(
        &mut self,
        host: &impl Host,
        now: Time,
        stream: StreamId,
        part: Part<impl FnOnce(usize, usize) -> Vec<u8>>,
    ) -> Next {
        let call = self.streams.get(&stream).and_then(|id| self.calls.get(id));
        if !part.is_end && !call.is_some_and(|call| call.is_reading(stream)) {
            // The usual case: a success streams by.
            return Next::UNCHANGED;
        }
        let Some((id, mut call)) = self.lift_by_stream(stream) else {
            return Next::UNCHANGED;
        };
        let next = self.read_on(host, now, &mut call, stream, part);
        self.keep(id, call);
        next
    }

    fn read_on(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        part: Part<impl FnOnce(usize, usize) -> Vec<u8>>,
    ) -> Next {
        let Part { size, is_end, read } = part;
        if call.is_held_by(stream) {
            // The body went on after it was classified.
            return match size > BODY_CAP {
                true => self.release_hold(host, now, call, Avoided::BodyOverCap),
                false => Next::Pause,
            };
        }
        let reading = call
            .attempts
            .get_mut(&stream)
            .and_then(|attempt| attempt.reading.as_mut());
        let Some(reading) = reading else {
            if is_end {
                self.give_back(host, now, call, stream);
            }
            return Next::UNCHANGED;
        };
        let have = reading.body.len();
        let more = size.min(BODY_CAP).saturating_sub(have);
        if more > 0 {
            reading.body.extend(read(have, more));
        }
        match (size > BODY_CAP, is_end) {
            (true, _) => self.conclude(host, now, call, stream, Body::OverCap),
            (false, true) => self.conclude(host, now, call, stream, Body::Whole),
            (false, false) => Next::Pause,
        }
    }

    /// The answer is as well known as it will be.
    pub(super) fn conclude(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        body: Body,
    ) -> Next {
        let Some(attempt) = call.attempts.get_mut(&stream) else {
            return Next::UNCHANGED;
        };
        let deadline = call.deadline.min(attempt.deadline);
        let number = attempt.number;
        let Some(reading) = attempt.reading.take() else {
            return Next::UNCHANGED;
        };
        let foreign = remove_marks(&reading.headers);
        let verdict = classify::classify(&Answer {
            status: reading.status,
            headers: &reading.headers,
            body: &reading.body,
            provider: call.policy().map_or("auto", |p| p.provider().name()),
        });
        let Some(class) = verdict.refusal else {
            call.forget_refusal();
            if body == Body::Whole {
                self.give_back(host, now, call, stream);
            }
            return Next::Pass(foreign);
        };
        self.give_back(host, now, call, stream);
        self.stats.count(&call.policy_name, Count::Refusal(class));
        let refused = Refused {
            stream,
            request_complete: reading.request_complete,
            is_over_cap: body == Body::OverCap,
            deadline,
            refusal: Refusal {
                class,
                verdict,
                status: reading.status,
                headers: reading.headers,
                attempt: number,
            },
        };
        match self.plan(host, now, call, refused) {
            Next::Pass(mut edits) => {
                edits.extend(foreign);
                Next::Pass(edits)
            }
            Next::Pause => Next::Pause,
        }
    }

    /// Holds a refused call or passes its refusal on.
    fn plan(&mut self, host: &impl Host, now: Time, call: &mut Call, refused: Refused) -> Next {
        let Refused {
            stream,
            request_complete,
            is_over_cap,
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
        let delay = call.backoff.draw(
            refusal.class,
            window.base(),
            window.cap(),
            refusal.verdict.server_min,
            [host.random(), host.random()],
        );
        let plan = decide(&Situation {
            verdict: refusal.verdict,
            attempts_made: call.attempts_made,
            max_attempts,
            request_complete,
            body_over_cap: is_over_cap,
            now,
            deadline: Some(deadline),
            retry_after_cap,
            delay: delay.wait,
        });
        let of = max_attempts.of(refusal.class);
        match plan {
            Plan::GiveUp { why } => {
                match why {
                    GiveUp::RequestIncomplete => self.avoid(host, now, Avoided::RequestIncomplete),
                    GiveUp::BodyOverCap => self.avoid(host, now, Avoided::BodyOverCap),
                    _ => {}
                }
                let spent = matches!(why, GiveUp::Deadline | GiveUp::AttemptsSpent);
                Next::Pass(self.pass_on(host, now, call, &refusal, spent, of))
            }
            Plan::Hold { not_before, delay } => {
                let is_taken = matches!(call.stage, Stage::Held(_));
                let has_room = !is_taken
                    && call
                        .place
                        .is_none_or(|place| self.gates.hold(host, now, place));
                if !has_room {
                    self.avoid(
                        host,
                        now,
                        if is_taken {
                            Avoided::HoldTaken
                        } else {
                            Avoided::HoldsFull
                        },
                    );
                    return Next::Pass(self.pass_on(host, now, call, &refusal, false, of));
                }
                measure(host, &call.policy_name, Measure::Delay, delay);
                self.write_line(host, now, call, &refusal, of, Some(delay));
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
        if let Some(place) = call.place {
            self.gates.line_mut(place).wait(call.key, id, Kind::Ready);
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
        let class = hold.refusal.class;
        let of = call
            .policy()
            .map_or(1, |policy| max_attempts(policy).of(class));
        let budget_spent = hold.deadline <= now;
        let edits = self.pass_on(host, now, call, &hold.refusal, budget_spent, of);
        Some(Action::Answer {
            attempt: hold.attempt,
            edits,
        })
    }

    fn release_hold(&mut self, host: &impl Host, now: Time, call: &mut Call, why: Avoided) -> Next {
        self.avoid(host, now, why);
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

    /// What is changed in a refusal that goes on to the client: the router must neither retry it nor
    /// count it as a failure of the host (laws L11, L13). The gate half changes it back; without
    /// one, nothing is changed.
    fn pass_on(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        refusal: &Refusal,
        budget_spent: bool,
        of: u32,
    ) -> Vec<Edit> {
        self.stats
            .count(&call.policy_name, Count::GaveUp(refusal.class));
        self.write_line(host, now, call, refusal, of, None);
        call.passed = Some(passed(refusal, budget_spent));
        if call.gate.is_none() {
            return Vec::new();
        }
        let mut edits = Vec::new();
        call.undo = Undo::default();
        hide_status(refusal.status, &mut edits, &mut call.undo);
        if !has(&refusal.headers, RATELIMITED) {
            call.undo.added.push(RATELIMITED);
        }
        edits.push(Edit::Set(RATELIMITED.into(), b"true".to_vec()));
        edits
    }

    fn write_line(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &Call,
        refusal: &Refusal,
        of: u32,
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
            attempt: refusal.attempt,
            of,
            server_min: refusal.verdict.server_min,
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

/// What keeps a route's own policy from retrying an answer.
const RATELIMITED: &str = "x-envoy-ratelimited";

/// What is changed in a refusal that is to be retried: the mark, and nothing that would make the
/// router wait, refuse, or blame the host.
pub(super) fn retry_edits(refusal: &Refusal) -> (Vec<Edit>, Undo) {
    let mut edits = vec![Edit::Set(MARKER.into(), b"1".to_vec())];
    let mut undo = Undo::default();
    hide_status(refusal.status, &mut edits, &mut undo);
    for (name, value) in &refusal.headers {
        let delays = name == b"retry-after"
            || name == RATELIMITED.as_bytes()
            || (contains(name, b"ratelimit") || contains(name, b"rate-limit"))
                && contains(name, b"reset");
        if delays && let Ok(text) = std::str::from_utf8(name) {
            edits.push(Edit::Remove(text.to_owned().into()));
            undo.removed.push((name.clone(), value.clone()));
        }
    }
    (edits, undo)
}

/// What the client's answer says of a refusal.
pub(super) fn passed(refusal: &Refusal, budget_spent: bool) -> Passed {
    Passed {
        class: refusal.class,
        known_wait: refusal.verdict.server_min,
        budget_spent,
    }
}

/// Outlier detection counts every 5xx; a refusal is no failure of the host.
fn hide_status(status: u16, edits: &mut Vec<Edit>, undo: &mut Undo) {
    if status >= 500 {
        edits.push(Edit::Set(":status".into(), b"429".to_vec()));
        undo.status = Some(status);
    }
}

fn has(headers: &Headers, name: &str) -> bool {
    headers.iter().any(|(n, _)| n == name.as_bytes())
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}
