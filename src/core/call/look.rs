//! A success of a provider that is known to refuse in its body: the headers are kept back until the
//! body has said whether it does.
//!
//! The look ends with the first event that says anything, with the end of a small body, at
//! [`BODY_CAP`], or [`LOOK_FOR`] after the first byte. Then all that was kept back goes on, and
//! nothing later is read.

use std::rc::Rc;
use std::time::Duration;

use super::attempt::{Next, content_length, first};
use super::read::{BODY_CAP, Body, READ_FOR, answer_of};
use super::state::{Attempt, Call, Reading};
use super::{Action, Headers, StreamId, Worker};
use crate::core::answer::remove_marks;
use crate::core::classify::{self, Answer, Verdict, judge_event, looks_into_success, next_event};
use crate::core::config::Policy;
use crate::core::report::Avoided;
use crate::core::time::Time;
use crate::port::Host;

/// How long a body is looked at after its first byte.
const LOOK_FOR: Duration = Duration::from_millis(500);

/// How long the first byte is waited for where bodies are known to be seen.
const FIRST_BYTE: Duration = Duration::from_secs(60);

/// A body that comes so soon after the headers went on was there before, and was not shown.
const AT_ONCE: Duration = Duration::from_millis(50);

/// How long nothing is looked at after that.
const BLIND_FOR: Duration = Duration::from_secs(60);

/// How far a success has been looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    is_stream: bool,
    has_begun: bool,
    /// Bytes of events that said nothing.
    judged: usize,
}

/// What is known of whether Envoy shows bodies while headers are kept back. Where it does not
/// (`allow_on_headers_stop_iteration`), a body would be waited for in vain.
#[derive(Debug, Default)]
pub(super) struct Sights(Vec<(Rc<str>, Sight)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Unknown,
    Clear,
    Blind { until: Time },
}

impl Sights {
    fn of(&self, policy: &str) -> Sight {
        let found = self.0.iter().find(|(name, _)| **name == *policy);
        found.map_or(Sight::Unknown, |(_, sight)| *sight)
    }

    /// Few policies: as many as the configurations that this VM has seen name.
    fn set(&mut self, policy: &Rc<str>, sight: Sight) {
        match self.0.iter_mut().find(|(name, _)| name == policy) {
            Some((_, known)) => *known = sight,
            None => self.0.push((Rc::clone(policy), sight)),
        }
    }
}

impl Worker {
    /// Whether an answer's headers are kept back for a look at its body.
    pub(super) fn begin_look(
        &self,
        now: Time,
        call: &Call,
        attempt: &Attempt,
        status: u16,
        headers: &Headers,
    ) -> Option<(Look, Time)> {
        let policy = call.policy()?;
        let may_hold = looks_into_success(policy.provider(), attempt.host.as_deref())
            || classify::may_refuse(status, policy.classify().rules());
        // A hold needs a complete request; without one there is nothing to be gained.
        if !may_hold || !attempt.request_complete {
            return None;
        }
        let is_stream = is_readable(headers)?;
        let wait = match self.sights.of(&call.policy_name) {
            Sight::Clear => FIRST_BYTE,
            Sight::Blind { until } if now < until => return None,
            Sight::Blind { .. } | Sight::Unknown => READ_FOR,
        };
        let look = Look {
            is_stream,
            has_begun: false,
            judged: 0,
        };
        Some((look, now + wait))
    }

    /// A body that is kept back has been seen.
    pub(super) fn see(&mut self, call: &Call) {
        if call.is_shadow() {
            return;
        }
        self.sights.set(&call.policy_name, Sight::Clear);
    }

    /// More of a body that is looked at has come; `size` bytes in all.
    pub(super) fn look_on(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        size: usize,
        is_end: bool,
    ) -> Next {
        let is_shadow = call.is_shadow();
        let policy = call.config.policies().get(call.policy);
        let Some(attempt) = call.attempts.get_mut(&stream) else {
            return Next::UNCHANGED;
        };
        let name = attempt.host.as_deref();
        let Some(reading) = &mut attempt.reading else {
            return Next::UNCHANGED;
        };
        let body = match (is_end, size > BODY_CAP) {
            (_, true) => Body::OverCap,
            (true, false) => Body::Whole,
            (false, false) => Body::WithoutEnd,
        };
        match judge(reading, policy, name, host.wall_ms(), body) {
            Judged::More if body == Body::WithoutEnd => {
                begin(reading, now);
                match is_shadow {
                    true => Next::UNCHANGED,
                    false => Next::Pause,
                }
            }
            Judged::Error(verdict) => self.settle(host, now, call, stream, body, verdict),
            Judged::More | Judged::Innocent => self.end_look(host, now, call, stream, is_end),
        }
    }

    /// The look takes too long: what was kept back goes on.
    pub(super) fn stop_look(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
    ) -> Option<Action> {
        let is_shadow = call.is_shadow();
        let attempt = call.attempts.get_mut(&stream)?;
        let reading = attempt.reading.as_ref()?;
        if reading.body.is_empty() && !is_shadow {
            attempt.unseen = Some(now);
            self.sights.set(&call.policy_name, Sight::Unknown);
        }
        match self.end_look(host, now, call, stream, false) {
            Next::Pass(_) if is_shadow => None,
            Next::Pass(edits) => Some(Action::Answer {
                attempt: stream,
                edits,
            }),
            Next::Pause => None,
        }
    }

    fn end_look(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        is_end: bool,
    ) -> Next {
        call.forget_refusal();
        self.tell_accepted(host, now, call, stream, is_end);
        if is_end {
            self.give_back(host, now, call, stream);
        }
        let is_shadow = call.is_shadow();
        let attempt = call.attempts.get_mut(&stream);
        match attempt.and_then(|attempt| attempt.reading.take()) {
            Some(reading) if !is_shadow => Next::Pass(remove_marks(&reading.headers)),
            _ => Next::UNCHANGED,
        }
    }

    /// The body of an answer that went on unseen: one that comes at once had been held back.
    pub(super) fn find_blindness(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
    ) {
        let attempt = call.attempts.get_mut(&stream);
        let Some(at) = attempt.and_then(|attempt| attempt.unseen.take()) else {
            return;
        };
        if now.since(at) < AT_ONCE {
            let until = now + BLIND_FOR;
            self.sights.set(&call.policy_name, Sight::Blind { until });
            self.avoid(host, now, &call.policy_name, Avoided::NoStopIteration);
        }
    }
}

/// The clock of a look starts at its first byte.
fn begin(reading: &mut Reading, now: Time) {
    if let Some(look) = &mut reading.look
        && !reading.body.is_empty()
        && !std::mem::replace(&mut look.has_begun, true)
    {
        reading.until = now + LOOK_FOR;
    }
}

enum Judged {
    /// Nothing yet.
    More,
    Innocent,
    Error(Verdict),
}

/// Judges what has come and has not been judged. Only what is complete is: events of a stream, and
/// a body at its end.
fn judge(
    reading: &mut Reading,
    policy: Option<&Policy>,
    host: Option<&[u8]>,
    now_ms: u64,
    body: Body,
) -> Judged {
    let Some(look) = reading.look else {
        return Judged::Innocent;
    };
    let mut judged = look.judged;
    let result = loop {
        let rest = reading.body.get(judged..).unwrap_or_default();
        let event = match next_event(rest) {
            Some((event, _)) if look.is_stream => event,
            _ if body == Body::Whole && !rest.is_empty() => rest,
            _ => break Judged::More,
        };
        let answer = Answer {
            body: event,
            is_whole: true,
            ..answer_of(reading, policy, host, now_ms)
        };
        match judge_event(&answer) {
            classify::Look::Prelude => judged += event.len(),
            classify::Look::Innocent => break Judged::Innocent,
            classify::Look::Error(verdict) if verdict.refusal => break Judged::Error(verdict),
            // A failure that no waiting heals is the client's to read.
            classify::Look::Error(_) => break Judged::Innocent,
        }
    };
    reading.look = Some(Look { judged, ..look });
    result
}

/// Whether a body can be judged, and if so whether it is a stream of events. One that is packed is
/// not unpacked for this, and one that is large is no refusal.
fn is_readable(headers: &Headers) -> Option<bool> {
    let encoding = first(headers, "content-encoding").unwrap_or_default();
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity") {
        return None;
    }
    let media = first(headers, "content-type")?;
    let end = media.iter().position(|byte| *byte == b';');
    let media = media.get(..end.unwrap_or(media.len()))?.trim_ascii();
    let is = |name: &str| media.eq_ignore_ascii_case(name.as_bytes());
    if is("text/event-stream") {
        return Some(true);
    }
    let is_small = content_length(headers) <= BODY_CAP as u64;
    (is("application/json") && is_small).then_some(false)
}
