//! Which calls share a gate: by credential, by header; and that nothing shows a credential.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use weir::port::Level;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim, State};

/// One call at a time for each credential.
const BY_CREDENTIAL: &str = r#""key":["credential"],"max_concurrent_calls":1"#;

#[test]
fn one_clients_queue_does_not_delay_another() {
    let mut sim = Sim::policy(2, BY_CREDENTIAL);
    let ask = |worker, key: &str| Ask::on(worker).header("authorization", key);
    let first = sim.arrive(ask(0, "Bearer a"));
    let waits = sim.arrive(ask(1, "Bearer a"));
    let other = sim.arrive(ask(1, "Bearer b"));
    let nobody = sim.arrive(Ask::on(0));
    let another_nobody = sim.arrive(Ask::on(1));
    assert_eq!(
        [first, waits, other, nobody, another_nobody].map(|id| sim.state(id)),
        [
            State::Running(1),
            State::Waiting,
            State::Running(1),
            State::Running(1),
            State::Waiting,
        ]
    );
    sim.answer(other, Reply::ok());
    assert_eq!(sim.state(waits), State::Waiting);
    sim.answer(first, Reply::ok());
    assert_eq!(sim.state(waits), State::Running(1));
    sim.run(ms(300));
    assert_eq!(sim.memory.gauge("weir.plugin.keys"), Some(3));
    sim.check();
}

#[test]
fn one_account_is_one_client_however_it_shows_its_key() {
    let mut sim = Sim::policy(2, BY_CREDENTIAL);
    sim.arrive(Ask::on(0).header("authorization", "Bearer a"));
    for (header, value) in [("x-api-key", "a"), ("authorization", "bearer  a")] {
        let same = sim.arrive(Ask::on(1).header(header, value));
        assert_eq!(sim.state(same), State::Waiting, "{header}");
    }
}

#[test]
fn a_header_part_has_a_gate_for_each_value() {
    let mut sim = Sim::policy(
        1,
        r#""key":["cluster",{"header":"x-model"}],"max_concurrent_calls":1"#,
    );
    let mut state = |model: &str| {
        let id = sim.arrive(Ask::on(0).header("x-model", model));
        sim.state(id)
    };
    assert_eq!(state("large"), State::Running(1));
    assert_eq!(state("small"), State::Running(1));
    assert_eq!(state("large"), State::Waiting);
}

#[test]
fn no_credential_is_stored_logged_or_counted_by_name() {
    const KEY: &str = "sk-0123456789abcdef";
    let mut sim = Sim::policy(
        2,
        r#""key":["credential",{"header":"x-team"}],"max_concurrent_calls":1,"queue":{"max_waiting":1}"#,
    );
    for worker in [0, 1, 0] {
        let ask = Ask::on(worker).header("authorization", &format!("Bearer {KEY}"));
        sim.arrive(ask.header("x-team", KEY));
    }
    sim.answer(0, Reply::rate());
    sim.run(ms(3000));
    let state = sim.memory.state();
    let shows = |bytes: &[u8]| {
        bytes
            .windows(9)
            .any(|part| KEY.as_bytes().starts_with(part))
    };
    for (name, (bytes, _)) in &state.data {
        assert!(!shows(name.as_bytes()) && !shows(bytes), "{name}");
    }
    let stats = state.counters.keys().chain(state.gauges.keys());
    for name in stats.chain(state.histograms.keys()) {
        assert!(!shows(name.as_bytes()), "{name}");
    }
    assert!(state.lines.iter().any(|(level, _)| *level == Level::Info));
    for (_, line) in &state.lines {
        assert!(!shows(line.as_bytes()), "{line}");
    }
}

#[test]
fn another_process_knows_the_same_credential_by_another_hash() {
    let gates = |seed| {
        let mut sim = Sim::policy(1, BY_CREDENTIAL);
        sim.memory.state().random = Random::Stream(seed);
        sim.arrive(Ask::on(0).header("x-api-key", "a"));
        let state = sim.memory.state();
        let names = state
            .data
            .keys()
            .filter(|name| name.starts_with("weir.gate."));
        names.cloned().collect::<Vec<_>>()
    };
    assert_eq!(gates(1).len(), 1);
    assert_eq!(gates(1), gates(1));
    assert_ne!(gates(1), gates(2));
}

#[test]
fn l16_without_the_secret_calls_go_on_without_a_gate() {
    let mut sim = Sim::policy(1, BY_CREDENTIAL);
    sim.memory.state().faults.no_data = true;
    for _ in 0..2 {
        let id = sim.arrive(Ask::on(0).header("x-api-key", "a"));
        assert_eq!(sim.state(id), State::Running(1));
    }
    sim.run(ms(300));
    assert_eq!(sim.memory.gauge("weir.plugin.degraded"), Some(1));
    sim.memory.state().faults.no_data = false;
    let states = [0, 1].map(|_| {
        let id = sim.arrive(Ask::on(0).header("x-api-key", "a"));
        sim.state(id)
    });
    assert_eq!(states, [State::Running(1), State::Waiting]);
}

#[test]
fn l16_a_damaged_secret_is_no_secret() {
    let mut sim = Sim::policy(1, BY_CREDENTIAL);
    let cut = (vec![7; 3], 1);
    sim.memory.state().data.insert("weir.secret".into(), cut);
    for _ in 0..2 {
        let id = sim.arrive(Ask::on(0).header("x-api-key", "a"));
        assert_eq!(sim.state(id), State::Running(1));
    }
}
