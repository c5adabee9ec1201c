//! L3, L4, L5, L8: whoever goes, and whenever, leaves nothing behind and passes on what it had.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

const ONE: &str = r#""max_concurrent_calls":1"#;

/// A phase of a call's life: its name, what brings a call there under a cap of 1 while nobody else
/// is there, and for how long it has the gate shut.
type Phase = (&'static str, fn(&mut Sim, usize), u64);

fn phases() -> Vec<Phase> {
    vec![
        ("running", |_, _| {}, 0),
        (
            "streaming",
            |sim, id| {
                sim.head(id, Reply::new(200));
                sim.part(id, b"x", false);
            },
            0,
        ),
        (
            "reading what may be a refusal",
            |sim, id| sim.head(id, Reply::new(400)),
            0,
        ),
        (
            "retried",
            |sim, id| {
                sim.answer(id, Reply::rate());
                sim.run(ms(1000));
                assert_eq!(sim.state(id), State::Running(2));
            },
            0,
        ),
        (
            "about to be retried",
            |sim, id| {
                sim.route.back_off = ms(25);
                sim.answer(id, Reply::rate());
                sim.run(ms(1000));
                assert_eq!(sim.state(id), State::Retrying);
            },
            0,
        ),
        ("held", |sim, id| sim.answer(id, Reply::rate()), 300),
        (
            "reading a refusal",
            |sim, id| sim.head(id, Reply::new(429)),
            300,
        ),
    ]
}

#[test]
fn l5_a_client_that_goes_away_passes_its_slot_on_at_once() {
    for (phase, bring, pause) in phases() {
        for attempts_first in [false, true] {
            let mut sim = Sim::policy(2, ONE);
            let gone = sim.arrive(Ask::on(0));
            bring(&mut sim, gone);
            let next = sim.arrive(Ask::on(1));
            assert_eq!(sim.state(next), State::Waiting, "{phase}");
            sim.abort_in_order(gone, attempts_first);
            sim.run(ms(pause));
            assert_eq!(sim.state(next), State::Running(1), "{phase}");
            sim.check();
            sim.answer(next, Reply::ok());
            sim.check_empty();
        }
    }
}

#[test]
fn l5_a_waiter_that_goes_away_leaves_its_place_to_the_next() {
    let mut sim = Sim::policy(2, ONE);
    let running = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    let gone = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    let next = sim.arrive(Ask::on(1));
    sim.abort(gone);
    sim.check();
    sim.answer(running, Reply::ok());
    assert_eq!(sim.state(next), State::Running(1));
}

#[test]
fn l5_a_grant_whose_waiter_has_gone_passes_to_the_next() {
    let mut sim = Sim::policy(2, ONE);
    let running = sim.arrive(Ask::on(1));
    sim.run(ms(1));
    let gone = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    let next = sim.arrive(Ask::on(1));
    sim.seats[0].is_blocked = true;
    sim.answer(running, Reply::ok());
    assert_eq!(sim.sums().granted, 1);
    sim.abort(gone);
    assert_eq!(sim.state(next), State::Running(1));
    sim.seats[0].is_blocked = false;
    sim.settle();
    sim.check();
}

#[test]
fn l5_a_held_call_that_has_its_turn_and_goes_away_passes_it_on() {
    let mut sim = Sim::policy(2, ONE);
    let gone = sim.arrive(Ask::on(0));
    let running = sim.arrive(Ask::on(1));
    let next = sim.arrive(Ask::on(1));
    sim.answer(gone, Reply::rate());
    sim.run(ms(1000));
    assert_eq!(sim.sums().waiting, 2);
    sim.seats[0].is_blocked = true;
    sim.answer(running, Reply::ok());
    sim.abort(gone);
    sim.seats[0].is_blocked = false;
    sim.settle();
    assert_eq!(sim.state(next), State::Running(1));
    sim.answer(next, Reply::ok());
    sim.check_empty();
}

#[test]
fn l4_an_answer_from_envoy_itself_frees_all() {
    for (phase, bring, _) in phases() {
        if phase == "streaming" {
            continue;
        }
        let mut sim = Sim::policy(1, ONE);
        let id = sim.arrive(Ask::on(0));
        bring(&mut sim, id);
        sim.local_reply(id, 504);
        assert_eq!(sim.state(id), State::Answered(504), "{phase}");
        sim.check_empty();
    }
}

#[test]
fn l4_a_waiter_that_envoy_answers_leaves_the_queue() {
    let mut sim = Sim::policy(1, ONE);
    let running = sim.arrive(Ask::on(0));
    let waits = sim.arrive(Ask::on(0));
    sim.local_reply(waits, 408);
    assert_eq!(sim.sums().waiting, 0);
    sim.answer(running, Reply::ok());
    sim.check_empty();
}

#[test]
fn l8_a_call_that_never_starts_costs_nothing() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1,"queue":{"max_wait_ms":500}"#);
    let running = sim.arrive(Ask::on(0));
    let late = sim.arrive(Ask::on(0));
    let impatient = sim.arrive(Ask::on(0).header("x-weir-no-wait", "1"));
    let gone = sim.arrive(Ask::on(0));
    sim.abort(gone);
    sim.run(ms(500));
    assert_eq!(sim.state(late), State::Refused("wait_too_long".into()));
    assert_eq!(sim.state(impatient), State::Refused("no_wait".into()));
    assert_eq!(sim.sums().running, 1);
    sim.answer(running, Reply::ok());
    sim.run(ms(300));
    assert_eq!(sim.count("admitted"), 1);
    sim.check_empty();
}

#[test]
fn l4_the_gauges_show_what_is_there() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":2"#);
    let held = sim.arrive(Ask::on(0));
    for n in 0..5 {
        sim.arrive(Ask::on(n % 2));
    }
    sim.answer(held, Reply::new(429).header("retry-after", "50").body("{}"));
    sim.run(ms(250));
    let gauges = ["slots", "waiting", "held", "limit"].map(|name| sim.gauge(name));
    assert_eq!(gauges, [Some(1), Some(4), Some(1), Some(2)]);
    let left = sim.gauge("pause_left_ms").expect("a gauge");
    assert!((49_700..50_000).contains(&left), "{left}");
    assert_eq!(sim.memory.gauge("weir.plugin.keys"), Some(1));
    assert_eq!(sim.memory.gauge("weir.plugin.workers"), Some(2));
}
