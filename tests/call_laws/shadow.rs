//! Shadow mode: all is decided and counted, nothing is changed.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::{header, ms};
use crate::memhost::{Ask, Reply, Sim, State};

fn shadow(workers: usize, fields: &str) -> Sim {
    Sim::policy(workers, &format!(r#""mode":"shadow",{fields}"#))
}

#[test]
fn calls_go_at_once_and_their_phantoms_take_turns() {
    let mut sim = shadow(2, r#""max_concurrent_calls":1"#);
    let calls: Vec<_> = (0..3).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    assert!(sim.states().iter().all(|s| *s == State::Running(1)));
    assert_eq!((sim.sums().running, sim.sums().waiting), (1, 2));
    sim.run(ms(100));
    calls.iter().for_each(|id| sim.answer(*id, Reply::ok()));
    // The second phantom runs from 100 to 200 ms, the third from 200 to 300.
    for waiting in [1, 0] {
        sim.run(ms(50));
        assert_eq!((sim.sums().running, sim.sums().waiting), (1, waiting));
        sim.run(ms(50));
    }
    sim.run(ms(10));
    assert_eq!(sim.sums().running, 0);
    sim.check_empty();
    let counts = ["calls", "admitted", "queued"].map(|name| sim.count(name));
    assert_eq!(counts, [3, 3, 2]);
    assert_eq!(sim.count("unplanned"), 0);
    assert_eq!(sim.memory.histogram("weir.policy.p.wait"), [100, 200]);
}

#[test]
fn a_phantom_that_starts_beside_its_call_ends_as_much_later() {
    let mut sim = shadow(1, r#""max_concurrent_calls":1"#);
    let [first, second] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(30));
    sim.answer(first, Reply::ok());
    sim.run(ms(70));
    sim.answer(second, Reply::ok());
    sim.run(ms(25));
    assert_eq!(sim.sums().running, 1, "it began 30 ms late");
    sim.run(ms(10));
    assert_eq!(sim.sums().running, 0);
    sim.check_empty();
}

#[test]
fn the_answer_is_the_providers_to_the_last_header() {
    let mut sim = shadow(1, r#""max_concurrent_calls":1"#);
    let call = sim.arrive(Ask::on(0).header("x-weir-no-wait", "1"));
    assert!(header(&sim.calls[call].headers, "x-weir-no-wait").is_some());
    assert!(header(&sim.calls[call].headers, "x-envoy-retry-on").is_none());
    sim.answer(call, Reply::rate().header("x-weir-mine", "kept"));
    let received = sim.calls[call].received.as_ref().expect("an answer");
    let mut names: Vec<_> = received.headers.iter().map(|(n, _)| n.clone()).collect();
    names.retain(|name| name.starts_with(b"x-weir"));
    assert_eq!(names, [b"x-weir-mine".to_vec()]);
    assert_eq!(received.status, 429);
    sim.run(ms(100));
    assert_eq!(sim.count("refusals.class.rate"), 1);
    assert_eq!(sim.count("retries.class.rate"), 1, "it would have been");
    let success = sim.arrive(Ask::on(0));
    sim.answer(success, Reply::ok());
    assert_eq!(sim.state(success), State::Answered(200));
    assert_eq!(sim.got(success, "x-weir-attempts"), None);
    sim.check_empty();
}

#[test]
fn what_would_have_been_refused_is_counted_and_goes_on() {
    let mut sim = shadow(
        1,
        r#""max_concurrent_calls":1,"queue":{"max_waiting":1,"max_wait_ms":500}"#,
    );
    let calls: Vec<_> = (0..3).map(|_| sim.arrive(Ask::on(0))).collect();
    assert!(sim.states().iter().all(|s| *s == State::Running(1)));
    assert_eq!((sim.sums().running, sim.sums().waiting), (1, 1));
    sim.run(ms(610));
    assert_eq!(sim.count("unplanned"), 0, "it would not be there");
    assert_eq!(sim.count("refused.reason.queue_full"), 1);
    assert_eq!(sim.count("refused.reason.wait_too_long"), 1);
    calls.iter().for_each(|id| sim.answer(*id, Reply::ok()));
    sim.check_empty();
}
