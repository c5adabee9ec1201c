//! L6: limits change under way, and old configurations drain.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::rc::Rc;

use crate::memhost::call::ms;
use crate::memhost::sim::policy;
use crate::memhost::{Ask, Reply, Sim, State};

fn cap(cap: u32) -> String {
    policy(&format!(r#""max_concurrent_calls":{cap}"#))
}

fn limit(sim: &Sim) -> u32 {
    sim.records()[0].setting.cap
}

#[test]
fn l6_a_raised_cap_wakes_those_who_wait_at_once() {
    let mut sim = Sim::new(2, &cap(1));
    for n in 0..6 {
        sim.arrive(Ask::on(n % 2));
    }
    sim.reload(&cap(4));
    assert_eq!(sim.in_flight(), 4);
    assert_eq!(sim.sums().waiting, 2);
    sim.check();
}

#[test]
fn l6_a_lowered_cap_holds_from_the_next_grant_on() {
    let mut sim = Sim::new(2, &cap(3));
    let calls: Vec<_> = (0..6).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.reload(&cap(1));
    assert_eq!(sim.in_flight(), 3, "running attempts drain");
    sim.answer(calls[0], Reply::ok());
    sim.answer(calls[1], Reply::ok());
    assert_eq!(sim.in_flight(), 1);
    sim.answer(calls[2], Reply::ok());
    assert_eq!(sim.in_flight(), 1);
    assert_eq!(sim.state(calls[3]), State::Running(1));
    sim.check();
}

#[test]
fn l6_a_draining_configuration_does_not_overwrite_the_newer_one() {
    let mut sim = Sim::new(1, &cap(1));
    let old = Rc::clone(&sim.seats[0].config);
    let running = sim.arrive(Ask::on(0).connection(10));
    sim.reload(&cap(2));
    assert_eq!(limit(&sim), 2);
    let draining = Ask {
        config: Some(old),
        ..Ask::on(0).connection(10)
    };
    sim.arrive(draining);
    assert_eq!(limit(&sim), 2);
    sim.arrive(Ask::on(0).connection(11));
    assert_eq!(limit(&sim), 2);
    sim.answer(running, Reply::ok());
    sim.run(ms(300));
    assert_eq!(sim.plugin("config_flaps"), 1, "the reload alone");
}

#[test]
fn l6_going_back_to_an_earlier_configuration_follows_the_traffic() {
    let mut sim = Sim::new(1, &cap(1));
    let old = Rc::clone(&sim.seats[0].config);
    sim.arrive(Ask::on(0).connection(10));
    sim.reload(&cap(2));
    // Envoy runs no on_configure when it goes back while the old one drains.
    sim.seats[0].config = old;
    sim.arrive(Ask::on(0).connection(12));
    assert_eq!(limit(&sim), 1);
}

#[test]
fn l6_a_rebuilt_vm_with_the_configuration_in_force_changes_nothing() {
    let mut sim = Sim::new(2, &cap(2));
    sim.arrive(Ask::on(0));
    let config = Rc::clone(&sim.seats[1].config);
    let before = sim.records();
    sim.configure(1, &config);
    sim.configure(0, &config);
    assert_eq!(sim.records(), before);
}

#[test]
fn l6_slots_and_places_survive_a_reload() {
    let mut sim = Sim::new(2, &cap(2));
    let held = sim.arrive(Ask::on(0));
    sim.answer(held, Reply::rate());
    for n in 0..5 {
        sim.arrive(Ask::on(n % 2));
    }
    let before = sim.sums();
    sim.reload(&policy(
        r#""max_concurrent_calls":2,"retry":{"budget_ms":5000}"#,
    ));
    assert_eq!(sim.sums(), before);
    sim.check();
}
