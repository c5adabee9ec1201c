//! L1: the cap, over all workers, from grant to last byte.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

fn running(sim: &Sim) -> Vec<usize> {
    let runs = |id: &usize| matches!(sim.state(*id), State::Running(_));
    (0..sim.calls.len()).filter(runs).collect()
}

#[test]
fn l1_under_saturation_the_peak_equals_the_cap_and_stays_there() {
    let mut sim = Sim::policy(3, r#""max_concurrent_calls":4"#);
    for n in 0..40 {
        sim.arrive(Ask::on(n % 3));
    }
    sim.check();
    for left in (4..40).rev() {
        let calls = running(&sim);
        assert_eq!(calls.len(), 4);
        sim.answer(calls[left % 4], Reply::ok());
        sim.check();
        sim.check_no_idle_slot();
    }
    for id in running(&sim) {
        sim.answer(id, Reply::ok());
    }
    assert!(sim.states().iter().all(|s| *s == State::Answered(200)));
    sim.check_empty();
    assert_eq!((sim.count("calls"), sim.count("admitted")), (40, 40));
    assert_eq!(sim.count("queued"), 36);
}

#[test]
fn l1_a_stream_holds_its_slot_to_its_last_byte() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
    let stream = sim.arrive(Ask::on(0));
    let next = sim.arrive(Ask::on(1));
    sim.head(stream, Reply::new(200));
    for _ in 0..59 {
        sim.part(stream, b"data: x\n\n", false);
        sim.run(ms(1000));
    }
    assert_eq!(sim.state(next), State::Waiting);
    sim.part(stream, b"data: [DONE]\n\n", true);
    assert_eq!(sim.state(next), State::Running(1));
    sim.check();
}

#[test]
fn l1_trailers_are_the_last_byte() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let [stream, next] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.head(stream, Reply::new(200));
    sim.part(stream, b"x", false);
    assert_eq!(sim.state(next), State::Waiting);
    sim.trailers(stream);
    assert_eq!(sim.state(next), State::Running(1));
}

#[test]
fn l1_a_refusal_gives_its_slot_back_at_its_headers() {
    for status in [429, 503, 529] {
        let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
        let refused = sim.arrive(Ask::on(0));
        let next = sim.arrive(Ask::on(1));
        sim.head(refused, Reply::new(status));
        assert_eq!(sim.sums().running, 0, "{status}");
        // The pause is over long before the refusal's body.
        sim.run(ms(300));
        assert_eq!(sim.state(next), State::Running(1), "{status}");
        sim.check();
    }
}

#[test]
fn l1_an_answer_that_may_be_no_refusal_keeps_its_slot_until_it_is_known() {
    for status in [400, 403, 500] {
        let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
        let [refused, next] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
        sim.head(refused, Reply::new(status));
        assert_eq!(sim.state(next), State::Waiting, "{status}");
        sim.part(refused, b"{}", true);
        assert_eq!(sim.state(next), State::Running(1), "{status}");
        assert_eq!(sim.state(refused), State::Answered(status));
    }
}

#[test]
fn l1_nothing_is_granted_while_unplanned_attempts_are_over_the_cap() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
    let first = sim.arrive(Ask::on(0));
    let next = sim.arrive(Ask::on(1));
    let hedge = sim.hedge(first);
    sim.check();
    assert_eq!(sim.in_flight(), 2);
    sim.end_attempt(first, hedge);
    sim.settle();
    assert_eq!(sim.state(next), State::Waiting);
    sim.answer(first, Reply::ok());
    assert_eq!(sim.state(next), State::Running(1));
    sim.run(ms(300));
    assert_eq!(sim.count("unplanned"), 1);
    sim.check();
}

#[test]
fn l1_no_cap_never_queues() {
    let mut sim = Sim::policy(2, "");
    for n in 0..500 {
        sim.arrive(Ask::on(n % 2));
    }
    assert_eq!(running(&sim).len(), 500);
    sim.check();
}

#[test]
fn l1_keys_have_caps_of_their_own() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let a = sim.arrive(Ask::on(0).cluster("a"));
    let b = sim.arrive(Ask::on(0).cluster("b"));
    let waits = sim.arrive(Ask::on(0).cluster("b"));
    assert_eq!(sim.state(a), State::Running(1));
    assert_eq!(sim.state(b), State::Running(1));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.check();
}

#[test]
fn a_call_under_no_policy_is_untouched() {
    let mut sim = Sim::new(1, r#"{"policies":[]}"#);
    let call = sim.arrive(Ask::on(0).header("x-weir-note", "kept"));
    assert_eq!(sim.calls[call].headers.len(), 3);
    sim.answer(call, Reply::rate());
    assert_eq!(sim.state(call), State::Answered(429));
    assert_eq!(sim.received(call).headers.len(), 1);
}
