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

/// The cap of the gate in which something runs.
fn busy_limit(sim: &Sim) -> u32 {
    let records = sim.records();
    let busy = records.iter().find(|record| record.in_flight() > 0);
    busy.expect("a busy gate").setting.cap
}

#[test]
fn l6_connections_from_before_an_update_do_not_bring_the_old_limits_back() {
    let mut sim = Sim::new(4, &cap(1));
    let old = Rc::clone(&sim.seats[0].config);
    sim.arrive(Ask::on(0).connection(9));
    // Pooled connections, known to their workers by calls of another key.
    for worker in 0..4 {
        let connection = 10 + worker as u64;
        let call = sim.arrive(Ask::on(worker).cluster("other").connection(connection));
        sim.answer(call, Reply::ok());
    }
    sim.reload(&cap(3));
    assert_eq!(busy_limit(&sim), 3);
    for worker in 0..4 {
        let draining = Ask {
            config: Some(Rc::clone(&old)),
            ..Ask::on(worker).connection(10 + worker as u64)
        };
        sim.arrive(draining);
        assert_eq!(busy_limit(&sim), 3, "connection {}", 10 + worker);
    }
    sim.check();
}

#[test]
fn l6_a_configuration_that_changes_under_open_connections_follows_them_back() {
    let mut sim = Sim::new(2, &cap(1));
    let [a, b] = [cap(1), cap(3)].map(|json| crate::memhost::sim::config(&json));
    sim.arrive(Ask::on(0).connection(5));
    let calls = |sim: &mut Sim, config: &Rc<crate::memhost::vm::Plugin>| {
        for worker in 0..2 {
            sim.seats[worker].config = Rc::clone(config);
            let call = sim.arrive(Ask::on(worker).connection(5 + worker as u64));
            sim.abort(call);
        }
    };
    calls(&mut sim, &a);
    sim.reload(&cap(3));
    for (config, limit) in [(&b, 3), (&a, 1), (&b, 3), (&a, 1)] {
        calls(&mut sim, config);
        assert_eq!(busy_limit(&sim), limit);
    }
    sim.check();
}

#[test]
fn l6_a_vm_that_is_set_up_again_with_an_old_configuration_last_changes_nothing() {
    let mut sim = Sim::new(2, &cap(1));
    let old = Rc::clone(&sim.seats[0].config);
    sim.reload(&cap(3));
    sim.arrive(Ask::on(0).connection(20));
    sim.kill(1);
    let vm = sim.add_worker();
    sim.arrive(Ask::on(vm).connection(21));
    // A stream of the listener that drains comes to the new VM for the first time.
    sim.configure(vm, &old);
    assert_eq!(busy_limit(&sim), 3);
    sim.arrive(Ask::on(vm).connection(3));
    assert_eq!(busy_limit(&sim), 3);
    // What nobody has seen is news to this VM too.
    sim.kill(0);
    sim.configure(vm, &crate::memhost::sim::config(&cap(4)));
    assert_eq!(busy_limit(&sim), 4);
}
