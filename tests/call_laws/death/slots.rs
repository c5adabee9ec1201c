#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{SOON, check_soon, sim};
use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};
use weir::core::gate::owner::SLOTS;

fn slots_used(sim: &Sim) -> Vec<(u16, u32)> {
    let records = sim.records();
    let entries = records.iter().flat_map(|record| &record.entries);
    entries
        .map(|e| (e.owner.slot, e.owner.generation))
        .collect()
}

#[test]
fn a_dead_workers_slot_and_queue_are_the_next_ones() {
    let mut sim = sim(r#""max_concurrent_calls":1"#);
    let first = sim.arrive(Ask::on(1));
    sim.arrive(Ask::on(0));
    // A wake-up lies in the dead worker's queue.
    sim.seats[0].is_blocked = true;
    sim.answer(first, Reply::ok());
    sim.kill(0);
    sim.run(ms(SOON));
    let next = sim.add_worker();
    let holds = sim.arrive(Ask::on(1));
    let waits = sim.arrive(Ask::on(next));
    assert_eq!(
        slots_used(&sim),
        [(0, 1), (1, 2)],
        "the second was the dead one's"
    );
    assert_eq!(
        sim.state(waits),
        State::Waiting,
        "the old wake-up meant nothing"
    );
    sim.check();
    sim.answer(holds, Reply::ok());
    assert_eq!(sim.state(waits), State::Running(1));
    sim.run(ms(300));
    assert_eq!(sim.count("grants_by_tick"), 0);
    sim.answer(waits, Reply::ok());
    sim.check_empty();
}

#[test]
fn a_worker_that_was_given_up_leaves_its_old_queue_to_the_next_holder() {
    let mut sim = sim(r#""max_concurrent_calls":1,"queue":{"max_wait_ms":600000}"#);
    let runs = sim.arrive(Ask::on(0));
    sim.seats[0].is_blocked = true;
    sim.run(ms(SOON));
    let next = sim.add_worker();
    let [takes, waits] = [next, next].map(|w| sim.arrive(Ask::on(w)));
    assert_eq!(slots_used(&sim), [(0, 2)]);
    sim.seats[0].is_blocked = false;
    let config = std::rc::Rc::clone(&sim.seats[0].config);
    sim.configure(0, &config);
    sim.run(ms(300));
    assert_eq!(slots_used(&sim), [(0, 2), (1, 1)]);
    sim.check();
    sim.answer(runs, Reply::ok());
    sim.answer(takes, Reply::ok());
    assert_eq!(
        sim.state(waits),
        State::Running(1),
        "woken, not found by a tick"
    );
    assert_eq!(sim.count("grants_by_tick"), 0);
    sim.answer(waits, Reply::ok());
    sim.check_empty();
}

#[test]
fn l16_a_worker_too_many_takes_the_first_slot_that_comes_free() {
    let many = usize::from(SLOTS);
    let mut sim = Sim::policy(many + 1, r#""max_concurrent_calls":1000"#);
    let calls: Vec<_> = (0..=many).map(|w| sim.arrive(Ask::on(w))).collect();
    sim.run(ms(500));
    assert_eq!(sim.memory.gauge("weir.plugin.degraded"), Some(1));
    assert_eq!(
        sim.memory.gauge("weir.plugin.workers"),
        Some(u64::from(SLOTS))
    );
    assert_eq!(
        sim.sums().running,
        u64::from(SLOTS),
        "one call is not counted"
    );
    sim.kill(7);
    sim.run(ms(SOON));
    let counted = sim.arrive(Ask::on(many));
    assert_eq!(sim.state(counted), State::Running(1));
    assert!(slots_used(&sim).contains(&(7, 2)));
    assert_eq!(sim.sums().running, u64::from(SLOTS), "one died, one came");
    sim.run(ms(2000));
    assert_eq!(sim.memory.gauge("weir.plugin.degraded"), Some(0));
    for id in calls.into_iter().filter(|id| *id != 7).chain([counted]) {
        sim.answer(id, Reply::ok());
    }
    sim.check_empty();
}

#[test]
fn l15_three_times_as_many_workers_as_there_are_slots_one_after_the_other() {
    let third = usize::from(SLOTS) / 2;
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1000"#);
    for round in 0..6 {
        let workers: Vec<_> = (0..third).map(|_| sim.add_worker()).collect();
        for worker in &workers {
            sim.arrive(Ask::on(*worker));
        }
        assert_eq!(sim.sums().running, third as u64, "round {round}");
        for worker in workers {
            sim.kill(worker);
        }
        check_soon(&mut sim);
        assert_eq!(sim.sums(), Default::default());
    }
    assert_eq!(sim.plugin("reaped"), 6 * third as u64);
    assert_eq!(sim.memory.gauge("weir.plugin.degraded"), Some(0));
    sim.check_empty();
}
