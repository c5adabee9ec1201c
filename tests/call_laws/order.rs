//! L2: who came first starts first, across workers, and a held call keeps its place.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

const ONE: &str = r#""ramp":{"mode":"off"},"max_concurrent_calls":1"#;

#[test]
fn l2_waiters_start_in_the_order_of_their_arrival_across_workers() {
    let mut sim = Sim::policy(3, ONE);
    let mut current = sim.arrive(Ask::on(0));
    let order = [2, 1, 1, 0, 2, 0, 0, 1, 2, 2];
    let waiters = order.map(|worker| {
        sim.run(ms(1));
        sim.arrive(Ask::on(worker))
    });
    for next in waiters {
        sim.answer(current, Reply::ok());
        assert_eq!(sim.state(next), State::Running(1));
        current = next;
    }
    sim.answer(current, Reply::ok());
    sim.check_empty();
}

#[test]
fn l2_a_held_call_is_in_nobodys_way_before_its_not_before() {
    let mut sim = Sim::policy(2, ONE);
    let held = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    let newer = [0, 1, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(held, Reply::rate());
    sim.run(ms(300));
    for call in newer {
        assert_eq!(sim.state(held), State::Held(1));
        assert_eq!(sim.state(call), State::Running(1));
        sim.answer(call, Reply::ok());
        sim.check_no_idle_slot();
    }
    // The slot is free, and still nobody starts.
    sim.run(ms(699));
    assert_eq!(sim.state(held), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(held), State::Running(2));
}

#[test]
fn l2_a_held_call_goes_ahead_of_newer_ones_once_its_not_before_has_passed() {
    for other in [0, 1] {
        let mut sim = Sim::policy(2, ONE);
        let held = sim.arrive(Ask::on(0));
        sim.run(ms(1));
        let running = sim.arrive(Ask::on(other));
        let newer = [0, 1].map(|w| {
            sim.run(ms(1));
            sim.arrive(Ask::on(w))
        });
        sim.answer(held, Reply::rate());
        sim.run(ms(1000));
        assert_eq!(sim.state(held), State::Held(1));
        sim.check();
        sim.answer(running, Reply::ok());
        assert_eq!(sim.state(held), State::Running(2));
        assert_eq!(sim.state(newer[0]), State::Waiting);
        sim.answer(held, Reply::ok());
        assert_eq!(sim.state(newer[0]), State::Running(1));
        assert_eq!(sim.state(newer[1]), State::Waiting);
    }
}

#[test]
fn l2_an_older_call_on_another_worker_gets_a_grant_that_was_meant_for_a_newer_one() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":2"#);
    let running = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(1));
    let a = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    let b = sim.arrive(Ask::on(1));
    sim.run(ms(1));
    let c = sim.arrive(Ask::on(0));
    // Both grants are made before worker 0 has claimed one: its second is provisional.
    sim.seats[0].is_blocked = true;
    sim.answer(running[0], Reply::ok());
    sim.answer(running[1], Reply::ok());
    sim.seats[0].is_blocked = false;
    sim.settle();
    assert_eq!(sim.state(a), State::Running(1));
    assert_eq!(sim.state(b), State::Running(1));
    assert_eq!(sim.state(c), State::Waiting);
    sim.check();
}

#[test]
fn l3_a_worker_that_does_not_answer_holds_no_grant() {
    let mut sim = Sim::policy(2, ONE);
    let running = sim.arrive(Ask::on(1));
    sim.run(ms(1));
    let blocked = sim.arrive(Ask::on(0));
    sim.run(ms(1));
    let other = sim.arrive(Ask::on(1));
    sim.seats[0].is_blocked = true;
    sim.answer(running, Reply::ok());
    sim.run(ms(19));
    assert_eq!(sim.state(other), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(other), State::Running(1), "after 20 ms");
    sim.seats[0].is_blocked = false;
    sim.run(ms(1));
    assert_eq!(sim.state(blocked), State::Waiting);
    sim.answer(other, Reply::ok());
    assert_eq!(sim.state(blocked), State::Running(1));
    sim.check();
}

#[test]
fn l3_a_lost_wake_up_is_made_good_by_a_tick() {
    let mut sim = Sim::policy(2, ONE);
    let running = sim.arrive(Ask::on(1));
    let waits = sim.arrive(Ask::on(0));
    sim.memory.state().faults.lost_wakes = true;
    sim.answer(running, Reply::ok());
    sim.run(ms(99));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Running(1));
    sim.run(ms(300));
    assert_eq!(sim.count("grants_by_tick"), 1);
    assert_eq!(sim.count("grants_by_wake"), 0);
}

#[test]
fn l3_where_no_wake_up_arrives_grants_do_not_go_round_for_ever() {
    let mut sim = Sim::policy(5, ONE);
    let running = sim.arrive(Ask::on(0));
    for worker in 1..5 {
        sim.arrive(Ask::on(worker));
    }
    sim.memory.state().faults.lost_wakes = true;
    sim.answer(running, Reply::ok());
    // Each grant passes on after 20 ms; who sees one again 100 ms after its first takes it.
    sim.run(ms(250));
    let is_running = |state: &State| *state == State::Running(1);
    assert_eq!(
        sim.states()
            .iter()
            .filter(|state| is_running(state))
            .count(),
        1
    );
    sim.check();
}
