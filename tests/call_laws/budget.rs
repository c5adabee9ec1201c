//! Retries are bounded by a share of recent calls, over all workers.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim, State};

fn sim(workers: usize, percent: u32, per_second: u32) -> Sim {
    let fields = format!(
        r#""retry":{{"retry_ratio_percent":{percent},"retry_ratio_min_per_second":{per_second}}}"#
    );
    let sim = Sim::policy(workers, &fields);
    sim.memory.state().random = Random::Always(0);
    sim
}

/// How many of `calls` calls, all refused now, are held.
fn held(sim: &mut Sim, calls: usize) -> usize {
    let workers = sim.seats.len();
    let calls: Vec<_> = (0..calls)
        .map(|n| sim.arrive(Ask::on(n % workers)))
        .collect();
    for id in &calls {
        sim.answer(*id, Reply::rate());
    }
    let is_held = |id: &&usize| sim.state(**id) == State::Held(1);
    calls.iter().filter(is_held).count()
}

#[test]
fn retries_are_a_share_of_the_calls_of_all_workers() {
    let mut sim = sim(3, 20, 0);
    for n in 0..60 {
        let id = sim.arrive(Ask::on(n % 3));
        sim.answer(id, Reply::ok());
    }
    assert_eq!(held(&mut sim, 40), 20);
    sim.run(ms(300));
    assert_eq!(sim.plugin("avoided.retry_budget"), 20);
    assert_eq!(sim.count("gave_up.class.rate"), 20);
    sim.check();
}

#[test]
fn a_floor_of_retries_is_allowed_whatever_the_calls() {
    assert_eq!(held(&mut sim(2, 0, 1), 30), 10);
    // What is configured where nothing is said: 100 and a fifth of the calls.
    assert_eq!(held(&mut Sim::policy(2, ""), 200), 140);
}

#[test]
fn a_retry_is_paid_for_ten_seconds_and_a_call_pays_for_as_long() {
    let mut sim = sim(1, 10, 1);
    let calls: Vec<_> = (0..100).map(|_| sim.arrive(Ask::on(0))).collect();
    let refuse = |sim: &mut Sim, calls: &[usize]| {
        for id in calls {
            sim.answer(*id, Reply::rate());
        }
        let is_held = |id: &&usize| sim.state(**id) == State::Held(1);
        calls.iter().filter(is_held).count()
    };
    assert_eq!(refuse(&mut sim, &calls[..30]), 20);
    sim.run(ms(9999));
    assert_eq!(refuse(&mut sim, &calls[30..50]), 0);
    sim.run(ms(1));
    assert_eq!(refuse(&mut sim, &calls[50..]), 10, "the floor alone");
}

#[test]
fn l11_a_refusal_beyond_the_budget_is_the_providers_own_and_final() {
    let mut sim = sim(1, 0, 0);
    let id = sim.arrive(Ask::on(0));
    sim.answer(
        id,
        Reply::rate()
            .header("x-own", "1")
            .header("retry-after", "1"),
    );
    assert_eq!(sim.state(id), State::Answered(429));
    for (name, value) in [
        ("x-own", "1"),
        ("retry-after", "1"),
        ("x-weir-class", "rate"),
        ("x-weir-attempts", "1"),
        // One try more by its client is one too many as well.
        ("x-should-retry", "false"),
    ] {
        assert_eq!(sim.got(id, name).as_deref(), Some(value), "{name}");
    }
    let is_advice = |line: &&(_, String)| {
        line.1.contains(r#""policy":"p","kind":"retry_budget""#)
            && line.1.contains("retry_ratio_percent")
    };
    let advice = sim.memory.state().lines.iter().filter(is_advice).count();
    assert_eq!(advice, 1);
    sim.check_empty();
}

#[test]
fn calls_that_weir_refused_pay_for_no_retries() {
    let fields = concat!(
        r#""max_concurrent_calls":1,"queue":{"max_waiting":1},"#,
        r#""retry":{"retry_ratio_percent":20,"retry_ratio_min_per_second":0}"#
    );
    let mut sim = Sim::policy(1, fields);
    let [id, _] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    for _ in 0..10 {
        let full = sim.arrive(Ask::on(0));
        assert_eq!(sim.state(full), State::Refused("queue_full".into()));
    }
    sim.answer(id, Reply::rate());
    assert_eq!(sim.state(id), State::Answered(429));
}

#[test]
fn without_a_gate_half_calls_pay_for_retries_too() {
    let mut sim = sim(1, 50, 0);
    sim.has_gate = false;
    sim.route.own_retries = 5;
    for _ in 0..2 {
        sim.arrive(Ask::on(0));
    }
    sim.answer(0, Reply::rate());
    sim.answer(1, Reply::rate());
    assert_eq!(sim.states(), [State::Held(1), State::Answered(429)]);
}

#[test]
fn another_key_has_another_budget() {
    let fields = r#""retry":{"retry_ratio_percent":0,"retry_ratio_min_per_second":1}"#;
    let mut sim = Sim::policy(1, fields);
    for (cluster, expected) in [("a", 10), ("b", 10)] {
        let calls: Vec<_> = (0..12)
            .map(|_| sim.arrive(Ask::on(0).cluster(cluster)))
            .collect();
        for id in &calls {
            sim.answer(*id, Reply::rate());
        }
        let held = calls.iter().filter(|id| sim.state(**id) == State::Held(1));
        assert_eq!(held.count(), expected);
    }
}
