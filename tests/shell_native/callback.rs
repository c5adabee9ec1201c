//! What Envoy does around each callback of a VM. All of it runs on the VM's thread.

use proxy_wasm::types::Action as Verdict;
use weir::core::answer::Edit;
use weir::core::call::arrive::{Arrived, Marked};
use weir::core::call::attempt::Next;
use weir::core::call::{Action, Headers};
use weir::core::time::Time;

use super::abi::exports;
use super::host::{ATTEMPT, Root, Running, with};
use super::stream::Stream;
use super::vm::die;
use crate::memhost::memory::Reader;

/// Where the halves leave a call's reference for each other.
pub(crate) const REFERENCE: &str = "weir.call";

/// A stream begins with these.
pub(crate) struct Begun {
    pub(crate) id: u32,
    pub(crate) root: u32,
    pub(crate) cluster: Vec<u8>,
    pub(crate) connection: u64,
    /// 0 at the gate half.
    pub(crate) attempt: u64,
    pub(crate) headers: Headers,
    pub(crate) is_whole: bool,
    pub(crate) reference: Option<Vec<u8>>,
}

/// A context of the VM is asked about something.
fn enter(now: Time, running: Running, context: u32) {
    with(|host| {
        host.now = now;
        host.running = running;
        host.current = context;
    });
}

/// The callback has returned: what it did to streams.
fn leave() -> Vec<Action> {
    with(|host| {
        host.running = Running::Nothing;
        std::mem::take(&mut host.actions)
    })
}

/// As [`leave`], after a callback that may do nothing to streams.
fn leave_quietly() {
    let actions = leave();
    if !actions.is_empty() {
        die(&format!("{actions:?} from a callback that must not"));
    }
}

fn must_continue(verdict: Verdict, what: &str) {
    if verdict != Verdict::Continue {
        die(&format!("{what} is paused"));
    }
}

// ===== roots =====

/// A root context begins under a configuration. Whether it accepts it.
pub(crate) fn begin_root(now: Time, root: u32, json: String) -> bool {
    let begun = Root { json, period: 0 };
    with(|host| host.roots.insert(root, begun));
    exports::proxy_on_context_create(root, 0);
    enter(now, Running::Configure, root);
    let starts = exports::proxy_on_vm_start(root, 0);
    leave_quietly();
    starts && configure(now, root)
}

pub(crate) fn configure(now: Time, root: u32) -> bool {
    let size = with(|host| host.roots.get(&root).map_or(0, |root| root.json.len()));
    enter(now, Running::Configure, root);
    let accepts = exports::proxy_on_configure(root, size);
    leave_quietly();
    accepts
}

/// A drained root context ends.
pub(crate) fn end_root(now: Time, root: u32) {
    enter(now, Running::Configure, root);
    if !exports::proxy_on_done(root) {
        die("a root asks for time to end");
    }
    leave_quietly();
    exports::proxy_on_delete(root);
    with(|host| {
        host.roots.remove(&root);
        let vm = host.vm;
        host.memory.state().end_root(Reader { vm, root });
    });
}

pub(crate) fn tick(now: Time, root: u32) -> Vec<Action> {
    enter(now, Running::Clockwork, root);
    exports::proxy_on_tick(root);
    leave()
}

/// The oldest wake-up for this VM is delivered to the root that registered the queue.
pub(crate) fn wake(now: Time) -> Vec<Action> {
    let Some((reader, queue)) = with(|host| host.memory.state().take_wake_up(host.vm)) else {
        return Vec::new();
    };
    enter(now, Running::Clockwork, reader.root);
    exports::proxy_on_queue_ready(reader.root, queue);
    leave()
}

/// Whether a root ticks more often than its idle 200 ms.
pub(crate) fn is_busy() -> bool {
    with(|host| {
        host.roots
            .values()
            .any(|root| (1..200).contains(&root.period))
    })
}

// ===== requests =====

fn begin_stream(now: Time, begun: Begun) -> Verdict {
    let Begun { id, root, .. } = begun;
    exports::proxy_on_context_create(id, root);
    let count = begun.headers.len();
    with(|host| {
        let mut stream = Stream {
            root,
            ..Stream::default()
        };
        stream.properties = [
            ("xds.cluster_name", begun.cluster),
            ("connection.id", begun.connection.to_le_bytes().to_vec()),
            (ATTEMPT, begun.attempt.to_le_bytes().to_vec()),
        ]
        .map(|(path, value)| (path.to_owned(), value))
        .into();
        let reference = begun.reference.map(|value| (REFERENCE.to_owned(), value));
        stream.left.extend(reference);
        stream.is_complete = begun.is_whole;
        stream.request.open(begun.headers);
        host.streams.insert(id, stream);
    });
    enter(now, Running::Stream, id);
    let verdict = exports::proxy_on_request_headers(id, count, begun.is_whole);
    with(|host| {
        let stream = host.stream(id);
        let is_paused = verdict == Verdict::Pause && !stream.is_replied;
        stream.request.settle(is_paused);
    });
    verdict
}

fn left(id: u32) -> Option<[u8; 16]> {
    with(|host| {
        host.stream(id)
            .left
            .get(REFERENCE)?
            .as_slice()
            .try_into()
            .ok()
    })
}

pub(crate) fn arrive(now: Time, begun: Begun) -> Arrived {
    let id = begun.id;
    let verdict = begin_stream(now, begun);
    let edits = with(|host| host.stream(id).request.take_edits());
    let marked = left(id).map(|reference| Marked { edits, reference });
    match (verdict, leave().pop(), marked) {
        (Verdict::Pause, Some(Action::Refuse { gate, reply }), None) if gate == id => {
            Arrived::Refuse(reply)
        }
        (Verdict::Pause, None, Some(marked)) => Arrived::Wait(marked),
        (Verdict::Continue, None, Some(marked)) => Arrived::Start(marked),
        (Verdict::Continue, None, None) => Arrived::Untouched,
        (verdict, action, marked) => {
            die(&format!("{verdict:?} with {action:?} and {marked:?}"));
        }
    }
}

pub(crate) fn begin_attempt(now: Time, begun: Begun) -> Option<[u8; 16]> {
    let id = begun.id;
    let was_left = begun.reference.clone();
    must_continue(begin_stream(now, begun), "an attempt's request");
    leave_quietly();
    left(id).filter(|left| was_left.as_deref() != Some(left.as_slice()))
}

/// What the attempt half changed in the request when it began.
pub(crate) fn attempt_edits(id: u32) -> Vec<Edit> {
    with(|host| host.stream(id).request.take_edits())
}

/// The rest of a request goes by, as a body or as trailers.
pub(crate) fn complete_request(now: Time, id: u32) {
    with(|host| host.stream(id).is_complete = true);
    enter(now, Running::Stream, id);
    let verdict = match id.is_multiple_of(2) {
        true => exports::proxy_on_request_body(id, 1, true),
        false => exports::proxy_on_request_trailers(id, 1),
    };
    must_continue(verdict, "a request's end");
    leave_quietly();
}

// ===== answers =====

pub(crate) fn begin_answer(now: Time, id: u32, headers: Headers, is_whole: bool) -> Next {
    let count = headers.len();
    with(|host| host.stream(id).response.open(headers));
    enter(now, Running::Stream, id);
    let verdict = exports::proxy_on_response_headers(id, count, is_whole);
    leave_quietly();
    with(|host| {
        let stream = host.stream(id);
        let is_paused = verdict == Verdict::Pause;
        deny_hold_of_upload(stream, is_paused && is_whole);
        let response = &mut stream.response;
        response.settle(is_paused);
        match is_paused {
            true => Next::Pause,
            false => Next::Pass(response.take_edits()),
        }
    })
}

/// Envoy dies of an answer that is held past its end while the request still goes out.
fn deny_hold_of_upload(stream: &Stream, is_held_at_end: bool) {
    if is_held_at_end && !stream.is_complete {
        die("an answer is held past its end, and its request is not complete");
    }
}

/// More of an answer; an end that brings nothing comes as trailers.
pub(crate) fn read_answer(now: Time, id: u32, kept: Vec<u8>, is_end: bool) -> Next {
    let size = kept.len();
    let (is_paused, brings_nothing) = with(|host| {
        let stream = host.stream(id);
        let before = std::mem::replace(&mut stream.body_size, size);
        stream.body = Some(kept);
        (stream.response.is_paused, size == before || size == 0)
    });
    enter(now, Running::Stream, id);
    let verdict = match is_end && brings_nothing {
        true => exports::proxy_on_response_trailers(id, 1),
        false => exports::proxy_on_response_body(id, size, is_end),
    };
    leave_quietly();
    with(|host| {
        let stream = host.stream(id);
        stream.body = None;
        if verdict == Verdict::Pause {
            deny_hold_of_upload(stream, is_end);
            return Next::Pause;
        }
        if is_paused {
            stream.response.settle(false);
        }
        Next::Pass(stream.response.take_edits())
    })
}

/// The gate half sees the head of an answer, of the provider's or of Envoy's own.
pub(crate) fn answer(now: Time, id: u32, headers: Headers, details: &str) -> Vec<Edit> {
    let count = headers.len();
    with(|host| {
        let stream = host.stream(id);
        let details = details.as_bytes().to_vec();
        stream
            .properties
            .insert("response.code_details".to_owned(), details);
        // It is answered: nothing may resume it any more.
        stream.request.settle(false);
        stream.response.open(headers);
    });
    enter(now, Running::Stream, id);
    let verdict = exports::proxy_on_response_headers(id, count, false);
    must_continue(verdict, "an answer at the gate");
    leave_quietly();
    with(|host| {
        let response = &mut host.stream(id).response;
        response.settle(false);
        response.take_edits()
    })
}

pub(crate) fn end_answer(now: Time, id: u32) {
    enter(now, Running::Stream, id);
    must_continue(exports::proxy_on_response_body(id, 0, true), "an answer");
    leave_quietly();
}

/// A stream ends, its headers with it. Envoy logs downstream streams only.
pub(crate) fn end(now: Time, id: u32, is_downstream: bool) {
    with(|host| {
        let stream = host.stream(id);
        stream.request.settle(false);
        stream.response.settle(false);
    });
    enter(now, Running::Stream, id);
    if is_downstream {
        exports::proxy_on_log(id);
    }
    if !exports::proxy_on_done(id) {
        die("a stream asks for time to end");
    }
    leave_quietly();
    exports::proxy_on_delete(id);
    with(|host| host.streams.remove(&id));
}
