//! L6, L7, L12: what refusals teach, over all workers, on the virtual clock.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::time::Duration;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

const ONCE: &str = r#""retry":{"retry_max_attempts":1,"burst_max_attempts":1}"#;

fn running(sim: &Sim, ids: &[usize]) -> usize {
    let runs = |id: &&usize| matches!(sim.state(**id), State::Running(_));
    ids.iter().filter(runs).count()
}

/// Calls come evenly, and each is accepted and answered.
fn serve(sim: &mut Sim, calls: u64, apart: Duration) {
    for n in 0..calls {
        let id = sim.arrive(Ask::on(n as usize % 2));
        sim.answer(id, Reply::ok());
        sim.run(apart);
    }
}

/// A gate that accepted 100 calls within a second, and then refused one.
fn refused(fields: &str) -> Sim {
    let mut sim = Sim::policy(2, fields);
    serve(&mut sim, 100, ms(10));
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim
}

fn opened(fields: &str) -> Sim {
    let mut sim = refused(fields);
    sim.run(ms(200));
    let probe = sim.arrive(Ask::on(1));
    sim.answer(probe, Reply::ok());
    sim
}

fn rate(sim: &Sim) -> Option<u64> {
    sim.records()
        .first()
        .and_then(|record| record.learned_rate())
}

#[test]
fn l12_a_thousand_that_waited_are_let_go_by_ramp() {
    let mut sim = refused(ONCE);
    let waits: Vec<_> = (0..1000).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.run(ms(200));
    let is_probe = |id: &&usize| sim.state(**id) == State::Running(1);
    let probes: Vec<_> = waits.iter().filter(is_probe).copied().collect();
    assert_eq!(probes.len(), 1);
    sim.head(probes[0], Reply::new(200));
    let mut before = running(&sim, &waits);
    assert!(before <= 3, "{before} at once");
    for _ in 0..20 {
        sim.run(ms(100));
        let now = running(&sim, &waits);
        // About 100 a second were accepted, and growth is small beside that.
        assert!((4..=16).contains(&(now - before)), "{now} after {before}");
        before = now;
    }
}

#[test]
fn l12_refusals_of_one_burst_lower_the_rate_once() {
    let after = |refusals: usize| {
        let mut sim = Sim::policy(2, ONCE);
        serve(&mut sim, 100, ms(10));
        let ids: Vec<_> = (0..20).map(|n| sim.arrive(Ask::on(n % 2))).collect();
        ids.iter()
            .take(refusals)
            .for_each(|id| sim.answer(*id, Reply::rate()));
        ids.iter()
            .skip(refusals)
            .for_each(|id| sim.answer(*id, Reply::ok()));
        sim.run(ms(300));
        let probe = sim.arrive(Ask::on(0));
        sim.answer(probe, Reply::ok());
        rate(&sim)
    };
    assert!(after(1).is_some());
    assert_eq!(after(1), after(20));
}

#[test]
fn low_traffic_is_never_slower_for_what_was_learned() {
    for quiet in [15, 300] {
        let mut sim = opened("");
        sim.run(Duration::from_secs(quiet));
        let burst: Vec<_> = (0..5).map(|n| sim.arrive(Ask::on(n % 2))).collect();
        assert_eq!(running(&sim, &burst), 5, "after {quiet} s");
    }
    let mut sim = opened("");
    for minute in 0..15 {
        sim.run(Duration::from_secs(60));
        let id = sim.arrive(Ask::on(minute % 2));
        assert_eq!(sim.state(id), State::Running(1), "minute {minute}");
        sim.answer(id, Reply::ok());
    }
}

#[test]
fn few_starts_teach_nothing_that_outlives_the_queue() {
    let mut sim = Sim::policy(2, ONCE);
    serve(&mut sim, 4, ms(10));
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(200));
    let probe = sim.arrive(Ask::on(1));
    sim.answer(probe, Reply::ok());
    assert_eq!(rate(&sim), None);
}

#[test]
fn after_a_quarter_of_an_hour_without_a_refusal_all_is_forgotten() {
    let mut sim = opened("");
    assert!(rate(&sim).is_some());
    serve(&mut sim, 80, Duration::from_secs(10));
    assert!(rate(&sim).is_some(), "800 s");
    serve(&mut sim, 12, Duration::from_secs(10));
    assert_eq!(rate(&sim), None);
}

#[test]
fn where_the_ramp_is_off_nothing_is_learned() {
    let sim = opened(r#""ramp":{"mode":"off"}"#);
    assert_eq!(rate(&sim), None);
    assert_eq!(
        sim.records().first().map(|record| record.limit()),
        Some(u64::MAX)
    );
}

#[test]
fn l6_a_reload_keeps_what_was_learned() {
    let mut sim = opened("");
    let before = rate(&sim);
    let policy = r#"{"policies":[{"name":"p","queue":{"max_waiting":7}}]}"#;
    sim.reload(policy);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::ok());
    assert!(before.is_some());
    assert!(rate(&sim).is_some());
}

#[test]
fn refusals_for_concurrency_lower_a_cap_that_grows_again() {
    let fields = r#""max_concurrent_calls":12,"retry":{"retry_max_attempts":1},"queue":{"max_wait_ms":600000}"#;
    let mut sim = Sim::policy(2, fields);
    let ids: Vec<_> = (0..30).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    assert_eq!(running(&sim, &ids), 12);
    let body = br#"{"error":{"message":"Your account reached max organization concurrency, please try again","type":"rate_limit_reached_error"}}"#;
    for id in &ids[..2] {
        sim.head(*id, Reply::new(429));
        sim.part(*id, body, true);
    }
    let limit = |sim: &Sim| sim.records().first().map(|record| record.limit());
    let lowered = limit(&sim).expect("a gate");
    assert!((1..12).contains(&lowered), "{lowered}");
    for seconds in 0..600 {
        sim.run(Duration::from_secs(1));
        let limit = limit(&sim).expect("a gate");
        assert!(limit <= 12, "after {seconds} s: {limit}");
    }
    assert!(
        limit(&sim) > Some(lowered),
        "it grew while calls waited for it"
    );
}
