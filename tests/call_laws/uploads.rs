//! How requests go out and bodies of refusals come in: never a hold that Envoy does not survive.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

const BURST: &[u8] = br#"{"error":{"code":"RequestBurstTooFast"}}"#;

fn one() -> (Sim, usize) {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let id = sim.arrive(Ask::on(0));
    (sim, id)
}

#[test]
fn a_refusal_before_the_request_is_complete_is_never_held() {
    for body in ["", "{}"] {
        let mut sim = Sim::policy(1, "");
        let id = sim.arrive(Ask::on(0).uploading());
        sim.answer(id, Reply::new(429).body(body));
        assert_eq!(sim.state(id), State::Answered(429));
        sim.run(ms(300));
        assert_eq!(sim.plugin("avoided.request_incomplete"), 1);
        assert_eq!(sim.count("gave_up.class.rate"), 1);
        sim.check_empty();
    }
}

#[test]
fn a_request_that_is_completed_while_the_refusal_comes_is_not_held_either() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0).uploading());
    sim.head(id, Reply::new(429));
    sim.complete_request(id);
    sim.part(id, b"{}", true);
    assert_eq!(sim.state(id), State::Answered(429));
}

#[test]
fn a_request_that_was_completed_before_the_refusal_is_retried() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0).uploading());
    sim.complete_request(id);
    sim.answer(id, Reply::rate());
    assert_eq!(sim.state(id), State::Held(1));
}

#[test]
fn a_refusal_in_pieces_is_classified_at_its_end() {
    let (mut sim, id) = one();
    sim.head(id, Reply::new(429));
    for byte in BURST {
        sim.part(id, &[*byte], false);
        assert_eq!(sim.state(id), State::Held(1));
    }
    sim.part(id, b"", true);
    sim.run(ms(4999));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Running(2), "the window of burst_rate");
}

#[test]
fn trailers_end_a_refusal() {
    let (mut sim, id) = one();
    sim.head(id, Reply::new(429));
    sim.part(id, BURST, false);
    sim.trailers(id);
    sim.run(ms(300));
    assert_eq!(sim.count("refusals.class.burst_rate"), 1);
    sim.run(ms(4700));
    assert_eq!(sim.state(id), State::Running(2));
}

#[test]
fn a_refusal_without_a_body_is_held_at_its_headers() {
    let (mut sim, id) = one();
    sim.answer(id, Reply::new(429));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Running(2));
}

#[test]
fn a_body_of_16_kib_is_held_and_one_byte_more_is_passed_on() {
    for (size, held) in [(16 * 1024, true), (16 * 1024 + 1, false)] {
        let (mut sim, id) = one();
        sim.head(id, Reply::new(429));
        sim.part(id, &vec![b' '; size], false);
        assert_eq!(sim.state(id) == State::Held(1), held);
        sim.part(id, b"", true);
        assert_eq!(sim.state(id) == State::Held(1), held);
        sim.run(ms(300));
        assert_eq!(sim.plugin("avoided.body_over_cap"), u64::from(!held));
        if !held {
            assert_eq!(sim.state(id), State::Answered(429));
            assert_eq!(sim.received(id).body.len(), size);
            sim.check_empty();
        }
    }
}

#[test]
fn a_body_without_end_is_classified_after_a_second_and_retried_mid_body() {
    let (mut sim, id) = one();
    sim.head(id, Reply::new(429));
    sim.part(id, BURST, false);
    sim.run(ms(999));
    assert_eq!(sim.sums().held, 0);
    sim.run(ms(1));
    assert_eq!(sim.sums().held, 1);
    sim.part(id, b"  ", false);
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(5000));
    assert_eq!(sim.state(id), State::Running(2));
    assert_eq!(sim.plugin("avoided.body_without_end"), 1);
    assert_eq!(sim.count("refusals.class.burst_rate"), 1);
    sim.check();
}

#[test]
fn a_held_body_that_grows_over_the_cap_is_passed_on() {
    let (mut sim, id) = one();
    sim.head(id, Reply::new(503));
    sim.part(id, b"{}", false);
    sim.run(ms(1000));
    assert_eq!(sim.sums().held, 1);
    sim.part(id, &[b' '; 16 * 1024], false);
    assert_eq!(sim.state(id), State::Answered(503));
    assert_eq!(sim.got(id, "x-should-retry"), None, "there is time left");
    assert_eq!(sim.sums().held, 0);
    sim.part(id, b"end", true);
    assert_eq!(sim.received(id).body.len(), 16 * 1024 + 5);
    sim.check_empty();
}

#[test]
fn no_body_within_a_second_means_that_a_flag_is_missing() {
    let (mut sim, id) = one();
    sim.head(id, Reply::new(429));
    sim.run(ms(1300));
    assert_eq!(sim.plugin("avoided.no_stop_iteration"), 1);
    let said = sim
        .memory
        .state()
        .lines
        .iter()
        .any(|(_, line)| line.contains("allow_on_headers_stop_iteration"));
    assert!(said);
}

#[test]
fn an_error_without_end_that_is_no_refusal_goes_on_after_a_second_and_keeps_its_slot() {
    let (mut sim, id) = one();
    let next = sim.arrive(Ask::on(0));
    sim.head(id, Reply::new(500));
    sim.part(id, b"stack", false);
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Answered(500));
    assert_eq!(sim.state(next), State::Waiting);
    sim.part(id, b"trace", true);
    assert_eq!(sim.received(id).body, b"stacktrace");
    assert_eq!(sim.state(next), State::Running(1));
    sim.check();
}
