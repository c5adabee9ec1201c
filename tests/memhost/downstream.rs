//! The downstream side of a call: it arrives, is answered, ends.

use std::collections::BTreeMap;
use std::rc::Rc;

use weir::core::answer::Reply as Own;
use weir::core::call::arrive::{Arrived, Request};

use super::call::{Ask, Call, Received, edit};
use super::sim::Sim;
use super::vm::{Told, Vm};

impl Sim {
    /// A call arrives.
    pub(crate) fn arrive(&mut self, ask: Ask) -> usize {
        let id = self.calls.len();
        let connection = ask.connection.unwrap_or_else(|| self.take_connection());
        let seat = &self.seats[ask.worker];
        let mut headers: Vec<_> = [(":authority", ask.host), (":path", "/v1/chat")]
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .into();
        for (name, value) in &ask.headers {
            headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
        self.calls.push(Call {
            worker: ask.worker,
            cluster: ask.cluster,
            connection,
            config: ask.config.unwrap_or_else(|| Rc::clone(&seat.config)),
            headers,
            request_complete: !ask.uploading,
            gate: None,
            is_paused: false,
            reference: None,
            arrived: self.now,
            began: Vec::new(),
            attempts: BTreeMap::new(),
            retries: 0,
            retry_at: None,
            has_grant: false,
            received: None,
            is_over: false,
            is_lost: false,
        });
        if self.has_gate {
            self.enter_gate(id);
        } else {
            self.begin_attempt(id);
        }
        self.settle();
        id
    }

    pub(crate) fn enter_gate(&mut self, id: usize) {
        let gate = self.take_stream(id);
        let call = &mut self.calls[id];
        call.gate = Some(gate);
        let seat = &mut self.seats[call.worker];
        let request = Request {
            cluster: call.cluster.as_bytes(),
            connection: call.connection,
            headers: &call.headers,
        };
        let arrived = seat.arrive(self.now, gate, &request, &call.config);
        let (marked, waits) = match arrived {
            Arrived::Untouched => {
                self.begin_attempt(id);
                return;
            }
            Arrived::Refuse(reply) => return self.refuse(id, reply),
            Arrived::Start(marked) => (marked, false),
            Arrived::Wait(marked) => (marked, true),
        };
        edit(&mut call.headers, &marked.edits);
        call.reference = Some(marked.reference);
        call.is_paused = waits;
        if !waits {
            self.start(id);
        }
    }

    pub(crate) fn start(&mut self, id: usize) {
        self.calls[id].has_grant = true;
        self.begin_attempt(id);
    }

    /// Weir's own answer passes the gate half like any other.
    pub(crate) fn refuse(&mut self, id: usize, reply: Own) {
        let mut headers = vec![(
            b":status".to_vec(),
            reply.status.to_string().as_bytes().to_vec(),
        )];
        for (name, value) in reply.headers {
            headers.push((name.as_bytes().to_vec(), value.into_bytes()));
        }
        let own = Told {
            details: "",
            flags: 0,
        };
        self.deliver_head(id, reply.status, headers, own);
        self.calls[id].received.as_mut().unwrap().body = reply.body;
        self.finish(id);
    }

    /// The gate half sees an answer's head, and then the client does.
    pub(crate) fn deliver_head(
        &mut self,
        id: usize,
        status: u16,
        mut headers: weir::core::call::Headers,
        origin: Told,
    ) {
        let call = &mut self.calls[id];
        assert!(call.received.is_none(), "call {id} is answered twice");
        assert!(!call.is_over, "call {id} is answered after its end");
        if let Some(gate) = call.gate {
            let seat = &mut self.seats[call.worker];
            let edits = seat.answer(self.now, gate, status, &headers, origin);
            edit(&mut headers, &edits);
            if matches!(status, 429 | 503 | 529)
                || !call.attempts.is_empty()
                || origin.details != "via_upstream"
            {
                call.has_grant = false;
            }
        }
        call.retry_at = None;
        let status = super::call::status(&headers);
        call.received = Some(Received {
            status,
            headers,
            body: Vec::new(),
            at: self.now,
        });
    }

    /// The client has its answer to the end.
    pub(crate) fn finish(&mut self, id: usize) {
        if let Some(gate) = self.calls[id].gate {
            let seat = &mut self.seats[self.calls[id].worker];
            seat.end_answer(self.now, gate);
        }
        self.close(id, false);
    }

    /// Both halves' streams end: the gate's first, as Envoy destroys them, or last.
    pub(crate) fn close(&mut self, id: usize, attempts_first: bool) {
        let call = &mut self.calls[id];
        call.is_over = true;
        call.is_paused = false;
        call.has_grant = false;
        call.retry_at = None;
        let gate = call.gate;
        let attempts: Vec<_> = call.attempts.keys().copied().collect();
        let end_gate = |sim: &mut Sim| {
            if let Some(gate) = gate {
                let seat = &mut sim.seats[sim.calls[id].worker];
                seat.end(sim.now, gate);
                sim.streams.remove(&gate);
            }
        };
        if !attempts_first {
            end_gate(self);
        }
        for stream in attempts {
            self.end_attempt(id, stream);
        }
        if attempts_first {
            end_gate(self);
        }
    }

    /// The client goes away.
    pub(crate) fn abort(&mut self, id: usize) {
        self.abort_in_order(id, false);
    }

    pub(crate) fn abort_in_order(&mut self, id: usize, attempts_first: bool) {
        if !self.calls[id].is_over {
            self.close(id, attempts_first);
            self.settle();
        }
    }
}
