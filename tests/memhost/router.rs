//! What Envoy's router does: attempts go out, answers come back, some are tried again.

use std::time::Duration;

use weir::core::answer::Edit;
use weir::core::call::arrive::Request;
use weir::core::call::attempt::{AnswerHead, Begin, Next};
use weir::core::call::{Headers, StreamId};
use weir::core::time::Time;

use super::call::{Attempt, Reply, edit, header, status};
use super::sim::Sim;
use super::vm::Vm;

/// What the route and its cluster allow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    /// From the first attempt to the end of the answer.
    pub(crate) timeout: Option<Duration>,
    /// From a marked answer to the next attempt.
    pub(crate) back_off: Duration,
    /// The cluster takes no more retries.
    pub(crate) is_broken: bool,
    /// Retries of a route that has a policy of its own for the mark.
    pub(crate) own_retries: u32,
}

impl Sim {
    /// An attempt goes out.
    pub(crate) fn begin_attempt(&mut self, id: usize) -> StreamId {
        let stream = self.take_stream(id);
        let left = self.route.timeout.map(|timeout| {
            let first = self.calls[id].began.first().copied();
            (first.unwrap_or(self.now) + timeout).since(self.now)
        });
        let call = &mut self.calls[id];
        let number = call.began.len() as u32 + 1;
        call.began.push(self.now);
        self.unplanned |= !std::mem::take(&mut call.has_grant);
        if self.has_attempt {
            let seat = &mut self.seats[call.worker];
            let begin = Begin {
                number,
                reference: call.reference.as_ref().map(<[u8; 16]>::as_slice),
                route_timeout: left,
                request_complete: call.request_complete,
            };
            let request = Request {
                cluster: call.cluster.as_bytes(),
                connection: call.connection,
                headers: &call.headers,
            };
            let left = seat.begin_attempt(self.now, stream, begin, &request, &call.config);
            call.reference = left.or(call.reference);
            let edits = seat.attempt_edits(self.now, stream, &call.headers);
            edit(&mut call.headers, &edits);
        }
        let attempt = Attempt {
            number,
            has_slot: true,
            ..Attempt::default()
        };
        call.attempts.insert(stream, attempt);
        stream
    }

    /// Envoy starts another attempt on its own: a hedge, or a retry of the route's.
    pub(crate) fn hedge(&mut self, id: usize) -> StreamId {
        let stream = self.begin_attempt(id);
        self.settle();
        stream
    }

    /// The per-try timeout ends the latest attempt, and the route's policy starts another.
    pub(crate) fn try_again(&mut self, id: usize) {
        let stream = self.latest(id);
        self.end_attempt(id, stream);
        self.begin_attempt(id);
        self.settle();
    }

    /// The client's last byte goes out.
    pub(crate) fn complete_request(&mut self, id: usize) {
        self.calls[id].request_complete = true;
        let streams: Vec<_> = self.calls[id].attempts.keys().copied().collect();
        for stream in streams {
            let seat = &mut self.seats[self.calls[id].worker];
            seat.complete_request(self.now, stream);
        }
    }

    /// Envoy answers in the provider's place: a timeout, a full breaker, no host.
    pub(crate) fn local_reply(&mut self, id: usize, code: u16) {
        let streams: Vec<_> = self.calls[id].attempts.keys().copied().collect();
        for stream in streams {
            self.end_attempt(id, stream);
        }
        self.calls[id].is_paused = false;
        let headers = vec![(b":status".to_vec(), code.to_string().into_bytes())];
        self.deliver_head(id, code, headers, false);
        self.finish(id);
        self.settle();
    }

    /// The latest attempt of a call.
    pub(crate) fn latest(&self, id: usize) -> StreamId {
        let attempts = self.calls[id].attempts.iter();
        let latest = attempts.max_by_key(|(_, attempt)| attempt.number);
        *latest.expect("an attempt").0
    }

    /// The provider answers the latest attempt of a call, all at once.
    pub(crate) fn answer(&mut self, id: usize, reply: Reply) {
        self.answer_on(id, self.latest(id), reply);
    }

    pub(crate) fn answer_on(&mut self, id: usize, stream: StreamId, reply: Reply) {
        self.head_on(id, stream, &reply, reply.body.is_empty());
        if !reply.body.is_empty() {
            self.part_on(id, stream, reply.body.as_bytes(), true);
        }
    }

    /// The head of an answer, and no end.
    pub(crate) fn head(&mut self, id: usize, reply: Reply) {
        self.head_on(id, self.latest(id), &reply, false);
    }

    pub(crate) fn head_on(&mut self, id: usize, stream: StreamId, reply: &Reply, is_whole: bool) {
        let mut headers: Headers = vec![(
            b":status".to_vec(),
            reply.status.to_string().as_bytes().to_vec(),
        )];
        for (name, value) in &reply.headers {
            headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
        let call = &mut self.calls[id];
        let attempt = call.attempts.get_mut(&stream).expect("the attempt");
        assert!(attempt.head.is_none(), "one head an answer");
        attempt.head = Some((reply.status, headers.clone()));
        attempt.head_at = self.now;
        attempt.is_whole = is_whole;
        if matches!(reply.status, 429 | 503 | 529) || is_whole {
            attempt.has_slot = false;
        }
        let next = if self.has_attempt {
            let head = AnswerHead {
                status: reply.status,
                headers,
                is_whole,
            };
            let seat = &mut self.seats[call.worker];
            seat.begin_answer(self.now, stream, head)
        } else {
            Next::UNCHANGED
        };
        match next {
            Next::Pause => attempt.is_paused = true,
            Next::Pass(edits) => self.route_answer(id, stream, &edits),
        }
        self.settle();
    }

    /// More of the latest attempt's answer.
    pub(crate) fn part(&mut self, id: usize, bytes: &[u8], is_end: bool) {
        self.part_on(id, self.latest(id), bytes, is_end);
    }

    /// The latest attempt's answer ends with trailers.
    pub(crate) fn trailers(&mut self, id: usize) {
        self.part_on(id, self.latest(id), b"", true);
    }

    pub(crate) fn part_on(&mut self, id: usize, stream: StreamId, bytes: &[u8], is_end: bool) {
        let call = &mut self.calls[id];
        let Some(attempt) = call.attempts.get_mut(&stream) else {
            return;
        };
        attempt.is_whole |= is_end;
        attempt.has_slot &= !is_end;
        if attempt.is_paused {
            attempt.kept.extend_from_slice(bytes);
        } else {
            attempt.kept = bytes.to_vec();
        }
        if self.has_attempt {
            let seat = &mut self.seats[call.worker];
            let next = seat.read_answer(self.now, stream, &attempt.kept, is_end);
            match next {
                Next::Pause => {
                    assert!(attempt.is_paused, "a passed answer is paused at its body");
                }
                Next::Pass(edits) if attempt.is_paused => {
                    attempt.is_paused = false;
                    self.route_answer(id, stream, &edits);
                    return self.settle();
                }
                Next::Pass(edits) => assert!(edits.is_empty(), "the head has gone: {edits:?}"),
            }
        }
        let is_forwarded = attempt.is_forwarded;
        if is_forwarded {
            let bytes = std::mem::take(&mut attempt.kept);
            let received = call.received.as_mut().expect("a head");
            received.body.extend(bytes);
        }
        if is_forwarded && is_end {
            self.finish(id);
        }
        self.settle();
    }

    /// The router sees an answer's head.
    pub(crate) fn route_answer(&mut self, id: usize, stream: StreamId, edits: &[Edit]) {
        let call = &mut self.calls[id];
        let attempt = call.attempts.get_mut(&stream).expect("the attempt");
        let (_, mut headers) = attempt.head.clone().expect("a head");
        edit(&mut headers, edits);
        let code = status(&headers);
        self.routed.push((id, code, headers.clone()));
        let is_refused = header(&headers, "x-envoy-ratelimited").is_some();
        if is_refused {
            attempt.has_slot = false;
        }
        let is_marked = header(&headers, "x-weir-retry").is_some() && !is_refused;
        if is_marked {
            // Only a grant of Weir's sets the mark.
            call.has_grant = true;
            let wait = self.now.since(attempt.head_at);
            self.holds.push((id, wait));
        }
        if is_marked && call.retries < self.retries_of(id) && !self.route.is_broken {
            let call = &mut self.calls[id];
            call.retries += 1;
            call.retry_at = Some(self.now + self.route.back_off);
            self.end_attempt(id, stream);
            return;
        }
        self.forward(id, stream, code, headers);
    }

    fn retries_of(&self, id: usize) -> u32 {
        let headers = &self.calls[id].headers;
        let knows_mark = header(headers, "x-envoy-retriable-header-names")
            .is_some_and(|names| names.split(',').any(|name| name == "x-weir-retry"))
            && header(headers, "x-envoy-retry-on")
                .is_some_and(|on| on.split(',').any(|on| on == "retriable-headers"));
        match header(headers, "x-envoy-max-retries") {
            Some(most) if knows_mark => most.parse().expect("a number"),
            _ => self.route.own_retries,
        }
    }

    /// An answer goes to the client: other attempts are of no use any more.
    fn forward(&mut self, id: usize, stream: StreamId, code: u16, headers: Headers) {
        let others: Vec<_> = self.calls[id].attempts.keys().copied().collect();
        for other in others.into_iter().filter(|other| *other != stream) {
            self.end_attempt(id, other);
        }
        self.deliver_head(id, code, headers, true);
        let call = &mut self.calls[id];
        let attempt = call.attempts.get_mut(&stream).expect("the attempt");
        attempt.is_forwarded = true;
        let received = call.received.as_mut().expect("a head");
        received.body.extend(std::mem::take(&mut attempt.kept));
        if attempt.is_whole {
            self.finish(id);
        }
    }

    pub(crate) fn end_attempt(&mut self, id: usize, stream: StreamId) {
        if self.has_attempt {
            let seat = &mut self.seats[self.calls[id].worker];
            seat.end_attempt(self.now, stream);
        }
        self.calls[id].attempts.remove(&stream);
        self.streams.remove(&stream);
    }

    /// When an attempt of a call began, in milliseconds since its arrival.
    pub(crate) fn began(&self, id: usize) -> Vec<u64> {
        let call = &self.calls[id];
        let since = |at: &Time| at.since(call.arrived).as_millis() as u64;
        call.began.iter().map(since).collect()
    }
}
