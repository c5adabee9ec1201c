//! An answer that may be a refusal is read, and classified.

use std::time::Duration;

use super::attempt::Next;
use super::hold::Refused;
use super::state::{Call, Reading, Refusal};
use super::{StreamId, Worker};
use crate::core::answer::remove_marks;
use crate::core::classify::{Answer, Class, Provider, Verdict, classify};
use crate::core::config::Policy;
use crate::core::report::Avoided;
use crate::core::report::stats::Count;
use crate::core::time::Time;
use crate::port::Host;

/// How much of a refusal's body is read.
pub const BODY_CAP: usize = 16 * 1024;

/// How long a refusal's body is waited for.
pub(super) const READ_FOR: Duration = Duration::from_secs(1);

/// How a refusal's body came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// To its end.
    Whole,
    /// It is larger than [`BODY_CAP`].
    OverCap,
    /// Its end did not come in time.
    WithoutEnd,
    /// Nothing of it came in time. Envoy may be keeping it back until the headers go on, and would
    /// then call an attempt that a retry has ended: the SDK panics.
    Unseen,
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

impl Worker {
    /// More of an answer's body has come.
    pub fn read_answer(
        &mut self,
        host: &impl Host,
        now: Time,
        stream: StreamId,
        part: Part<impl FnOnce(usize, usize) -> Vec<u8>>,
    ) -> Next {
        if !part.is_end && !self.reads(stream) {
            return Next::UNCHANGED;
        }
        let Some((id, mut call)) = self.lift_by_stream(stream) else {
            return Next::UNCHANGED;
        };
        let next = self.read_on(host, now, &mut call, stream, part);
        self.keep(id, call);
        next
    }

    /// Whether more of the body of an attempt's answer matters before its end. The usual case is that it
    /// does not: a success streams by.
    pub fn reads(&self, stream: StreamId) -> bool {
        let call = self.streams.get(&stream).and_then(|id| self.calls.get(id));
        call.is_some_and(|call| call.is_reading(stream))
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
        let is_shadow = call.is_shadow();
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
            self.find_blindness(host, now, call, stream);
            if is_end {
                self.give_back(host, now, call, stream);
            }
            return Next::UNCHANGED;
        };
        let is_look = reading.look.is_some();
        let have = reading.body.len();
        // A shadow keeps nothing back: each part begins anew.
        let from = if is_shadow { 0 } else { have };
        let size = if is_shadow { have + size } else { size };
        let more = size.min(BODY_CAP).saturating_sub(have);
        if more > 0 {
            reading.body.extend(read(from, more));
        }
        self.see(call);
        if is_look {
            return self.look_on(host, now, call, stream, size, is_end);
        }
        match (size > BODY_CAP, is_end) {
            (false, false) if is_shadow => Next::UNCHANGED,
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
        let policy = call.config.policies().get(call.policy);
        let Some(attempt) = call.attempts.get(&stream) else {
            return Next::UNCHANGED;
        };
        let Some(reading) = &attempt.reading else {
            return Next::UNCHANGED;
        };
        let name = attempt.host.as_deref();
        let verdict = classify(&Answer {
            is_whole: body == Body::Whole,
            ..answer_of(reading, policy, name, host.wall_ms())
        });
        self.settle(host, now, call, stream, body, verdict)
    }

    /// What an answer says is known.
    pub(super) fn settle(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        body: Body,
        verdict: Verdict,
    ) -> Next {
        let Some(attempt) = call.attempts.get_mut(&stream) else {
            return Next::UNCHANGED;
        };
        let deadline = call.deadline.min(attempt.deadline);
        let number = attempt.number;
        let Some(reading) = attempt.reading.take() else {
            return Next::UNCHANGED;
        };
        let Some(class) = verdict.refused() else {
            call.forget_refusal();
            self.tell_accepted(host, now, call, stream, body == Body::Whole);
            if body == Body::Whole {
                self.give_back(host, now, call, stream);
            }
            if call.is_shadow() {
                return Next::UNCHANGED;
            }
            return Next::Pass(remove_marks(&reading.headers));
        };
        self.tell_refused(host, now, call, stream, &verdict);
        self.give_back(host, now, call, stream);
        self.stats.count(&call.policy_name, Count::Refusal(class));
        let maps = call.policy().is_some_and(|p| p.classify().map_200());
        let refused = Refused {
            stream,
            request_complete: reading.request_complete,
            body,
            deadline,
            refusal: Refusal {
                class,
                verdict: Box::new(verdict),
                status: reading.status,
                client_status: match maps && reading.look.is_some() {
                    true => mapped(class),
                    false => reading.status,
                },
                headers: reading.headers,
                attempt: number,
            },
        };
        self.plan(host, now, call, refused)
    }
}

/// What is known of an answer, to be classified.
pub(super) fn answer_of<'a>(
    reading: &'a Reading,
    policy: Option<&'a Policy>,
    host: Option<&'a [u8]>,
    now_ms: u64,
) -> Answer<'a> {
    Answer {
        headers: &reading.headers,
        body: &reading.body,
        provider: policy.map_or(Provider::AUTO, Policy::provider),
        host,
        now_ms,
        rules: policy.map_or(&[], |policy| policy.classify().rules()),
        ..Answer::of_status(reading.status)
    }
}

/// The status of a refusal that came under a 200.
fn mapped(class: Class) -> u16 {
    match class {
        Class::Overloaded => 503,
        _ => 429,
    }
}
