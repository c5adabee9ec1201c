#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::sim;
use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

const CAP: &str = r#""max_concurrent_calls":2,"queue":{"max_wait_ms":600000}"#;

/// Two calls run on the first worker and two wait on each; the first worker's thread stands still
/// until it is given up.
fn given_up() -> (Sim, [usize; 6]) {
    let mut sim = sim(CAP);
    let calls = [0, 0, 1, 0, 0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.seats[0].is_blocked = true;
    sim.run(ms(3000));
    assert_eq!(sim.plugin("reaped"), 1);
    (sim, calls)
}

#[test]
fn l1_a_slow_worker_comes_back_over_the_cap_and_nothing_starts_until_it_is_below() {
    let (mut sim, calls) = given_up();
    // Nobody can tell that its calls still run.
    assert_eq!(sim.state(calls[2]), State::Running(1));
    assert_eq!(sim.state(calls[5]), State::Running(1));
    sim.seats[0].is_blocked = false;
    sim.run(ms(300));
    assert_eq!((sim.plugin("reaped"), sim.plugin("reaped_alive")), (1, 1));
    assert_eq!(sim.sums().running, 4);
    sim.check();
    sim.answer(calls[2], Reply::ok());
    sim.answer(calls[0], Reply::ok());
    assert_eq!(sim.in_flight(), 2, "at the cap, and nobody started");
    sim.answer(calls[5], Reply::ok());
    assert_eq!(sim.state(calls[3]), State::Running(1), "in its old place");
    assert_eq!(sim.in_flight(), 2);
    sim.check();
    for id in [1, 3, 4] {
        sim.answer(calls[id], Reply::ok());
    }
    sim.check_empty();
}

#[test]
fn l1_a_worker_that_was_given_up_speaks_under_its_new_name_at_once() {
    // It is its own calls that tell it, before its next tick.
    let (mut sim, calls) = given_up();
    sim.seats[0].next_tick = sim.now + ms(5000);
    sim.seats[0].is_blocked = false;
    sim.answer(calls[0], Reply::ok());
    let owners: Vec<_> = sim.records()[0].entries.iter().map(|e| e.owner).collect();
    let names: Vec<_> = owners.iter().map(|o| (o.slot, o.generation)).collect();
    assert_eq!(
        names,
        [(0, 2), (1, 1)],
        "its first name was 0 of generation 1"
    );
    assert_eq!(sim.sums().running, 3);
    sim.check();
}

#[test]
fn l2_waiters_of_a_worker_that_was_given_up_keep_their_places() {
    let mut sim = sim(r#""max_concurrent_calls":1,"queue":{"max_wait_ms":600000}"#);
    let calls = [1, 0, 1, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.seats[0].is_blocked = true;
    sim.run(ms(3000));
    sim.seats[0].is_blocked = false;
    sim.run(ms(300));
    for id in calls {
        assert_eq!(sim.state(id), State::Running(1));
        sim.answer(id, Reply::ok());
    }
    assert_eq!(sim.started, calls[1..]);
    assert_eq!(sim.count("grants_by_tick"), 0);
    sim.check_empty();
}

#[test]
fn a_worker_that_is_late_for_less_than_two_seconds_is_not_given_up() {
    let mut sim = sim(CAP);
    sim.arrive(Ask::on(0));
    sim.arrive(Ask::on(1));
    for _ in 0..5 {
        sim.seats[0].is_blocked = true;
        sim.run(ms(1750));
        sim.seats[0].is_blocked = false;
        sim.run(ms(200));
    }
    assert_eq!(sim.plugin("reaped"), 0);
}

#[test]
fn a_process_that_was_stopped_gives_nobody_up() {
    let mut sim = sim(CAP);
    let calls = [0, 1, 0, 1].map(|w| sim.arrive(Ask::on(w)));
    for late in 0..3 {
        sim.run(ms(700));
        sim.jump(ms(10_000));
        // One thread gets to run later than the others.
        sim.seats[late].is_blocked = true;
        sim.run(ms(1500));
        sim.seats[late].is_blocked = false;
        sim.run(ms(3000));
    }
    assert_eq!((sim.plugin("reaped"), sim.plugin("reaped_alive")), (0, 0));
    sim.check();
    for id in calls {
        sim.answer(id, Reply::ok());
    }
    sim.check_empty();
}

#[test]
fn an_observer_that_looks_too_seldom_gives_nobody_up() {
    let mut sim = Sim::policy(2, CAP);
    sim.arrive(Ask::on(0));
    sim.seats[0].is_blocked = true;
    for _ in 0..10 {
        sim.jump(ms(510));
        sim.tick(1);
    }
    assert_eq!(sim.plugin("reaped"), 0);
    sim.run(ms(2500));
    assert_eq!(sim.plugin("reaped"), 1, "now it was there all the time");
}
