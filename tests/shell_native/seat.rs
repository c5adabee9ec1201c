//! A worker thread with the real shell in it.

use std::cell::Cell;
use std::rc::Rc;

use weir::core::answer::Edit;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::attempt::{AnswerHead, Begin, Next};
use weir::core::call::{Action, Headers, StreamId};
use weir::core::time::Time;

use super::callback::{self, Begun};
use super::vm::Thread;
use crate::memhost::Memory;
use crate::memhost::vm::{Plugin, Vm};

/// Contexts of roots have numbers from here on; those of streams come from the test.
const ROOTS: u32 = 1 << 24;

/// A worker thread.
pub(crate) struct Seat {
    thread: Thread,
    /// Configurations by the root context they run in.
    roots: Vec<(String, u32)>,
    next_root: u32,
    is_busy: Cell<bool>,
    /// What new streams come under.
    pub(crate) config: Rc<Plugin>,
    /// The thread is busy elsewhere: neither wake-ups nor ticks reach it.
    pub(crate) is_blocked: bool,
    pub(crate) next_tick: Time,
}

impl Seat {
    pub(crate) fn new(memory: &Memory, vm: usize, plugin: &Rc<Plugin>, now: Time) -> Seat {
        Seat {
            thread: Thread::start(memory, vm),
            roots: Vec::new(),
            next_root: ROOTS,
            is_busy: Cell::new(false),
            config: Rc::clone(plugin),
            is_blocked: false,
            next_tick: now,
        }
    }

    fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (outcome, is_busy) = self.thread.run(|| (job(), callback::is_busy()));
        self.is_busy.set(is_busy);
        outcome
    }

    /// A configuration in a root context of its own. Whether the VM accepts it.
    pub(crate) fn begin_root(&mut self, now: Time, json: &str) -> bool {
        let root = self.next_root;
        self.next_root += 1;
        let text = json.to_owned();
        let accepts = self.run(move || callback::begin_root(now, root, text));
        match accepts {
            true => self.roots.push((json.to_owned(), root)),
            false => self.run(move || callback::end_root(now, root)),
        }
        accepts
    }

    /// A configuration has drained: its root context ends.
    pub(crate) fn end_root(&mut self, now: Time, json: &str) {
        let at = self.roots.iter().position(|(known, _)| known == json);
        let (_, root) = self.roots.remove(at.expect("a root"));
        self.run(move || callback::end_root(now, root));
    }

    fn root(&self, json: &str) -> Option<u32> {
        let root = self.roots.iter().find(|(known, _)| known == json);
        root.map(|(_, root)| *root)
    }

    /// Envoy has configured a root before it gets streams.
    fn root_of(&mut self, now: Time, plugin: &Plugin) -> u32 {
        if self.root(&plugin.json).is_none() {
            assert!(self.begin_root(now, &plugin.json), "a valid configuration");
        }
        self.root(&plugin.json).expect("a root")
    }
}

impl Vm for Seat {
    const TELLS_TROUBLE: bool = false;
    const STRIDE: usize = 7;

    fn configure(&mut self, now: Time, plugin: &Rc<Plugin>) {
        match self.root(&plugin.json) {
            None => assert!(self.begin_root(now, &plugin.json), "a valid configuration"),
            Some(root) => assert!(self.run(move || callback::configure(now, root))),
        }
    }

    fn arrive(
        &mut self,
        now: Time,
        gate: StreamId,
        request: &Request<'_>,
        plugin: &Rc<Plugin>,
    ) -> Arrived {
        let begun = Begun {
            id: gate,
            root: self.root_of(now, plugin),
            cluster: request.cluster.to_vec(),
            connection: request.connection,
            attempt: 0,
            headers: request.headers.clone(),
            is_whole: false,
            reference: None,
        };
        self.run(move || callback::arrive(now, begun))
    }

    fn begin_attempt(
        &mut self,
        now: Time,
        stream: StreamId,
        begin: Begin<'_>,
        request: &Request<'_>,
        plugin: &Rc<Plugin>,
    ) -> Option<[u8; 16]> {
        let mut headers = request.headers.clone();
        let left = begin.route_timeout.map(|left| {
            let millis = left.as_millis().to_string();
            (
                b"x-envoy-expected-rq-timeout-ms".to_vec(),
                millis.into_bytes(),
            )
        });
        headers.extend(left);
        let begun = Begun {
            id: stream,
            root: self.root_of(now, plugin),
            cluster: request.cluster.to_vec(),
            connection: request.connection,
            attempt: begin.number.into(),
            headers,
            is_whole: begin.request_complete,
            reference: begin.reference.map(<[u8]>::to_vec),
        };
        self.run(move || callback::begin_attempt(now, begun))
    }

    fn attempt_edits(&mut self, _: Time, stream: StreamId, _: &Headers) -> Vec<Edit> {
        self.run(move || callback::attempt_edits(stream))
    }

    fn complete_request(&mut self, now: Time, stream: StreamId) {
        self.run(move || callback::complete_request(now, stream));
    }

    fn begin_answer(&mut self, now: Time, stream: StreamId, head: AnswerHead) -> Next {
        self.run(move || callback::begin_answer(now, stream, head.headers, head.is_whole))
    }

    fn read_answer(&mut self, now: Time, stream: StreamId, kept: &[u8], is_end: bool) -> Next {
        let kept = kept.to_vec();
        self.run(move || callback::read_answer(now, stream, kept, is_end))
    }

    fn answer(
        &mut self,
        now: Time,
        gate: StreamId,
        _: u16,
        headers: &Headers,
        via_upstream: bool,
    ) -> Vec<Edit> {
        let headers = headers.clone();
        let details = match via_upstream {
            true => "via_upstream",
            false => "upstream_reset_before_response_started{connection_termination}",
        };
        self.run(move || callback::answer(now, gate, headers, details))
    }

    fn end_answer(&mut self, now: Time, gate: StreamId) {
        self.run(move || callback::end_answer(now, gate));
    }

    fn end(&mut self, now: Time, gate: StreamId) {
        self.run(move || callback::end(now, gate, true));
    }

    fn end_attempt(&mut self, now: Time, stream: StreamId) {
        self.run(move || callback::end(now, stream, false));
    }

    fn roots(&self) -> usize {
        self.roots.len()
    }

    fn tick(&mut self, now: Time, root: usize) -> Vec<Action> {
        let (_, root) = self.roots[root];
        self.run(move || callback::tick(now, root))
    }

    fn wake(&mut self, now: Time) -> Vec<Action> {
        self.run(move || callback::wake(now))
    }

    fn is_busy(&self, _: Time) -> bool {
        self.is_busy.get()
    }
}
