//! The host itself: it denies what Envoy denies or dies of, so that a green test says something.

use proxy_wasm::types::{MapType, Status, StreamType};

use super::host::{Host, Running, with};
use super::stream::Stream;
use super::vm::Thread;
use crate::memhost::Memory;
use crate::memhost::memory::{ONLY_NEW, Reader};

const HEADERS: MapType = MapType::HttpRequestHeaders;

/// A VM without a shell's doing: a paused stream 1 and a streaming 2, as a tick of root 9 sees them.
fn on_a_tick(what: impl FnOnce(&mut Host) + Send + 'static) {
    let memory = Memory::default();
    Thread::start(&memory, 0).run(move || {
        with(|host| {
            let mut paused = Stream::default();
            paused.request.open(vec![(b"a".to_vec(), b"1".to_vec())]);
            paused.request.settle(true);
            host.streams.insert(1, paused);
            host.streams.insert(2, Stream::default());
            host.running = Running::Clockwork;
            host.current = 9;
            what(host);
        });
    });
}

#[test]
#[should_panic(expected = "stream 1 is resumed while not paused")]
fn a_second_resume() {
    on_a_tick(|host| {
        assert_eq!(host.turn_to(1), Status::Ok);
        host.resume(StreamType::HttpRequest);
        host.resume(StreamType::HttpRequest);
    });
}

#[test]
#[should_panic(expected = "stream 2 is resumed while not paused")]
fn a_resume_of_what_streams() {
    on_a_tick(|host| {
        host.turn_to(2);
        host.resume(StreamType::HttpResponse);
    });
}

#[test]
#[should_panic(expected = "stream 1 is resumed while not paused")]
fn a_resume_after_a_turn_that_failed() {
    on_a_tick(|host| {
        host.turn_to(1);
        host.resume(StreamType::HttpRequest);
        // The previous stream stays the one that is spoken of.
        assert_eq!(host.turn_to(3), Status::BadArgument);
        host.resume(StreamType::HttpRequest);
    });
}

#[test]
#[should_panic(expected = "context 9 is resumed and no stream")]
fn a_resume_of_the_root() {
    on_a_tick(|host| {
        host.resume(StreamType::HttpRequest);
    });
}

#[test]
#[should_panic(expected = "stream 1 is resumed from Stream")]
fn a_resume_from_within_a_stream() {
    on_a_tick(|host| {
        host.turn_to(1);
        host.running = Running::Stream;
        host.resume(StreamType::HttpRequest);
    });
}

#[test]
#[should_panic(expected = "stream 1 is answered when it must not be")]
fn an_answer_after_a_resume() {
    on_a_tick(|host| {
        host.turn_to(1);
        host.resume(StreamType::HttpRequest);
        host.reply(429, Vec::new(), b"");
    });
}

#[test]
fn headers_out_of_their_phase() {
    on_a_tick(|host| {
        assert_eq!(host.header_pairs(HEADERS), Err(Status::BadArgument));
        host.turn_to(1);
        assert!(host.header_pairs(HEADERS).is_ok(), "paused there");
        assert_eq!(host.replace_header(HEADERS, "b", b"2"), Status::Ok);
        host.resume(StreamType::HttpRequest);
        assert_eq!(host.header_pairs(HEADERS), Err(Status::BadArgument));
        assert_eq!(host.remove_header(HEADERS, "b"), Status::BadArgument);
    });
}

#[test]
fn shared_data_by_its_rules() {
    on_a_tick(|host| {
        assert_eq!(host.shared_data("k"), None);
        assert_eq!(host.set_shared_data("k", b"1", 77), Status::Ok, "absent");
        assert_eq!(
            host.set_shared_data("k", b"2", ONLY_NEW),
            Status::CasMismatch
        );
        let (value, cas) = host.shared_data("k").unwrap();
        assert_eq!(value, b"1");
        assert_eq!(host.set_shared_data("k", b"2", cas), Status::Ok);
        assert_eq!(host.set_shared_data("k", b"3", cas), Status::CasMismatch);
        assert_eq!(host.set_shared_data("k", b"4", 0), Status::Ok);
        assert_eq!(host.set_shared_data("l", b"", ONLY_NEW), Status::Ok);
    });
}

#[test]
fn queues_wake_the_root_that_registered_them_last() {
    on_a_tick(|host| {
        let queue = host.register_queue("q");
        host.current = 2;
        host.stream(2).root = 8;
        assert_eq!(host.register_queue("q"), queue);
        let reader = Reader { vm: 0, root: 8 };
        assert_eq!(host.enqueue(queue, b"1"), Status::Ok);
        let wake_up = host.memory.state().take_wake_up(0);
        assert_eq!(wake_up, Some((reader, queue)));
        host.memory.state().end_root(reader);
        assert_eq!(host.enqueue(queue, b"2"), Status::Ok, "without a word");
        assert_eq!(host.memory.state().take_wake_up(0), None);
        assert_eq!(host.dequeue(queue), Ok(b"1".to_vec()));
        assert_eq!(host.dequeue(queue), Ok(b"2".to_vec()));
        assert_eq!(host.dequeue(queue), Err(Status::Empty));
        assert_eq!(host.dequeue(queue + 1), Err(Status::NotFound));
        assert_eq!(host.enqueue(queue + 1, b""), Status::NotFound);
    });
}
