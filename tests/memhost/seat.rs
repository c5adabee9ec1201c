//! A worker thread with the core alone in it.

use std::rc::Rc;

use weir::core::answer::Edit;
use weir::core::call::answer::Origin;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::attempt::{AnswerHead, Begin, Next};
use weir::core::call::failover::Turn;
use weir::core::call::read::Part;
use weir::core::call::{Action, Headers, StreamId, Worker};
use weir::core::time::Time;

use super::host::MemHost;
use super::memory::Memory;
use super::vm::{Plugin, Told, Vm};

/// A worker thread.
pub(crate) struct Seat {
    worker: Worker,
    host: MemHost,
    /// What new streams come under.
    pub(crate) config: Rc<Plugin>,
    /// The thread is busy elsewhere: neither wake-ups nor ticks reach it.
    pub(crate) is_blocked: bool,
    pub(crate) next_tick: Time,
}

impl Seat {
    pub(crate) fn new(memory: &Memory, vm: usize, plugin: &Rc<Plugin>, now: Time) -> Seat {
        Seat {
            worker: Worker::new(0xabc0 + vm as u64),
            host: memory.host(vm),
            config: Rc::clone(plugin),
            is_blocked: false,
            next_tick: now,
        }
    }
}

impl Vm for Seat {
    const TELLS_TROUBLE: bool = true;
    const STRIDE: usize = 1;

    fn configure(&mut self, now: Time, plugin: &Rc<Plugin>) {
        self.worker.configure(&self.host, now, plugin);
    }

    fn arrive(
        &mut self,
        now: Time,
        gate: StreamId,
        request: &Request<'_>,
        plugin: &Rc<Plugin>,
    ) -> Arrived {
        let config = &plugin.config;
        let turn = self.worker.turn_elsewhere(&self.host, now, request, config);
        let Some(Turn { edit, cluster }) = turn else {
            return self.worker.arrive(&self.host, now, gate, request, config);
        };
        let mut headers = request.headers.clone();
        super::call::edit(&mut headers, std::slice::from_ref(&edit));
        let request = Request {
            cluster: &cluster,
            headers: &headers,
            ..*request
        };
        let mut arrived = self.worker.arrive(&self.host, now, gate, &request, config);
        if let Arrived::Start(marked) | Arrived::Wait(marked) = &mut arrived {
            marked.edits.insert(0, edit);
        }
        arrived
    }

    fn begin_attempt(
        &mut self,
        now: Time,
        stream: StreamId,
        begin: Begin<'_>,
        request: &Request<'_>,
        plugin: &Rc<Plugin>,
    ) -> Option<[u8; 16]> {
        self.worker
            .begin_attempt(&self.host, now, stream, begin, request, &plugin.config)
    }

    fn attempt_edits(&mut self, now: Time, stream: StreamId, headers: &Headers) -> Vec<Edit> {
        let edit = self.worker.ask_server_to_queue(now, stream, headers);
        edit.into_iter().collect()
    }

    fn complete_request(&mut self, _: Time, stream: StreamId) {
        self.worker.complete_request(stream);
    }

    fn begin_answer(&mut self, now: Time, stream: StreamId, head: AnswerHead) -> Next {
        self.worker.begin_answer(&self.host, now, stream, head)
    }

    fn read_answer(&mut self, now: Time, stream: StreamId, kept: &[u8], is_end: bool) -> Next {
        let part = Part {
            size: kept.len(),
            is_end,
            read: |from: usize, at_most: usize| {
                let end = kept.len().min(from + at_most);
                kept.get(from..end).unwrap_or_default().to_vec()
            },
        };
        self.worker.read_answer(&self.host, now, stream, part)
    }

    fn answer(
        &mut self,
        now: Time,
        gate: StreamId,
        status: u16,
        headers: &Headers,
        told: Told,
    ) -> Vec<Edit> {
        if let Some(edits) = self.worker.answer_plainly(gate) {
            return edits;
        }
        let origin = Origin {
            details: told.details.as_bytes(),
            flags: || told.flags,
        };
        self.worker
            .answer(&self.host, now, gate, status, headers, origin)
    }

    fn end_answer(&mut self, now: Time, gate: StreamId) {
        self.worker.end_answer(&self.host, now, gate);
    }

    fn end(&mut self, now: Time, gate: StreamId) {
        if !self.worker.end_plainly(gate) {
            self.worker.end(&self.host, now, gate);
        }
    }

    fn end_attempt(&mut self, now: Time, stream: StreamId) {
        if !self.worker.end_attempt_plainly(stream) {
            self.worker.end_attempt(&self.host, now, stream);
        }
    }

    fn roots(&self) -> usize {
        1
    }

    fn tick(&mut self, now: Time, _: usize) -> Vec<Action> {
        self.worker.tick(&self.host, now)
    }

    fn wake(&mut self, now: Time) -> Vec<Action> {
        match self.host.take_wake_up() {
            Some(_) => self.worker.wake(&self.host, now),
            None => Vec::new(),
        }
    }

    fn is_busy(&self, next: Time) -> bool {
        self.worker.is_busy(next)
    }
}
