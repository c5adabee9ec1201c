//! L15: gates that nobody uses make room for new ones, and no others do.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use weir::core::config::{Config, Facts};
use weir::core::gate::table::Place;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

fn keyed(max_keys: u32, fields: &str) -> String {
    format!(
        r#"{{"max_keys":{max_keys},"policies":[{{"name":"p","key":["credential"],"max_concurrent_calls":1{fields}}}]}}"#
    )
}

fn ask(worker: usize, key: usize) -> Ask {
    Ask::on(worker).header("authorization", &format!("Bearer {key}"))
}

/// A call that comes and goes.
fn visit(sim: &mut Sim, worker: usize, key: usize) -> State {
    let id = sim.arrive(ask(worker, key));
    let state = sim.state(id);
    if state == State::Running(1) {
        sim.answer(id, Reply::ok());
    }
    state
}

fn keys(sim: &Sim) -> Option<u64> {
    sim.memory.gauge("weir.plugin.keys")
}

#[test]
fn l15_a_gate_unused_for_a_minute_makes_room_and_not_before() {
    let mut sim = Sim::new(2, &keyed(2, ""));
    for key in [1, 2] {
        visit(&mut sim, 0, key);
    }
    sim.run(ms(59_000));
    visit(&mut sim, 1, 3);
    sim.run(ms(300));
    assert_eq!((sim.plugin("overflow"), keys(&sim)), (1, Some(3)));
    sim.run(ms(1_000));
    // The gates of 1 and 2 may give way now, the one for what had no room may not yet.
    let calls = [3, 4].map(|key| sim.arrive(ask(1, key)));
    assert_eq!(
        calls.map(|id| sim.state(id)),
        [State::Running(1), State::Running(1)]
    );
    let waits = [3, 4].map(|key| sim.arrive(ask(0, key)));
    assert_eq!(
        waits.map(|id| sim.state(id)),
        [State::Waiting, State::Waiting]
    );
    sim.run(ms(300));
    assert_eq!(sim.plugin("overflow"), 3);
    sim.check();
}

#[test]
fn l15_a_gate_with_anything_in_it_stays_however_old() {
    let mut sim = Sim::new(
        2,
        &keyed(
            3,
            r#","queue":{"max_wait_ms":3600000},"retry":{"retry_base_delay_ms":3000000,"retry_cap_delay_ms":3600000,"budget_ms":3600000}"#,
        ),
    );
    sim.route.timeout = None;
    let running = sim.arrive(ask(0, 1));
    let waits = sim.arrive(ask(1, 1));
    let held = sim.arrive(ask(0, 2));
    sim.answer(held, Reply::rate());
    let streams = sim.arrive(ask(1, 3));
    sim.run(ms(100_000));
    for key in 4..40 {
        visit(&mut sim, key % 2, key);
    }
    sim.run(ms(300));
    assert_eq!(sim.plugin("overflow"), 36);
    assert_eq!(keys(&sim), Some(4));
    assert_eq!(sim.state(held), State::Held(1));
    let also = [1, 3].map(|key| sim.arrive(ask(0, key)));
    assert_eq!(
        also.map(|id| sim.state(id)),
        [State::Waiting, State::Waiting]
    );
    sim.answer(running, Reply::ok());
    assert_eq!(sim.state(waits), State::Running(1));
    sim.answer(streams, Reply::ok());
    sim.check();
}

#[test]
fn l15_a_thousand_keys_have_a_thousand_gates_then_another_thousand() {
    const KEYS: usize = 1000;
    let mut sim = Sim::new(2, &keyed(1024, ""));
    for round in 0..2 {
        for key in round * KEYS..(round + 1) * KEYS {
            let id = sim.arrive(ask(key % 2, key));
            assert_eq!(sim.state(id), State::Running(1), "{key}");
            let same = sim.arrive(ask((key + 1) % 2, key));
            assert_eq!(sim.state(same), State::Waiting, "{key}");
            sim.answer(id, Reply::ok());
            sim.answer(same, Reply::ok());
        }
        sim.run(ms(60_000));
    }
    assert_eq!(sim.plugin("overflow"), 0);
    assert!(keys(&sim) <= Some(1024), "{:?}", keys(&sim));
    sim.check_empty();
}

#[test]
fn a_worker_that_remembers_a_gate_that_moved_finds_it_again() {
    let mut sim = Sim::new(2, &keyed(2, ""));
    for key in [1, 2] {
        visit(&mut sim, 0, key);
    }
    sim.run(ms(60_000));
    for key in [3, 4] {
        visit(&mut sim, 1, key);
    }
    // There is no room for it now: it is one of those without a gate of their own.
    let shares = sim.arrive(ask(0, 1));
    let shares_too = sim.arrive(ask(1, 5));
    assert_eq!(
        [shares, shares_too].map(|id| sim.state(id)),
        [State::Running(1), State::Waiting]
    );
    for id in [shares, shares_too] {
        sim.answer(id, Reply::ok());
    }
    sim.run(ms(60_000));
    let own = sim.arrive(ask(0, 1));
    let another = sim.arrive(ask(1, 2));
    assert_eq!(
        [own, another].map(|id| sim.state(id)),
        [State::Running(1), State::Running(1)]
    );
    let waits = sim.arrive(ask(1, 1));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.answer(own, Reply::ok());
    assert_eq!(sim.state(waits), State::Running(1));
    sim.run(ms(300));
    assert_eq!(sim.plugin("overflow"), 2);
    sim.check();
}

#[test]
fn l7_a_gate_that_owes_starts_does_not_make_room() {
    let mut sim = Sim::new(
        1,
        &keyed(
            1,
            r#","rate":{"requests_per_minute":0.5},"queue":{"max_waiting":0}"#,
        ),
    );
    assert_eq!(visit(&mut sim, 0, 1), State::Running(1));
    sim.run(ms(61_000));
    // Another key would take its place, and the next start would be free.
    visit(&mut sim, 0, 2);
    let refused = visit(&mut sim, 0, 1);
    assert!(matches!(refused, State::Refused(_)), "{refused:?}");
    sim.run(ms(60_000));
    assert_eq!(visit(&mut sim, 0, 1), State::Running(1));
}

#[test]
fn l15_gauges_of_many_gates_are_read_less_often() {
    let reads = |gates: usize| {
        let mut sim = Sim::new(1, &keyed(1024, ""));
        for key in 0..gates {
            visit(&mut sim, 0, key);
        }
        // Something is due all the time, so that ticks are as frequent as they ever are.
        sim.arrive(ask(0, 0));
        sim.arrive(ask(0, 0));
        let before = sim.memory.state().reads;
        sim.run(ms(4_000));
        sim.memory.state().reads - before
    };
    let few = reads(1);
    assert!(reads(1000) < few + 8_000, "{few}");
}

/// A name whose gate would like to lie where that of `other` lies.
fn rival_of(other: &str, config: &Config) -> String {
    let place = |cluster: &str| {
        let facts = Facts {
            cluster: cluster.as_bytes(),
            ..Facts::default()
        };
        let identity = config.policies()[0].identity(&facts, None).unwrap();
        Place::probes(identity).next()
    };
    let names = (0..).map(|number| format!("c{number}"));
    names
        .filter(|name| place(name) == place(other))
        .find(|name| name != other)
        .unwrap()
}

#[test]
fn a_gate_that_took_the_place_of_another_is_not_taken_for_it() {
    let json = r#"{"max_keys":1,"policies":[{"name":"p","max_concurrent_calls":1}]}"#;
    let mut sim = Sim::new(2, json);
    let rival = rival_of("ark", &sim.seats[0].config).leak();
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, Reply::ok());
    sim.run(ms(60_000));
    let takes_over = sim.arrive(Ask::on(1).cluster(rival));
    let again = sim.arrive(Ask::on(0));
    assert_eq!(
        [takes_over, again].map(|id| sim.state(id)),
        [State::Running(1), State::Running(1)]
    );
    sim.run(ms(300));
    assert_eq!((keys(&sim), sim.plugin("overflow")), (Some(2), 1));
    sim.check();
}
