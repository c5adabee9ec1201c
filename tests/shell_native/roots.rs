//! Configurations come and go: each has a root context, and the VM's work goes on under all of them.

use std::rc::Rc;

use crate::memhost::call::ms;
use crate::memhost::sim::{config, policy};
use crate::memhost::{Ask, Reply, Sim, State};

fn capped(budget_ms: u32) -> String {
    policy(&format!(
        r#""max_concurrent_calls":1,"retry":{{"budget_ms":{budget_ms}}}"#
    ))
}

/// Two workers under the first of two configurations with equal limits.
fn two() -> (Sim, String, String) {
    let (old, new) = (capped(60_000), capped(61_000));
    (Sim::new(2, &old), old, new)
}

#[test]
fn a_refused_configuration_changes_nothing_for_those_under_the_old_one() {
    let (mut sim, ..) = two();
    let running = sim.arrive(Ask::on(0));
    let waits = sim.arrive(Ask::on(0));
    for refused in ["{", "[]", r#"{"policies":[{"name":"P"}]}"#, "\0"] {
        let now = sim.now;
        assert!(!sim.seats[0].begin_root(now, refused), "{refused}");
    }
    let refusals = |(_, line): &&(_, String)| line.starts_with("weir: configuration refused");
    assert_eq!(sim.memory.state().lines.iter().filter(refusals).count(), 4);
    assert_eq!(sim.state(waits), State::Waiting);
    sim.answer(running, Reply::ok());
    assert_eq!(sim.state(waits), State::Running(1));
    sim.answer(waits, Reply::ok());
    sim.check_empty();
}

#[test]
fn cliff_10_wake_ups_reach_the_new_root_when_the_old_one_is_gone() {
    let (mut sim, old, new) = two();
    let running = sim.arrive(Ask::on(1));
    let before = sim.arrive(Ask::on(0));
    sim.abort(before);
    sim.reload(&new);
    let waits = sim.arrive(Ask::on(0));
    let now = sim.now;
    sim.seats[0].end_root(now, &old);
    sim.answer(running, Reply::ok());
    assert_eq!(
        sim.state(waits),
        State::Running(1),
        "and no time has passed"
    );
    sim.answer(waits, Reply::ok());
    sim.check_empty();
}

#[test]
fn cliff_10_going_back_without_on_configure_a_heartbeat_takes_the_queue_along() {
    let (mut sim, _, new) = two();
    let old = Rc::clone(&sim.seats[0].config);
    // Every worker has its queue.
    for worker in 0..2 {
        let id = sim.arrive(Ask::on(worker));
        sim.answer(id, Reply::ok());
    }
    sim.reload(&new);
    // Back again: new streams come under the old root, which Envoy does not configure anew.
    sim.seats[0].config = old;
    let now = sim.now;
    sim.seats[0].end_root(now, &new);
    sim.run(ms(500));
    let running = sim.arrive(Ask::on(1));
    let waits = sim.arrive(Ask::on(0));
    sim.answer(running, Reply::ok());
    assert_eq!(
        sim.state(waits),
        State::Running(1),
        "and no time has passed"
    );
    sim.answer(waits, Reply::ok());
    sim.check_empty();
}

#[test]
fn cliff_10_a_wake_up_to_a_root_that_is_gone_is_made_good_by_ticks() {
    let (mut sim, _, new) = two();
    let old = Rc::clone(&sim.seats[0].config);
    let running = sim.arrive(Ask::on(1));
    let warm = sim.arrive(Ask::on(0));
    sim.abort(warm);
    sim.reload(&new);
    sim.seats[0].config = old;
    let waits = sim.arrive(Ask::on(0));
    let now = sim.now;
    sim.seats[0].end_root(now, &new);
    sim.answer(running, Reply::ok());
    assert_eq!(sim.state(waits), State::Waiting, "nobody was woken");
    sim.run(ms(400));
    assert_eq!(sim.state(waits), State::Running(1));
    sim.answer(waits, Reply::ok());
    sim.check_empty();
}

#[test]
fn l6_streams_under_old_and_new_roots_share_one_gate_and_queue() {
    let (mut sim, old, new) = two();
    let draining = sim.arrive(Ask::on(0));
    let waits_under_old = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    sim.reload(&new);
    let waits_under_new = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(waits_under_new), State::Waiting);
    sim.answer(draining, Reply::rate());
    sim.run(ms(300));
    assert_eq!(sim.state(waits_under_old), State::Running(1));
    sim.answer(waits_under_old, Reply::ok());
    assert_eq!(sim.state(waits_under_new), State::Running(1));
    sim.answer(waits_under_new, Reply::ok());
    sim.run(ms(700));
    assert_eq!(sim.state(draining), State::Running(2), "a hold lives on");
    sim.answer(draining, Reply::ok());
    let now = sim.now;
    for seat in &mut sim.seats {
        seat.end_root(now, &old);
    }
    sim.check_empty();
}

#[test]
fn l6_configurations_come_and_go_under_load() {
    let mut sim = Sim::new(2, &capped(60_000));
    let mut previous = capped(60_000);
    for n in 0..20_u32 {
        let running: Vec<_> = (0..3).map(|k| sim.arrive(Ask::on(k % 2))).collect();
        let next = policy(&format!(r#""max_concurrent_calls":{}"#, 1 + n % 3));
        let next = match n % 4 {
            3 => capped(60_000 + n),
            _ => next,
        };
        sim.reload(&next);
        while let Some(id) = (0..sim.calls.len()).find(|id| sim.state(*id) == State::Running(1)) {
            sim.answer(id, Reply::ok());
        }
        for id in running {
            assert_eq!(sim.state(id), State::Answered(200), "round {n}");
        }
        if next != previous {
            let now = sim.now;
            for seat in &mut sim.seats {
                seat.end_root(now, &previous);
            }
            previous = next;
        }
    }
    assert!(sim.in_flight() == 0 && config(&previous).policies().len() == 1);
    sim.check_empty();
}
