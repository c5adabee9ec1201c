//! Whole calls through the core, on shared data in memory, for `tools/bench_gate.py` to count what
//! they cost.
//!
//! `bench_gate waiters N` lets calls wait in a gate in which N others wait: a call's share is its
//! arrival, its start and its end. `bench_gate keys N` takes N gates in turn, in which calls start at
//! once. Either makes [`CALLS`] calls to be counted and prints that number.

#![allow(clippy::unwrap_used, reason = "a tool may stop at what it cannot do")]
#![allow(clippy::panic, reason = "a tool may stop at what it cannot do")]

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use weir::core::call::answer::Origin;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::attempt::{AnswerHead, Begin};
use weir::core::call::{Action, Headers, StreamId, Worker};
use weir::core::config::Config;
use weir::core::time::Time;
use weir::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

const CALLS: u32 = 2000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap();
    let size: u32 = arguments.next().unwrap().parse().unwrap();
    let mut bench = Bench::new();
    match what.as_str() {
        "waiters" => {
            // The one that runs, and those who wait behind it.
            let running = bench.arrive(0).0;
            for _ in 0..size {
                assert!(!bench.arrive(0).1, "it waits");
            }
            bench.settle();
            queued(&mut bench, running);
        }
        "keys" => {
            for key in 0..size {
                start_and_end(&mut bench, key);
            }
            bench.settle();
            at_once(&mut bench, size);
        }
        other => panic!("bench_gate: {other} is neither waiters nor keys"),
    }
    println!("{CALLS}");
}

/// What is counted, where nobody waits.
#[inline(never)]
fn at_once(bench: &mut Bench, keys: u32) {
    for n in 0..CALLS {
        start_and_end(bench, n % keys);
    }
}

/// What is counted, where others wait: one arrives, the one that runs ends, the oldest starts.
#[inline(never)]
fn queued(bench: &mut Bench, mut running: StreamId) {
    for _ in 0..CALLS {
        bench.arrive(0);
        bench.attempt_and_end(running);
        let mut actions = bench.worker.wake(&bench.host, bench.now);
        assert_eq!(actions.len(), 1, "a slot came free");
        running = match actions.pop() {
            Some(Action::Start { gate }) => gate,
            other => panic!("bench_gate: {other:?}"),
        };
    }
}

fn start_and_end(bench: &mut Bench, key: u32) {
    let (gate, started) = bench.arrive(key);
    assert!(started, "nobody waits at this key");
    bench.attempt_and_end(gate);
}

struct Bench {
    worker: Worker,
    host: Memory,
    config: Rc<Config>,
    now: Time,
    streams: StreamId,
    references: BTreeMap<StreamId, [u8; 16]>,
}

impl Bench {
    fn new() -> Bench {
        let text = r#"{"max_keys": 4096, "policies": [{"name": "default", "max_concurrent_calls": 1,
            "key": [{"header": "x-tenant"}], "queue": {"max_waiting": 20000}}]}"#;
        let mut bench = Bench {
            worker: Worker::new(7),
            host: Memory::default(),
            config: Rc::new(Config::parse(text.as_bytes()).unwrap()),
            now: Time(1_000_000_000),
            streams: 10,
            references: BTreeMap::new(),
        };
        let config = Rc::clone(&bench.config);
        bench.worker.configure(&bench.host, bench.now, &config);
        bench
    }

    /// A heartbeat and whatever else comes with the clock.
    fn settle(&mut self) {
        self.now = self.now + Duration::from_millis(200);
        self.worker.tick(&self.host, self.now);
    }

    /// The call's stream, and whether it started.
    fn arrive(&mut self, key: u32) -> (StreamId, bool) {
        self.now = self.now + Duration::from_micros(50);
        self.streams += 1;
        let gate = self.streams;
        let headers = request(key);
        let request = asked(&headers);
        let arrived = self
            .worker
            .arrive(&self.host, self.now, gate, &request, &self.config);
        let (marked, started) = match arrived {
            Arrived::Start(marked) => (marked, true),
            Arrived::Wait(marked) => (marked, false),
            other => panic!("bench_gate: {other:?}"),
        };
        self.references.insert(gate, marked.reference);
        (gate, started)
    }

    fn attempt_and_end(&mut self, gate: StreamId) {
        self.streams += 1;
        let attempt = self.streams;
        let (host, now) = (&self.host, self.now);
        let reference = self.references.remove(&gate);
        let begin = Begin {
            number: 1,
            reference: reference.as_ref().map(<[u8; 16]>::as_slice),
            route_timeout: None,
            request_complete: true,
        };
        let headers = request(0);
        let _ =
            self.worker
                .begin_attempt(host, now, attempt, begin, &asked(&headers), &self.config);
        let answer = pairs(&[(":status", "200"), ("content-type", "application/json")]);
        let head = AnswerHead {
            status: 200,
            headers: answer.clone(),
            is_whole: true,
        };
        let _ = self.worker.begin_answer(host, now, attempt, head);
        let origin = Origin {
            details: b"via_upstream",
            flags: || 0,
        };
        let _ = self.worker.answer(host, now, gate, 200, &answer, origin);
        self.worker.end_answer(host, now, gate);
        self.worker.end_attempt(host, now, attempt);
        self.worker.end(host, now, gate);
    }
}

fn asked(headers: &Headers) -> Request<'_> {
    Request {
        cluster: b"provider",
        connection: 1,
        headers,
    }
}

fn request(key: u32) -> Headers {
    let mut headers = pairs(&[
        (":authority", "llm"),
        (":path", "/v1/chat/completions"),
        (":method", "POST"),
        ("content-type", "application/json"),
        ("user-agent", "OpenAI/Python 1.99.1"),
    ]);
    headers.push((b"x-tenant".to_vec(), key.to_string().into_bytes()));
    headers
}

fn pairs(of: &[(&str, &str)]) -> Headers {
    let own = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    of.iter().map(own).collect()
}

/// Shared data and queues of one process.
#[derive(Default)]
struct Memory {
    data: RefCell<BTreeMap<String, (Vec<u8>, u32)>>,
    queues: RefCell<Vec<(String, VecDeque<Vec<u8>>)>>,
    writes: RefCell<u32>,
}

impl Host for Memory {
    fn random(&self) -> u64 {
        4
    }

    fn wall_ms(&self) -> u64 {
        1_790_000_000_000
    }

    fn entropy(&self) -> Result<[u8; 16], HostError> {
        Ok([7; 16])
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        Ok(match self.data.borrow().get(key) {
            Some((bytes, cas)) => Stored::Present {
                bytes: bytes.clone(),
                cas: *cas,
            },
            None => Stored::Absent,
        })
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let mut data = self.data.borrow_mut();
        let found = data.get(key).map(|(_, cas)| *cas);
        match (expect, found) {
            (Expect::New, None) => {}
            (Expect::Same(cas), Some(found)) if cas == found => {}
            _ => return Err(HostError::Conflict),
        }
        let mut writes = self.writes.borrow_mut();
        *writes += 1;
        data.insert(key.to_owned(), (bytes.to_vec(), *writes));
        Ok(())
    }

    fn queue_register(&self, name: &str) -> Result<QueueId, HostError> {
        let mut queues = self.queues.borrow_mut();
        let place = queues.iter().position(|(n, _)| n == name);
        let place = place.unwrap_or_else(|| {
            queues.push((name.to_owned(), VecDeque::new()));
            queues.len() - 1
        });
        Ok(QueueId::try_from(place).unwrap())
    }

    fn queue_send(&self, queue: QueueId, message: &[u8]) -> Result<(), HostError> {
        let mut queues = self.queues.borrow_mut();
        let queue = queues.get_mut(queue as usize).ok_or(HostError::Gone)?;
        queue.1.push_back(message.to_vec());
        Ok(())
    }

    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        let mut queues = self.queues.borrow_mut();
        let queue = queues.get_mut(queue as usize).ok_or(HostError::Gone)?;
        Ok(queue.1.pop_front())
    }

    fn metric(&self, _: MetricKind, _: &str, _: u64) {}

    fn log(&self, _: Level, _: &str) {}
}
