#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{SOON, check_soon, sim};
use crate::memhost::call::ms;
use crate::memhost::seat::Seat;
use crate::memhost::{Ask, Reply, Sim, State, Vm};

/// Retries whose delay is exactly 10 ms, and a queue that waits for longer than any test here.
const QUICK: &str = r#""max_concurrent_calls":2,"queue":{"max_wait_ms":600000},
    "retry":{"retry_base_delay_ms":10,"retry_cap_delay_ms":100,"budget_ms":600000}"#;

#[test]
fn l4_running_calls_of_a_dead_worker_give_their_slots_to_those_who_wait() {
    let mut sim = sim(QUICK);
    let lost = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    let waits = [1, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.kill(0);
    check_soon(&mut sim);
    assert_eq!(lost.map(|id| sim.state(id)), [State::Lost, State::Lost]);
    for id in waits {
        assert_eq!(sim.state(id), State::Running(1));
        sim.answer(id, Reply::ok());
    }
    assert_eq!((sim.plugin("reaped"), sim.plugin("reaped_alive")), (1, 0));
    sim.check_empty();
}

#[test]
fn l4_the_gauges_are_right_three_seconds_after_a_death() {
    let mut sim = sim(QUICK);
    for worker in [0, 0, 0, 1] {
        sim.arrive(Ask::on(worker));
    }
    sim.run(ms(500));
    let gauges = |sim: &Sim| ["slots", "waiting", "held"].map(|name| sim.gauge(name));
    assert_eq!(gauges(&sim), [Some(2), Some(2), Some(0)]);
    assert_eq!(sim.memory.gauge("weir.plugin.workers"), Some(2));
    sim.kill(0);
    sim.run(ms(SOON));
    assert_eq!(gauges(&sim), [Some(1), Some(0), Some(0)]);
    assert_eq!(sim.memory.gauge("weir.plugin.workers"), Some(1));
}

#[test]
fn l4_nothing_is_left_when_the_only_worker_dies() {
    // The second VM has no call and no worker slot, as Envoy's main thread.
    let mut sim = Sim::policy(2, QUICK);
    for _ in 0..5 {
        sim.arrive(Ask::on(0));
    }
    sim.kill(0);
    sim.run(ms(SOON));
    assert_eq!(sim.sums(), Default::default());
    assert_eq!(sim.memory.gauge("weir.plugin.workers"), Some(0));
    sim.check_empty();
}

#[test]
fn l4_waiting_held_and_ready_calls_of_a_dead_worker_leave_the_queue() {
    let mut sim = sim(QUICK);
    let [held, runs, first, second] = [0, 0, 1, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(held, Reply::burst());
    sim.run(ms(300));
    sim.answer(first, Reply::ok());
    assert_eq!(
        sim.state(second),
        State::Running(1),
        "the probe was accepted"
    );
    sim.answer(second, Reply::rate());
    // One runs, one is held until 5 s, one is about to be ready, and one waits.
    let [waits, behind] = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(10));
    assert_eq!(
        [waits, behind].map(|id| sim.state(id)),
        [State::Waiting, State::Waiting]
    );
    assert_eq!(
        sim.state(second),
        State::Held(1),
        "ready, and the gate is shut"
    );
    assert_eq!(sim.state(runs), State::Running(1));
    assert_eq!(sim.sums().held, 2);
    sim.check();
    sim.kill(0);
    check_soon(&mut sim);
    assert_eq!(sim.state(behind), State::Running(1));
    sim.answer(behind, Reply::ok());
    sim.check_empty();
}

#[test]
fn l5_a_grant_that_a_dead_worker_had_not_taken_passes_on() {
    let mut sim = sim(r#""max_concurrent_calls":1"#);
    let first = sim.arrive(Ask::on(1));
    sim.arrive(Ask::on(0));
    sim.seats[0].is_blocked = true;
    sim.answer(first, Reply::ok());
    assert_eq!(sim.sums().granted, 1);
    sim.kill(0);
    check_soon(&mut sim);
    sim.check_empty();
}

/// Everything a call can do on a worker, with another worker in the same queue. Returns false if
/// the worker died over it.
fn live(sim: &mut Sim) -> bool {
    let mut ids: Vec<_> = [0, 0, 1, 0, 1, 0].map(|w| sim.arrive(Ask::on(w))).into();
    let end = sim.now + ms(120);
    let mut refuse = true;
    while sim.now < end {
        for id in ids.clone() {
            if matches!(sim.state(id), State::Running(1)) && refuse {
                sim.answer(id, Reply::rate());
            } else if matches!(sim.state(id), State::Running(2)) {
                sim.answer(id, Reply::ok());
            } else if sim.state(id) == State::Waiting && id % 5 == 0 {
                sim.abort(id);
            }
            refuse = !refuse;
        }
        if ids.len() < 12 {
            ids.push(sim.arrive(Ask::on(0)));
        }
        sim.run(ms(5));
    }
    !sim.is_dead(0)
}

/// Every host call under `WEIR_PROVE=1`; else as many as take a few seconds.
fn step() -> usize {
    match std::env::var_os("WEIR_PROVE") {
        Some(_) => 1,
        None => 4,
    }
}

#[test]
fn l4_whichever_host_call_is_a_workers_last_all_it_had_is_free_within_three_seconds() {
    let mut deaths = 0;
    for host_calls in (0..).step_by(step() * Seat::STRIDE) {
        let mut sim = sim(QUICK);
        sim.busy = ms(4);
        sim.kill_after(0, host_calls);
        if live(&mut sim) {
            break;
        }
        deaths += step() * Seat::STRIDE;
        check_soon(&mut sim);
        for id in 0..sim.calls.len() {
            if matches!(sim.state(id), State::Running(_)) {
                sim.answer(id, Reply::ok());
            }
        }
        // The dead worker's place is taken by the next.
        let next = sim.add_worker();
        let calls = [next, 1, next].map(|w| sim.arrive(Ask::on(w)));
        assert_eq!(sim.in_flight(), 2, "after {host_calls} host calls");
        for id in calls {
            sim.answer(id, Reply::ok());
        }
        sim.check_empty();
        assert_eq!(sim.plugin("reaped_alive"), 0);
        assert_eq!(sim.memory.gauge("weir.plugin.workers"), Some(2));
    }
    assert!(deaths > 50, "{deaths} deaths");
}
