#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::SOON;
use crate::memhost::call::ms;
use crate::memhost::{Ask, Sim, State};

/// A gate each, named by the test for good.
fn clusters(n: usize) -> Vec<&'static str> {
    (0..n)
        .map(|n| &*Box::leak(format!("c{n}").into_boxed_str()))
        .collect()
}

/// A process with this many gates, all full of a worker's calls, with another's waiting in each.
fn many_gates(gates: usize, observers: usize) -> (Sim, Vec<usize>) {
    let fields = r#""max_concurrent_calls":1,"queue":{"max_wait_ms":600000}"#;
    let json = format!(r#"{{"max_keys":4096,"policies":[{{"name":"p",{fields}}}]}}"#);
    let mut sim = Sim::new(2 + observers, &json);
    sim.busy = ms(4);
    let mut waits = Vec::new();
    for cluster in clusters(gates) {
        sim.arrive(Ask::on(0).cluster(cluster));
        waits.push(sim.arrive(Ask::on(1).cluster(cluster)));
    }
    assert_eq!(sim.sums().running, gates as u64);
    (sim, waits)
}

#[test]
fn l4_a_thousand_gates_are_cleared_within_three_seconds_a_bounded_number_a_tick() {
    let (mut sim, waits) = many_gates(1000, 0);
    sim.kill(0);
    let reaped = |sim: &Sim| sim.sums().running + sim.sums().granted;
    sim.run(ms(1900));
    assert_eq!(reaped(&sim), 1000, "not before two seconds have passed");
    sim.run(ms(SOON - 1900));
    assert!(waits.iter().all(|id| sim.state(*id) == State::Running(1)));
    sim.check();
}

#[test]
fn l4_whoever_clears_up_may_die_over_it_and_another_goes_on() {
    for host_calls in [0, 1, 2, 3, 50, 51, 52, 200, 201, 202, 203, 500] {
        let (mut sim, _) = many_gates(100, 2);
        sim.kill(0);
        sim.run(ms(1900));
        // Whoever is first to see the death.
        for observer in [1, 2] {
            sim.seats[observer].next_tick = sim.now + ms(400);
        }
        sim.kill_after(3, host_calls + 20);
        sim.run(ms(SOON + 500));
        assert!(sim.is_dead(3), "after {host_calls} host calls");
        assert_eq!(sim.sums().running, 100);
        // The count may have died with who had made it.
        assert!(sim.plugin("reaped") <= 1);
        sim.check();
    }
}

#[test]
fn l4_what_was_said_too_late_is_cleared_away_too() {
    use weir::core::gate::exchange::{Exchange, Want};
    use weir::core::gate::{Event, Owner, Standing};
    use weir::port::{Expect, Host, Stored};

    let (mut sim, _) = many_gates(1, 1);
    sim.kill(0);
    sim.run(ms(SOON));
    // A thread that stood still between reading and writing writes now, and its VM dies.
    let host = sim.memory.host(usize::MAX);
    let place = weir::core::wait::registry::directory(&host)
        .places()
        .next()
        .unwrap();
    let mine = Standing {
        running: 5,
        ..Standing::NONE
    };
    let owner = Owner {
        slot: 0,
        generation: 1,
    };
    let mut late = Exchange::new(owner, mine, Event::Report);
    let Ok(Stored::Present { bytes, cas }) = host.shared_get(&place.name()) else {
        panic!("a gate");
    };
    late.read(Some((&bytes, cas)), sim.now);
    let Want::Write { bytes, cas } = late.want() else {
        panic!("something to say");
    };
    host.shared_set(&place.name(), bytes, Expect::Same(cas))
        .unwrap();
    assert_eq!(sim.sums().running, 6);
    sim.run(ms(SOON));
    assert_eq!(sim.sums().running, 1);
    sim.check();
}
