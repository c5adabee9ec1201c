//! A stream: a call at the gate half, or an attempt at the attempt half.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

use super::host::Map;
use super::vm::Vm;
use crate::core::answer::Edit;
use crate::core::call::answer::Origin;
use crate::core::call::arrive::{Arrived, Marked, Request};
use crate::core::call::attempt::{AnswerHead, Begin, Next};
use crate::core::call::read::Part;
use crate::core::call::{Headers, StreamId};
use crate::core::config::Config;

/// Where the gate half leaves the call's reference for the attempt half.
const REFERENCE: &str = "weir.call";

pub(super) struct Stream {
    id: StreamId,
    vm: Rc<Vm>,
    config: Rc<Config>,
    pace: Rc<Cell<Duration>>,
    half: Half,
    /// How much of the answer's body the host keeps back.
    kept: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Unknown,
    Gate,
    Attempt,
}

impl Stream {
    pub(super) fn new(
        id: StreamId,
        vm: Rc<Vm>,
        config: Rc<Config>,
        pace: Rc<Cell<Duration>>,
    ) -> Stream {
        Stream {
            id,
            vm,
            config,
            pace,
            half: Half::Unknown,
            kept: 0,
        }
    }

    /// A call whose gate is shut may go elsewhere first.
    fn turn_or_arrive(&self, request: &Request<'_>) -> Action {
        let host = &self.vm.host;
        let turned = self.vm.ask(|worker, host, now| {
            match worker.turn_elsewhere(host, now, request, &self.config) {
                Some(turn) => Err(turn),
                None => Ok(worker.arrive(host, now, self.id, request, &self.config)),
            }
        });
        let turn = match turned {
            None => return Action::Continue,
            Some(Ok(arrived)) => return self.carry_out(arrived),
            Some(Err(turn)) => turn,
        };
        host.edit(Map::Request, &[turn.edit]);
        host.choose_route_again();
        let request = Request {
            cluster: &turn.cluster,
            headers: &host.headers(Map::Request),
            ..*request
        };
        let arrived = self
            .vm
            .ask(|worker, host, now| worker.arrive(host, now, self.id, &request, &self.config));
        arrived.map_or(Action::Continue, |arrived| self.carry_out(arrived))
    }

    fn carry_out(&self, arrived: Arrived) -> Action {
        let host = &self.vm.host;
        let mark = |marked: Marked| {
            host.edit(Map::Request, &marked.edits);
            host.leave(REFERENCE, &marked.reference);
        };
        match arrived {
            Arrived::Untouched => Action::Continue,
            Arrived::Start(marked) => {
                mark(marked);
                Action::Continue
            }
            Arrived::Wait(marked) => {
                mark(marked);
                Action::Pause
            }
            Arrived::Refuse(reply) => {
                host.reply(&reply);
                Action::Pause
            }
        }
    }

    fn begin_attempt(
        &self,
        request: &Request<'_>,
        reference: &[u8],
        number: u64,
        request_complete: bool,
    ) -> Action {
        let host = &self.vm.host;
        let begin = Begin {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            reference: Some(reference),
            route_timeout: request
                .header("x-envoy-expected-rq-timeout-ms")
                .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok())
                .map(Duration::from_millis),
            request_complete,
        };
        let begun = self.vm.ask(|worker, host, now| {
            let new = worker.begin_attempt(host, now, self.id, begin, request, &self.config);
            let edit = worker.ask_server_to_queue(now, self.id, request.headers);
            (new, edit)
        });
        let (new, edit) = begun.unwrap_or_default();
        if let Some(reference) = new {
            host.leave(REFERENCE, &reference);
        }
        if let Some(edit) = edit {
            host.edit(Map::Request, &[edit]);
        }
        Action::Continue
    }

    fn begin_answer(&self, is_whole: bool) -> Action {
        let headers = self.vm.host.headers(Map::Response);
        let head = AnswerHead {
            status: status_of(&headers),
            headers,
            is_whole,
        };
        let next = self
            .vm
            .ask(|worker, host, now| worker.begin_answer(host, now, self.id, head));
        self.follow(next)
    }

    fn reads(&self) -> bool {
        let reads = self.vm.ask_at_no_time(|worker| worker.reads(self.id));
        reads.unwrap_or(false)
    }

    fn read_answer(&self, size: usize, is_end: bool) -> Action {
        let next = self.vm.ask(|worker, host, now| {
            let read = |from, at_most| host.answer_body(from, at_most);
            let part = Part { size, is_end, read };
            worker.read_answer(host, now, self.id, part)
        });
        self.follow(next)
    }

    fn follow(&self, next: Option<Next>) -> Action {
        match next {
            Some(Next::Pause) => Action::Pause,
            Some(Next::Pass(edits)) => {
                self.edit_answer(&edits);
                Action::Continue
            }
            None => Action::Continue,
        }
    }

    fn answer(&self) {
        let envoy = &self.vm.host;
        let plain = self
            .vm
            .ask_at_no_time(|worker| worker.answer_plainly(self.id));
        if let Some(edits) = plain.flatten() {
            return self.edit_answer(&edits);
        }
        let headers = &envoy.headers(Map::Response);
        let status = status_of(headers);
        let details = envoy.property(&["response", "code_details"]);
        let origin = Origin {
            details: &details.unwrap_or_default(),
            flags: || envoy.number(&["response", "flags"]).unwrap_or_default(),
        };
        let edits = self
            .vm
            .ask(|worker, host, now| worker.answer(host, now, self.id, status, headers, origin));
        self.edit_answer(&edits.unwrap_or_default());
    }

    fn edit_answer(&self, edits: &[Edit]) {
        if !edits.is_empty() {
            self.vm.host.edit(Map::Response, edits);
        }
    }
}

impl Context for Stream {
    fn on_done(&mut self) -> bool {
        let is_over = self.vm.ask_at_no_time(|worker| match self.half {
            Half::Gate => worker.end_plainly(self.id),
            Half::Attempt => worker.end_attempt_plainly(self.id),
            Half::Unknown => true,
        });
        if is_over == Some(true) {
            return true;
        }
        self.vm.ask(|worker, host, now| match self.half {
            Half::Gate => worker.end(host, now, self.id),
            Half::Attempt => worker.end_attempt(host, now, self.id),
            Half::Unknown => {}
        });
        self.vm.keep_pace(&self.pace);
        true
    }
}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, end_of_stream: bool) -> Action {
        let host = &self.vm.host;
        let number = host
            .number(&["upstream", "request_attempt_count"])
            .unwrap_or(0);
        let headers = host.headers(Map::Request);
        // `make crash-wasm` builds this for a test. It is never part of the plugin.
        #[cfg(weir_test_crash)]
        if headers.iter().any(|(name, _)| name == b"x-weir-test-crash") {
            std::process::abort();
        }
        let reference = host.property(&[REFERENCE]).unwrap_or_default();
        let is_known = self.vm.knows(&reference);
        // Only for a call that is new is it asked where it goes and whence it comes.
        let (cluster, connection) = match is_known {
            true => (Vec::new(), 0),
            false => (
                host.property(&["xds", "cluster_name"]).unwrap_or_default(),
                host.number(&["connection", "id"]).unwrap_or(0),
            ),
        };
        let request = Request {
            cluster: &cluster,
            connection,
            headers: &headers,
        };
        let action = if number > 0 {
            self.half = Half::Attempt;
            self.begin_attempt(&request, &reference, number, end_of_stream)
        } else if is_known {
            // Weir twice in one chain: the call would wait for its own slot.
            Action::Continue
        } else {
            self.half = Half::Gate;
            self.turn_or_arrive(&request)
        };
        self.vm.keep_pace(&self.pace);
        action
    }

    fn on_http_request_body(&mut self, _: usize, end_of_stream: bool) -> Action {
        if self.half == Half::Attempt && end_of_stream {
            self.vm
                .ask_at_no_time(|worker| worker.complete_request(self.id));
        }
        Action::Continue
    }

    fn on_http_request_trailers(&mut self, _: usize) -> Action {
        if self.half == Half::Attempt {
            self.vm
                .ask_at_no_time(|worker| worker.complete_request(self.id));
        }
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _: usize, end_of_stream: bool) -> Action {
        let action = match self.half {
            Half::Attempt => self.begin_answer(end_of_stream),
            Half::Gate => {
                self.answer();
                if end_of_stream {
                    self.end_answer();
                }
                Action::Continue
            }
            Half::Unknown => Action::Continue,
        };
        self.vm.keep_pace(&self.pace);
        action
    }

    fn on_http_response_body(&mut self, size: usize, end_of_stream: bool) -> Action {
        self.kept = size;
        let action = match self.half {
            Half::Attempt if end_of_stream || self.reads() => self.read_answer(size, end_of_stream),
            Half::Gate | Half::Unknown if end_of_stream => {
                self.end_answer();
                Action::Continue
            }
            // It streams by.
            _ => return Action::Continue,
        };
        self.vm.keep_pace(&self.pace);
        action
    }

    fn on_http_response_trailers(&mut self, _: usize) -> Action {
        let action = match self.half {
            Half::Attempt => self.read_answer(self.kept, true),
            Half::Gate | Half::Unknown => {
                self.end_answer();
                Action::Continue
            }
        };
        self.vm.keep_pace(&self.pace);
        action
    }
}

impl Stream {
    fn end_answer(&self) {
        let waits = self
            .vm
            .ask_at_no_time(|worker| worker.waits_for_end(self.id));
        if self.half == Half::Gate && waits == Some(true) {
            self.vm
                .ask(|worker, host, now| worker.end_answer(host, now, self.id));
        }
    }
}

/// The status of an answer; 0 if it has none that can be read.
fn status_of(headers: &Headers) -> u16 {
    headers
        .iter()
        .find(|(name, _)| name == b":status")
        .and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok())
        .unwrap_or(0)
}
