//! An attempt: the request goes out, the provider's answer begins.

use std::rc::Rc;
use std::time::Duration;

use super::arrive::Request;
use super::read::{BODY_CAP, Body, READ_FOR};
use super::shadow::Phantom;
use super::state::{Attempt, Call, Reading};
use super::{Headers, StreamId, Worker};
use crate::core::answer::{Edit, remove_marks};
use crate::core::classify::{is_refusal_status, may_refuse};
use crate::core::config::{Config, Mode};
use crate::core::report::Avoided;
use crate::core::report::stats::Count;
use crate::core::time::Time;
use crate::port::Host;

/// What a hold leaves of the route's timeout for the retry to start in.
const ROUTE_MARGIN: Duration = Duration::from_millis(50);

/// What the attempt half does with its own stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Let it go on, with these changes to the answer's headers.
    Pass(Vec<Edit>),
    /// Keep it back; an [`super::Action`] may end that.
    Pause,
}

impl Next {
    /// Let it go on as it is.
    pub const UNCHANGED: Next = Next::Pass(Vec::new());
}

/// How an attempt begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// What the gate half left in filter state.
    pub reference: Option<&'a [u8]>,
    /// What is left of the route's timeout.
    pub route_timeout: Option<Duration>,
    /// The headers are the whole request.
    pub request_complete: bool,
}

/// How an answer begins.
#[derive(Debug)]
pub struct AnswerHead {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Headers,
    /// Nothing follows.
    pub is_whole: bool,
}

impl Worker {
    /// An attempt goes out. Returns a reference to leave in filter state if there is none yet;
    /// without a call it falls under no policy.
    pub fn begin_attempt(
        &mut self,
        host: &impl Host,
        now: Time,
        stream: StreamId,
        begin: Begin<'_>,
        request: &Request<'_>,
        config: &Rc<Config>,
    ) -> Option<[u8; 16]> {
        let referenced = begin.reference.and_then(|bytes| self.referenced(bytes));
        let (id, mut call, is_new) = match referenced.and_then(|id| Some((id, self.lift(id)?))) {
            Some((id, call)) => (id, call, false),
            None => {
                let (id, mut call) = self.admit(host, now, request, config)?;
                call.started = Some(now);
                if call.policy().is_some_and(|p| p.mode() == Mode::Shadow) {
                    call.phantom = Some(Phantom::Same);
                }
                self.avoid(host, now, &call.policy_name, Avoided::NoGateHalf);
                if let Some(place) = call.place {
                    self.gates.line_mut(place).come_unannounced();
                }
                (id, call, true)
            }
        };
        let has_slot = call.place.is_some() && call.has_own_slots();
        let mut epoch = call.epoch;
        if std::mem::take(&mut call.has_grant) {
            // The grant is committed: its slot is this attempt's.
        } else if !has_slot && call.attempts_made == 0 {
            // Its phantom waits, or would not be there.
        } else {
            self.stats.count(&call.policy_name, Count::Unplanned);
            if let Some(place) = call.place
                && has_slot
            {
                epoch = self.epoch_of_unplanned(place);
                self.gates.line_mut(place).run_unplanned(epoch);
                self.gates.report(host, now, place);
            }
        }
        call.attempts_made = call.attempts_made.max(begin.number);
        call.forget_refusal();
        call.orphaned = None;
        call.has_succeeded = false;
        call.hold_broken = false;
        let left = begin
            .route_timeout
            .map(|left| left.saturating_sub(ROUTE_MARGIN));
        let deadline = left.map_or(Time::NEVER, |left| now + left);
        call.route_ends.get_or_insert(deadline);
        call.attempts.insert(
            stream,
            Attempt {
                number: begin.number,
                host: request.header(":authority").map(<[u8]>::to_vec),
                began: now,
                has_slot,
                epoch,
                counted: self.counted(call.place),
                is_undecided: has_slot,
                told: None,
                request_complete: begin.request_complete,
                deadline,
                reading: None,
                unseen: None,
            },
        );
        self.streams.insert(stream, id);
        self.keep(id, call);
        is_new.then(|| self.reference(id))
    }

    /// The attempt's request went out to its end.
    pub fn complete_request(&mut self, stream: StreamId) {
        let call = self
            .streams
            .get(&stream)
            .and_then(|id| self.calls.get_mut(id));
        if let Some(attempt) = call.and_then(|call| call.attempts.get_mut(&stream)) {
            attempt.request_complete = true;
        }
    }

    /// The provider's answer begins.
    pub fn begin_answer(
        &mut self,
        host: &impl Host,
        now: Time,
        stream: StreamId,
        head: AnswerHead,
    ) -> Next {
        let Some((id, mut call)) = self.lift_by_stream(stream) else {
            return Next::UNCHANGED;
        };
        let next = self.weigh(host, now, stream, &mut call, head);
        self.keep(id, call);
        next
    }

    fn weigh(
        &mut self,
        host: &impl Host,
        now: Time,
        stream: StreamId,
        call: &mut Call,
        head: AnswerHead,
    ) -> Next {
        let AnswerHead {
            status,
            headers,
            is_whole,
        } = head;
        // A mark that is not ours would make the router retry.
        let is_shadow = call.is_shadow();
        let foreign = match is_shadow {
            true => Vec::new(),
            false => remove_marks(&headers),
        };
        if (200..300).contains(&status) {
            self.tell_headroom(host, now, call, stream, &headers);
        }
        if (200..300).contains(&status) && !is_whole {
            let attempt = call.attempts.get(&stream);
            let look = attempt.and_then(|a| self.begin_look(now, call, a, status, &headers));
            if let (Some((look, until)), Some(attempt)) = (look, call.attempts.get_mut(&stream)) {
                attempt.reading = Some(Reading {
                    status,
                    headers,
                    body: Vec::new(),
                    request_complete: true,
                    until,
                    look: Some(look),
                });
                return match is_shadow {
                    true => Next::UNCHANGED,
                    false => Next::Pause,
                };
            }
        }
        let rules = call.policy().map_or(&[][..], |p| p.classify().rules());
        if status < 300 || !may_refuse(status, rules) {
            // It goes to the client, whatever a hedged attempt beside it was told.
            call.forget_refusal();
            call.has_succeeded = (200..300).contains(&status);
            self.tell_accepted(host, now, call, stream, is_whole);
            if is_whole {
                self.give_back(host, now, call, stream);
            }
            return Next::Pass(foreign);
        }
        let Some(attempt) = call.attempts.get_mut(&stream) else {
            return Next::Pass(foreign);
        };
        let length = content_length(&headers);
        attempt.reading = Some(Reading {
            status,
            headers,
            body: Vec::new(),
            request_complete: attempt.request_complete,
            until: now + READ_FOR,
            look: None,
        });
        if is_refusal_status(status) && !is_whole {
            self.tell_headers(host, now, call, stream);
            // Refused calls take nothing of the provider any more, however long the body takes.
            self.give_back(host, now, call, stream);
        }
        let body = match is_whole {
            true => Body::Whole,
            // Not kept back: the host would put an error of its own in the place of what does not
            // fit its buffer.
            false if length > BODY_CAP as u64 => Body::OverCap,
            false if is_shadow => return Next::UNCHANGED,
            false => return Next::Pause,
        };
        self.conclude(host, now, call, stream, body)
    }

    /// The same as [`Worker::end_attempt`] for an attempt that has given back what it had, which needs no
    /// time. False if it has not.
    pub fn end_attempt_plainly(&mut self, stream: StreamId) -> bool {
        let Some(id) = self.streams.get(&stream) else {
            return true;
        };
        if let Some(call) = self.calls.get_mut(id) {
            let has_slot = |attempt: &Attempt| attempt.has_slot || attempt.reading.is_some();
            if call.gate.is_none()
                || call.is_held_by(stream)
                || call.attempts.get(&stream).is_some_and(has_slot)
            {
                return false;
            }
            call.attempts.remove(&stream);
            call.has_succeeded = false;
        }
        self.streams.remove(&stream);
        true
    }

    /// An attempt is over, however it ended.
    pub fn end_attempt(&mut self, host: &impl Host, now: Time, stream: StreamId) {
        let Some((id, mut call)) = self.lift_by_stream(stream) else {
            self.streams.remove(&stream);
            return;
        };
        self.streams.remove(&stream);
        if call.is_held_by(stream) {
            self.let_go(host, now, &mut call);
            call.hold_broken = true;
        }
        self.give_back(host, now, &mut call, stream);
        call.attempts.remove(&stream);
        call.has_succeeded = false;
        if call.gate.is_none() && call.attempts.is_empty() {
            // Nobody will tell whether another attempt follows.
            call.orphaned = Some(now + super::hold::ORPHANED);
        }
        self.keep(id, call);
    }

    /// An attempt's slot is free.
    pub(super) fn give_back(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
    ) {
        if let Some(attempt) = call.attempts.get_mut(&stream)
            && std::mem::take(&mut attempt.has_slot)
            && let Some(place) = call.place
        {
            let held_for = now.since(attempt.began);
            let line = self.gates.line_mut(place);
            line.finish(held_for);
            if std::mem::take(&mut attempt.is_undecided) {
                match attempt.told {
                    Some(_) => line.decide(attempt.epoch),
                    None => line.lose(attempt.epoch),
                }
            }
            self.gates.report(host, now, place);
        }
    }
}

/// The length an answer's headers announce; 0 if none.
pub(super) fn content_length(headers: &Headers) -> u64 {
    first(headers, "content-length")
        .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok())
        .unwrap_or(0)
}

/// The first value of a header.
pub(super) fn first<'a>(headers: &'a Headers, name: &str) -> Option<&'a [u8]> {
    let found = headers.iter().find(|(n, _)| n == name.as_bytes());
    found.map(|(_, value)| value.trim_ascii())
}
