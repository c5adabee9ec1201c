//! Headers as no well-behaved client or provider sends them. The SDK panics on a value that is not
//! UTF-8 unless bytes are asked for, and a panic takes the whole worker.

use weir::core::call::Headers;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::attempt::{AnswerHead, Begin, Next};
use weir::core::time::Time;

use super::seat::Seat;
use crate::memhost::sim::{config, policy};
use crate::memhost::vm::Told;
use crate::memhost::{Memory, Sim, Vm};

const ODD: [&[u8]; 6] = [
    b"",
    b"\xff",
    b"a\xff\xfe\x80b",
    b"\0",
    b" , ,, ",
    b"18446744073709551616",
];

/// Headers that Weir reads.
const ASKED: [&str; 11] = [
    ":authority",
    ":path",
    "x-weir-no-wait",
    "x-patience",
    "x-envoy-retry-on",
    "x-envoy-retriable-header-names",
    "x-envoy-expected-rq-timeout-ms",
    "grpc-timeout",
    "x-stainless-read-timeout",
    "x-stainless-retry-count",
    "idempotency-key",
];

const ANSWERED: [&str; 9] = [
    ":status",
    "content-length",
    "retry-after",
    "retry-after-ms",
    "content-type",
    "x-weir-retry",
    "x-ratelimit-reset-requests",
    "x-should-retry",
    "x-any",
];

const GATE: u32 = 1;
const ATTEMPT: u32 = 2;
const NOW: Time = Time(5_000_000_000);

/// One call with these headers, from arrival to its end, and nothing is left of it.
fn call(request: &Headers, answer: Headers) {
    let memory = Memory::default();
    let json = policy(
        r#""max_concurrent_calls":1,"patience_header":"x-patience","key":["cluster","host"]"#,
    );
    let plugin = config(&json);
    let mut seat = Seat::new(&memory, 0, &plugin, NOW);
    seat.configure(NOW, &plugin);
    let request = Request {
        cluster: b"\xffcluster",
        connection: 1,
        headers: request,
    };
    let arrived = seat.arrive(NOW, GATE, &request, &plugin);
    let Arrived::Start(marked) = arrived else {
        panic!("{arrived:?}");
    };
    let begin = Begin {
        number: 1,
        reference: Some(&marked.reference),
        route_timeout: None,
        request_complete: true,
    };
    seat.begin_attempt(NOW, ATTEMPT, begin, &request, &plugin);
    let head = AnswerHead {
        status: 0,
        headers: answer.clone(),
        is_whole: false,
    };
    let mut next = seat.begin_answer(NOW, ATTEMPT, head);
    if next == Next::Pause {
        next = seat.read_answer(NOW, ATTEMPT, b"{}", true);
    }
    if let Next::Pass(_) = next {
        let told = Told {
            details: "via_upstream",
            flags: 0,
        };
        seat.answer(NOW, GATE, 0, &answer, told);
        seat.end_answer(NOW, GATE);
    }
    seat.end(NOW, GATE);
    seat.end_attempt(NOW, ATTEMPT);
    seat.tick(NOW, 0);
    let sum = Sim::part_of(&memory, 1..1, &json);
    assert_eq!(sum.sums(), Default::default());
}

fn header(name: &str, value: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (name.as_bytes().to_vec(), value.to_vec())
}

fn odd_values() -> impl Iterator<Item = Vec<u8>> {
    let huge = vec![b'9'; 60_000];
    ODD.into_iter().map(<[u8]>::to_vec).chain([huge])
}

#[test]
fn l14_no_request_header_ends_a_vm() {
    for name in ASKED {
        for value in odd_values() {
            let request = vec![header(name, &value), header(name, b"second")];
            call(&request, vec![header(":status", b"200")]);
        }
    }
}

#[test]
fn l14_no_header_of_an_answer_ends_a_vm() {
    for name in ANSWERED {
        for value in odd_values() {
            for status in [b"200", b"400", b"429", b"503"] {
                let odd = [header(name, &value), header(name, b"second")];
                let mut answer = vec![header(":status", status)];
                if name == ":status" {
                    answer.clear();
                }
                answer.extend(odd);
                call(&vec![header(":path", b"/")], answer);
            }
        }
    }
}

#[test]
fn l14_no_headers_at_all_end_no_vm() {
    call(&Vec::new(), Vec::new());
}

#[test]
fn l14_many_headers_end_no_vm() {
    let many: Headers = (0..5000)
        .map(|n| header(&format!("x-weir-{n}"), b"\xff"))
        .collect();
    call(&many, many.clone());
}
