//! One half only, and attempts that Envoy starts on its own.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::{header, ms};
use crate::memhost::{Ask, Reply, Sim, State, Vm};

const ONE: &str = r#""max_concurrent_calls":1"#;

fn gate_alone() -> Sim {
    let mut sim = Sim::policy(2, ONE);
    sim.has_attempt = false;
    sim
}

fn attempt_alone() -> Sim {
    let mut sim = Sim::policy(2, "");
    sim.has_gate = false;
    sim.route.own_retries = 5;
    sim
}

#[test]
fn gate_alone_caps_and_queues() {
    let mut sim = gate_alone();
    let [first, second] = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.head(first, Reply::new(200));
    assert_eq!(sim.state(second), State::Waiting);
    sim.part(first, b"x", true);
    assert_eq!(sim.state(second), State::Running(1));
    sim.answer(second, Reply::ok());
    sim.run(ms(300));
    assert_eq!(sim.plugin("avoided.no_attempt_half"), 2);
    sim.check_empty();
}

#[test]
fn gate_alone_frees_the_slot_at_a_refusals_headers_and_classifies_by_them() {
    let mut sim = gate_alone();
    let [first, second] = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.head(first, Reply::new(503).header("retry-after", "9"));
    assert_eq!(sim.sums().running, 0);
    sim.run(ms(8999));
    assert_eq!(sim.state(second), State::Waiting, "the gate alone pauses");
    sim.run(ms(1));
    assert_eq!(sim.state(second), State::Running(1));
    sim.part(first, b"busy", true);
    assert_eq!(sim.state(first), State::Answered(503));
    assert_eq!(
        sim.got(first, "x-weir-class").as_deref(),
        Some("overloaded")
    );
    sim.answer(second, Reply::ok());
    sim.run(ms(300));
    assert_eq!(sim.count("refusals.class.overloaded"), 1);
    assert_eq!(sim.count("gave_up.class.overloaded"), 1);
    sim.check_empty();
}

#[test]
fn gate_alone_takes_envoys_own_answer_for_no_refusal() {
    let mut sim = gate_alone();
    let id = sim.arrive(Ask::on(0));
    sim.local_reply(id, 503);
    assert_eq!(sim.got(id, "x-weir-class"), None);
    sim.run(ms(300));
    assert_eq!(sim.count("refusals.class.overloaded"), 0);
    assert_eq!(sim.plugin("avoided.no_attempt_half"), 0);
    sim.check_empty();
}

#[test]
fn attempt_alone_classifies_and_retries_and_counts_first_attempts_as_unplanned() {
    let mut sim = attempt_alone();
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    assert_eq!(sim.state(id), State::Held(1));
    sim.check();
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Running(2));
    sim.answer(id, Reply::ok());
    assert_eq!(sim.state(id), State::Answered(200));
    sim.run(ms(300));
    assert_eq!(sim.count("unplanned"), 1);
    assert_eq!(sim.count("retries.class.rate"), 1);
    assert_eq!(sim.plugin("avoided.no_gate_half"), 1);
    let said = |(_, line): &(_, String)| line.contains(r#""kind":"no_gate_half""#);
    assert!(sim.memory.state().lines.iter().any(said));
    sim.check_empty();
}

#[test]
fn l11_attempt_alone_changes_no_more_than_a_retry_needs() {
    let mut sim = attempt_alone();
    sim.route.own_retries = 0;
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::new(503).header("retry-after", "1"));
    sim.run(ms(2000));
    assert_eq!(
        sim.state(id),
        State::Answered(503),
        "nobody would put it back"
    );
    assert_eq!(sim.got(id, "retry-after").as_deref(), Some("1"));
}

#[test]
fn attempt_alone_lets_no_mark_of_the_providers_cause_a_retry() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1,"queue":{"max_wait_ms":100}"#);
    sim.has_gate = false;
    sim.route.own_retries = 5;
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate().header("x-weir-retry", "1"));
    let _in_the_way = sim.arrive(Ask::on(0));
    sim.run(ms(4000));
    assert_eq!(sim.state(id), State::Answered(429), "given up, and no more");
}

#[test]
fn l14_a_refusal_whose_body_stays_unseen_is_not_held() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0));
    sim.head(id, Reply::rate());
    sim.run(ms(1020));
    assert_eq!(sim.state(id), State::Answered(429));
    assert_eq!(sim.plugin("avoided.no_stop_iteration"), 1);
    assert_eq!(sim.count("gave_up.class.rate"), 1);
}

#[test]
fn attempt_alone_forgets_a_call_that_nothing_follows() {
    let mut sim = attempt_alone();
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.abort(id);
    assert_eq!(sim.sums(), Default::default());
    sim.run(ms(2000));
    assert!(!sim.seats[0].is_busy(weir::core::time::Time::NEVER));
    sim.check_empty();
}

#[test]
fn attempt_alone_gives_a_grant_back_that_no_attempt_takes_up() {
    let mut sim = attempt_alone();
    sim.route.own_retries = 0;
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    assert!(sim.calls[id].is_over, "the route does not retry");
    assert_eq!(sim.sums().running, 1);
    sim.run(ms(2000));
    assert_eq!(sim.sums(), Default::default());
}

#[test]
fn attempt_alone_changes_nothing_in_a_refusal_that_is_passed_on() {
    let mut sim = attempt_alone();
    let id = sim.arrive(Ask::on(0).uploading());
    sim.answer(id, Reply::new(503).header("retry-after", "2").body("busy"));
    let expected = vec![
        (b":status".to_vec(), b"503".to_vec()),
        (b"retry-after".to_vec(), b"2".to_vec()),
    ];
    assert_eq!(sim.received(id).headers, expected);
    sim.check_empty();
}

#[test]
fn unplanned_attempts_are_never_paused_and_go_over_the_cap() {
    let mut sim = Sim::policy(2, ONE);
    let id = sim.arrive(Ask::on(0));
    let waits = sim.arrive(Ask::on(1));
    sim.try_again(id);
    assert_eq!(sim.state(id), State::Running(2));
    // The slot of the attempt before went to the next in line.
    assert_eq!(sim.state(waits), State::Running(1));
    assert_eq!(sim.in_flight(), 2);
    sim.check();
    sim.run(ms(300));
    assert_eq!(sim.count("unplanned"), 1);
}

#[test]
fn a_per_try_timeout_during_a_hold_ends_the_hold() {
    let mut sim = Sim::policy(1, ONE);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(500));
    sim.try_again(id);
    assert_eq!(sim.sums().held, 0);
    assert_eq!(sim.state(id), State::Running(2));
    sim.run(ms(3000));
    sim.answer(id, Reply::ok());
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.began(id), [0, 500]);
    sim.check_empty();
}

#[test]
fn a_route_timeout_during_a_hold_ends_the_call() {
    for wait in [0, 500, 1500] {
        let mut sim = Sim::policy(1, ONE);
        let id = sim.arrive(Ask::on(0));
        sim.answer(id, Reply::rate());
        let other = sim.arrive(Ask::on(0));
        sim.run(ms(wait));
        sim.local_reply(id, 504);
        assert_eq!(sim.state(id), State::Answered(504));
        assert_eq!(sim.sums().held, 0);
        sim.run(ms(300));
        sim.answer(other, Reply::ok());
        sim.check_empty();
    }
}

#[test]
fn of_two_hedged_attempts_the_success_wins_and_both_are_free() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0));
    let first = sim.latest(id);
    let hedge = sim.hedge(id);
    sim.answer_on(id, first, Reply::rate());
    assert_eq!(sim.sums().held, 1);
    sim.answer_on(id, hedge, Reply::ok());
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.sums(), Default::default());
    sim.check_empty();
}

#[test]
fn of_two_refused_hedged_attempts_one_is_held() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0));
    let first = sim.latest(id);
    let hedge = sim.hedge(id);
    sim.answer_on(id, first, Reply::rate());
    sim.answer_on(id, hedge, Reply::new(503).body("busy"));
    assert_eq!(sim.state(id), State::Answered(503));
    assert_eq!(sim.received(id).body, b"busy");
    sim.run(ms(300));
    assert_eq!(sim.plugin("avoided.hold_taken"), 1);
    sim.check_empty();
}

#[test]
fn a_hedged_refusal_that_is_read_when_the_other_is_granted_is_held_in_its_turn() {
    let mut sim = Sim::policy(1, "");
    sim.route.back_off = ms(25);
    let id = sim.arrive(Ask::on(0));
    let first = sim.latest(id);
    let hedge = sim.hedge(id);
    sim.answer_on(id, first, Reply::rate());
    sim.run(ms(500));
    sim.head_on(id, hedge, &Reply::new(429), false);
    sim.run(ms(510));
    sim.part_on(id, hedge, b"{}", true);
    sim.run(ms(40));
    assert_eq!(sim.calls[id].began.len(), 3);
    sim.answer(id, Reply::ok());
    assert_eq!(sim.state(id), State::Answered(200));
    sim.check_empty();
}

#[test]
fn the_router_is_told_how_often_it_may_retry() {
    for (fields, most) in [
        ("", Some("2")),
        (r#""retry":{"burst_max_attempts":6}"#, Some("5")),
        (
            r#""retry":{"retry_max_attempts":1,"burst_max_attempts":1}"#,
            None,
        ),
    ] {
        let mut sim = Sim::policy(1, fields);
        let id = sim.arrive(Ask::on(0));
        let told = header(&sim.calls[id].headers, "x-envoy-max-retries");
        assert_eq!(told.as_deref(), most, "{fields}");
    }
}

#[test]
fn of_two_hedged_refusals_without_end_one_is_let_go() {
    let mut sim = Sim::policy(1, r#""retry":{"retry_max_attempts":1}"#);
    let id = sim.arrive(Ask::on(0));
    let first = sim.latest(id);
    let hedge = sim.hedge(id);
    for stream in [first, hedge] {
        sim.head_on(id, stream, &Reply::new(429), false);
        sim.part_on(id, stream, b"{}", false);
    }
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Answered(429));
    sim.abort(id);
    sim.check_empty();
}

#[test]
fn attempt_alone_a_dropped_retry_leaves_the_attempt_beside_it_its_slot() {
    let mut sim = attempt_alone();
    sim.route.back_off = ms(25);
    let id = sim.arrive(Ask::on(0));
    let first = sim.latest(id);
    let hedge = sim.hedge(id);
    sim.answer_on(id, first, Reply::rate());
    sim.run(ms(1010));
    assert_eq!(sim.state(id), State::Running(2), "and a retry is due");
    sim.head_on(id, hedge, &Reply::new(200), false);
    sim.run(ms(3000));
    assert_eq!(sim.sums().running, 1, "the stream's");
    assert_eq!(sim.count("retry_dropped"), 1);
    sim.part_on(id, hedge, b"end", true);
    assert_eq!(sim.sums().running, 0);
    sim.check_empty();
}
