//! L16: without shared data calls go on, and a gauge says so.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::seat::Seat;
use crate::memhost::{Ask, Reply, Sim, State, Vm};

fn degraded(sim: &Sim) -> Option<u64> {
    sim.memory.gauge("weir.plugin.degraded")
}

#[test]
fn l16_calls_go_on_without_shared_data() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
    sim.memory.state().faults.no_data = true;
    let calls = [0, 1, 0, 1].map(|w| sim.arrive(Ask::on(w)));
    assert!(calls.iter().all(|id| sim.state(*id) == State::Running(1)));
    sim.run(ms(300));
    assert_eq!(degraded(&sim), Some(1));
    for id in calls {
        sim.answer(id, Reply::ok());
        assert_eq!(sim.state(id), State::Answered(200));
    }
}

#[test]
fn l16_refused_calls_are_still_retried_not_before_their_time() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    sim.memory.state().faults.no_data = true;
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(999));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Running(2));
    sim.answer(id, Reply::ok());
    assert_eq!(sim.state(id), State::Answered(200));
}

#[test]
fn l16_the_gauge_falls_when_shared_data_is_back_and_the_cap_holds_again() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    sim.arrive(Ask::on(0));
    sim.memory.state().faults.no_data = true;
    let beyond = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(beyond), State::Running(1));
    sim.run(ms(300));
    assert_eq!(degraded(&sim), Some(1));
    sim.memory.state().faults.no_data = false;
    let waits = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(2000));
    assert_eq!(degraded(&sim), Some(0));
}

#[test]
fn l16_what_ended_meanwhile_is_given_back_when_shared_data_is_back() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":2"#);
    let calls = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.memory.state().faults.no_data = true;
    for id in calls {
        sim.answer(id, Reply::ok());
        assert_eq!(sim.state(id), State::Answered(200));
    }
    sim.run(ms(1000));
    sim.memory.state().faults.no_data = false;
    // A worker that found its own slot gone has taken another, and leaves the old one to be reaped.
    sim.run(ms(if Seat::TELLS_TROUBLE { 10 } else { 3000 }));
    assert_eq!(sim.sums(), Default::default());
    sim.check_empty();
}

#[test]
fn l16_no_slot_is_lost_when_writes_conflict() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":2"#);
    for worker in [0, 1] {
        // Nobody else writes what a worker registers itself with.
        let id = sim.arrive(Ask::on(worker));
        sim.answer(id, Reply::ok());
    }
    sim.memory.state().faults.conflict_every = 2;
    let calls: Vec<_> = (0..8).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    assert_eq!(sim.in_flight(), 2);
    for id in calls {
        sim.answer(id, Reply::ok());
    }
    sim.run(ms(300));
    assert!(sim.plugin("cas_conflicts") > 0);
    assert_eq!(sim.plugin("cas_exhausted"), 0);
    sim.memory.state().faults.conflict_every = 0;
    sim.check_empty();
}

#[test]
fn l4_a_slot_that_cannot_be_given_back_for_conflicts_is_given_back_later() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
    let first = sim.arrive(Ask::on(0));
    let waits = sim.arrive(Ask::on(1));
    sim.memory.state().faults.conflict_every = 1;
    sim.answer(first, Reply::ok());
    sim.run(ms(50));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.memory.state().faults.conflict_every = 0;
    sim.run(ms(10));
    assert_eq!(sim.state(waits), State::Running(1));
    sim.run(ms(300));
    assert!(sim.plugin("cas_exhausted") > 0);
    sim.check();
}

#[test]
fn a_call_that_cannot_ask_for_conflicts_waits_unless_it_would_rather_not() {
    let mut sim = Sim::policy(1, "");
    sim.arrive(Ask::on(0));
    sim.memory.state().faults.conflict_every = 1;
    let waits = sim.arrive(Ask::on(0));
    let no_wait = sim.arrive(Ask::on(0).header("x-weir-no-wait", "1"));
    assert_eq!(sim.state(waits), State::Waiting);
    assert_eq!(sim.state(no_wait), State::Refused("no_wait".into()));
    sim.memory.state().faults.conflict_every = 0;
    sim.run(ms(10));
    assert_eq!(sim.state(waits), State::Running(1));
    sim.check();
}
