//! What cannot be retried is recognised, counted, and said once with the setting to change.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim, State};

/// The route's timeout is in the way of a minimum of five seconds.
fn sim(route: u64) -> Sim {
    let mut sim = Sim::policy(1, "");
    sim.memory.state().random = Random::Always(0);
    sim.route.timeout = Some(ms(route));
    sim
}

fn five_seconds() -> Reply {
    Reply::rate().header("retry-after", "5")
}

/// Counts of a kind, and lines that speak of it.
fn avoided(sim: &mut Sim, kind: &str) -> (u64, usize) {
    sim.run(ms(300));
    let field = format!(r#""kind":"{kind}""#);
    let speaks = |line: &&(_, String)| line.1.contains(&field);
    let said = sim.memory.state().lines.iter().filter(speaks).count();
    (sim.plugin(&format!("avoided.{kind}")), said)
}

#[test]
fn a_route_timeout_in_the_way_is_told_from_the_calls_own_deadline() {
    let mut sim = sim(4000);
    // The last one's client would not wait either.
    let last = Ask::on(0).header("x-request-timeout", "3");
    let calls = [Ask::on(0), Ask::on(0), last].map(|ask| sim.arrive(ask));
    for id in calls {
        sim.answer(id, five_seconds());
        assert_eq!(sim.state(id), State::Answered(429));
    }
    assert_eq!(avoided(&mut sim, "route_timeout"), (2, 1));
    assert_eq!(avoided(&mut sim, "per_try_timeout"), (0, 0));
}

#[test]
fn a_second_attempt_under_the_same_route_timeout_ends_no_later() {
    let mut sim = sim(4000);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    sim.answer(id, five_seconds());
    assert_eq!(sim.state(id), State::Answered(429));
    assert_eq!(avoided(&mut sim, "route_timeout"), (1, 1));
}

#[test]
fn a_timeout_that_begins_anew_with_each_attempt_is_per_try() {
    let mut sim = sim(4000);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    // The timeout of the next attempt is the first one's again.
    sim.route.timeout = Some(ms(5000));
    sim.run(ms(1000));
    sim.answer(id, five_seconds());
    assert_eq!(sim.state(id), State::Answered(429));
    assert_eq!(avoided(&mut sim, "per_try_timeout"), (1, 1));
    assert_eq!(avoided(&mut sim, "route_timeout"), (0, 0));
}

#[test]
fn a_turn_that_does_not_come_before_the_routes_timeout_counts_too() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    sim.memory.state().random = Random::Always(0);
    sim.route.timeout = Some(ms(4000));
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.arrive(Ask::on(0));
    sim.run(ms(3949));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Answered(429));
    assert_eq!(avoided(&mut sim, "route_timeout"), (1, 1));
}

#[test]
fn a_timeout_that_ends_a_hold_is_told_by_envoys_own_answer() {
    for (details, kind) in [
        ("response_timeout", "route_timeout"),
        ("upstream_per_try_timeout", "per_try_timeout"),
        ("upstream_per_try_idle_timeout", "per_try_timeout"),
    ] {
        let mut sim = Sim::policy(1, "");
        let id = sim.arrive(Ask::on(0));
        sim.answer(id, five_seconds());
        sim.run(ms(500));
        sim.local_reply_with(id, 504, details, &[]);
        assert_eq!(sim.state(id), State::Answered(504));
        assert_eq!(avoided(&mut sim, kind), (1, 1), "{details}");
        // One that strikes while the provider works is nobody's mistake.
        let id = sim.arrive(Ask::on(0));
        sim.local_reply_with(id, 504, details, &[]);
        assert_eq!(avoided(&mut sim, kind), (1, 1), "{details}");
        sim.check_empty();
    }
}

#[test]
fn why_a_granted_retry_was_not_made_is_told_by_envoys_flags() {
    for (flags, kind) in [
        (0x80, "breaker_full"),
        (0x8000, "retries_used"),
        (0, "body_not_kept"),
    ] {
        let mut sim = Sim::policy(1, "");
        sim.route.is_broken = true;
        sim.route.flags = flags;
        for _ in 0..2 {
            let id = sim.arrive(Ask::on(0));
            sim.answer(id, Reply::rate());
            sim.run(ms(3000));
            assert_eq!(sim.state(id), State::Answered(429));
        }
        assert_eq!(avoided(&mut sim, kind), (2, 1));
        assert_eq!(sim.count("retry_dropped"), 2);
        let all: u64 = ["breaker_full", "retries_used", "body_not_kept"]
            .map(|kind| sim.plugin(&format!("avoided.{kind}")))
            .iter()
            .sum();
        assert_eq!(all, 2);
        sim.check_empty();
    }
}

#[test]
fn a_breaker_that_answers_in_the_retrys_place_is_recognised() {
    let mut sim = sim(60_000);
    sim.route.back_off = ms(25);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(1010));
    assert_eq!(sim.state(id), State::Retrying);
    let details = "upstream_reset_before_response_started{overflow}";
    sim.local_reply_with(id, 503, details, &["x-envoy-overloaded"]);
    assert_eq!(avoided(&mut sim, "breaker_full"), (1, 1));
}

#[test]
fn advice_is_given_to_each_policy() {
    let json = r#"{"policies":[
        {"name":"a","match":{"clusters":["a"]},"queue":{"max_waiting":0}},
        {"name":"p","queue":{"max_waiting":0}}]}"#;
    let mut sim = Sim::new(1, json);
    let calls = ["a", "b", "a", "b"].map(|cluster| sim.arrive(Ask::on(0).cluster(cluster)));
    for id in calls {
        sim.answer(id, Reply::rate());
    }
    assert_eq!(avoided(&mut sim, "holds_full"), (4, 2));
    let lines = &sim.memory.state().lines;
    for policy in ["a", "p"] {
        let field =
            format!(r#"{{"weir":"avoided","policy":"{policy}","kind":"holds_full","advice":"#);
        assert_eq!(
            lines.iter().filter(|(_, l)| l.starts_with(&field)).count(),
            1
        );
    }
}
