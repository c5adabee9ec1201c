//! L9, L10: nobody starts before its time, waits that cannot fit are refused now, and bounds on
//! waiting are exact.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim, State};

fn sim(fields: &str, random: u64) -> Sim {
    let sim = Sim::policy(1, fields);
    sim.memory.state().random = Random::Always(random);
    sim
}

/// Milliseconds from the first refusal to the second attempt.
fn delay(reply: Reply, random: u64) -> u64 {
    let mut sim = sim("", random);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, reply);
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(60_000));
    assert_eq!(sim.began(id).len(), 2);
    sim.began(id)[1]
}

const LEAST: u64 = 0;
const MOST: u64 = u64::MAX;

#[test]
fn l9_delays_lie_in_their_stated_windows() {
    for (reply, least, most) in [
        (Reply::rate(), 1000, 3000),
        (Reply::new(503), 1000, 3000),
        (Reply::new(529), 1000, 3000),
        (Reply::burst(), 5000, 15_000),
    ] {
        assert_eq!(delay(reply.clone(), LEAST), least, "{reply:?}");
        assert_eq!(delay(reply.clone(), MOST), most, "{reply:?}");
    }
}

#[test]
fn l9_no_attempt_starts_before_the_providers_minimum_and_jitter_lies_above_it() {
    for (name, value, least, most) in [
        ("retry-after", "4", 4000, 6000),
        ("retry-after-ms", "4321", 4321, 6482),
        ("retry-after", "2", 2000, 4500),
        ("retry-after", "0", 1000, 3000),
    ] {
        let reply = Reply::rate().header(name, value);
        assert_eq!(delay(reply.clone(), LEAST), least, "{name}: {value}");
        assert_eq!(delay(reply, MOST), most, "{name}: {value}");
    }
}

#[test]
fn l9_a_second_refusal_widens_the_window() {
    let mut sim = sim(r#""retry":{"retry_max_attempts":4}"#, MOST);
    let id = sim.arrive(Ask::on(0));
    let mut at = 0;
    for expected in [3000, 8000, 8000] {
        sim.answer(id, Reply::rate());
        sim.run(ms(20_000));
        let began = *sim.began(id).last().unwrap();
        assert_eq!(began - at, expected);
        at += 20_000;
    }
}

#[test]
fn l9_another_class_starts_at_its_own_base() {
    let mut sim = sim("", LEAST);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    sim.answer(id, Reply::new(503));
    sim.run(ms(1000));
    assert_eq!(sim.began(id), [0, 1000, 2000]);
}

#[test]
fn l9_a_call_is_retried_at_its_not_before_to_the_millisecond() {
    let mut sim = sim("", LEAST);
    let id = sim.arrive(Ask::on(0));
    sim.run(ms(7));
    sim.answer(id, Reply::rate().header("retry-after-ms", "1234"));
    sim.run(ms(1233));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Running(2));
    assert_eq!(sim.memory.histogram("weir.policy.p.delay"), [1234]);
    assert_eq!(sim.memory.histogram("weir.policy.p.hold"), [1234]);
}

#[test]
fn l9_attempts_are_bounded_by_class() {
    for (reply, attempts) in [
        (Reply::rate(), 3),
        (Reply::burst(), 2),
        (Reply::new(529), 3),
    ] {
        let mut sim = sim("", LEAST);
        let id = sim.arrive(Ask::on(0));
        for _ in 0..attempts {
            sim.answer(id, reply.clone());
            sim.run(ms(5000));
        }
        assert_eq!(sim.state(id), State::Answered(reply.status));
        assert_eq!(sim.began(id).len(), attempts);
        assert_eq!(
            sim.got(id, "x-weir-attempts"),
            Some(attempts.to_string()),
            "{reply:?}"
        );
        sim.check_empty();
    }
}

#[test]
fn l9_what_waiting_does_not_help_is_not_retried() {
    for reply in [
        Reply::new(402).body("{}"),
        Reply::new(429).body(r#"{"error":{"code":"insufficient_quota"}}"#),
    ] {
        let mut sim = sim("", LEAST);
        let id = sim.arrive(Ask::on(0));
        sim.answer(id, reply.clone());
        assert_eq!(sim.state(id), State::Answered(reply.status));
        assert_eq!(sim.got(id, "x-weir-class").unwrap(), "quota_exhausted");
        assert_eq!(sim.got(id, "x-should-retry").unwrap(), "false");
        sim.check_empty();
    }
}

/// A refusal whose retry cannot fit is passed on in the same moment; one that just fits is held.
fn fits(fields: &str, ask: Ask, route: Option<u64>, wait_ms: &'static str, fits: bool) {
    let mut sim = sim(fields, LEAST);
    sim.route.timeout = route.map(ms);
    let id = sim.arrive(ask);
    sim.run(ms(100));
    let body = r#"{"error":"its own"}"#;
    let reply = Reply::rate().header("retry-after-ms", wait_ms).body(body);
    sim.answer(id, reply);
    if fits {
        assert_eq!(sim.state(id), State::Held(1), "{fields} {wait_ms}");
    } else {
        assert_eq!(sim.state(id), State::Answered(429), "{fields} {wait_ms}");
        assert_eq!(sim.received(id).body, body.as_bytes());
        assert_eq!(sim.got(id, "retry-after-ms").as_deref(), Some(wait_ms));
        assert_eq!(sim.got(id, "x-should-retry").as_deref(), Some("false"));
    }
}

#[test]
fn l10_a_wait_beyond_the_budget_is_given_up_now() {
    let budget = r#""retry":{"budget_ms":5000}"#;
    fits(budget, Ask::on(0), None, "4900", true);
    fits(budget, Ask::on(0), None, "4901", false);
}

#[test]
fn l10_a_wait_beyond_the_clients_patience_is_given_up_now() {
    let patience = r#""patience_header":"x-patience-ms""#;
    let ask = || Ask::on(0).header("x-patience-ms", "3000");
    fits(patience, ask(), None, "2900", true);
    fits(patience, ask(), None, "2901", false);
    let odd = || Ask::on(0).header("x-patience-ms", "soon");
    fits(patience, odd(), None, "2901", true);
}

#[test]
fn l10_a_wait_beyond_the_routes_timeout_less_50_ms_is_given_up_now() {
    fits("", Ask::on(0), Some(15_000), "14850", true);
    fits("", Ask::on(0), Some(15_000), "14851", false);
}

#[test]
fn l10_a_minimum_above_the_cap_is_given_up_now() {
    let cap = r#""retry":{"retry_after_cap_ms":2000}"#;
    let mut sim = sim(cap, LEAST);
    let [kept, passed] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(kept, Reply::rate().header("retry-after-ms", "2000"));
    sim.answer(passed, Reply::rate().header("retry-after-ms", "2001"));
    assert_eq!(sim.state(kept), State::Held(1));
    assert_eq!(sim.state(passed), State::Answered(429));
}

#[test]
fn max_wait_is_exact() {
    let mut sim = sim(
        r#""max_concurrent_calls":1,"queue":{"max_wait_ms":2500}"#,
        LEAST,
    );
    let [_, waits] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(2499));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Refused("wait_too_long".into()));
    let body = String::from_utf8(sim.received(waits).body.clone()).unwrap();
    assert!(body.contains(r#""limit":"max_wait_ms""#), "{body}");
    assert_eq!(sim.got(waits, "x-weir-attempts").as_deref(), Some("0"));
}

#[test]
fn the_budget_bounds_the_wait_too_and_is_exact() {
    let fields = r#""max_concurrent_calls":1,"retry":{"budget_ms":1500}"#;
    let mut sim = sim(fields, LEAST);
    let [_, waits] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(1499));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Refused("deadline".into()));
}

#[test]
fn the_clients_patience_bounds_the_wait_and_is_exact() {
    let fields = r#""max_concurrent_calls":1,"patience_header":"x-patience-ms""#;
    let mut sim = sim(fields, LEAST);
    sim.arrive(Ask::on(0));
    let waits = sim.arrive(Ask::on(0).header("x-patience-ms", " 700 "));
    sim.run(ms(699));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Refused("deadline".into()));
}

#[test]
fn a_held_call_waits_for_its_turn_no_longer_than_one_stay() {
    let fields = r#""max_concurrent_calls":1,"queue":{"max_wait_ms":2000}"#;
    let mut sim = sim(fields, LEAST);
    let held = sim.arrive(Ask::on(0));
    sim.answer(held, Reply::rate().header("x-own", "1"));
    let stays = sim.arrive(Ask::on(0));
    sim.run(ms(2999));
    assert_eq!(sim.state(held), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(held), State::Answered(429), "1000 + 2000 ms");
    assert_eq!(sim.got(held, "x-own").as_deref(), Some("1"));
    assert_eq!(
        sim.got(held, "x-should-retry"),
        None,
        "there is budget left"
    );
    assert_eq!(sim.state(stays), State::Running(1));
    sim.check();
}

#[test]
fn a_held_call_waits_for_its_turn_no_longer_than_its_budget() {
    let fields = r#""max_concurrent_calls":1,"retry":{"budget_ms":4000}"#;
    let mut sim = sim(fields, LEAST);
    let held = sim.arrive(Ask::on(0));
    sim.answer(held, Reply::rate());
    sim.arrive(Ask::on(0));
    sim.run(ms(3999));
    assert_eq!(sim.state(held), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(held), State::Answered(429));
    assert_eq!(sim.got(held, "x-should-retry").as_deref(), Some("false"));
    sim.check();
}

#[test]
fn a_retry_that_is_due_at_the_deadline_starts_if_a_slot_is_free() {
    let mut sim = sim(r#""retry":{"budget_ms":1000}"#, LEAST);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Running(2));
}

#[test]
fn a_retry_needs_no_stay_in_the_queue_if_a_slot_is_free() {
    let mut sim = sim(r#""queue":{"max_wait_ms":0}"#, LEAST);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Running(2));
}

#[test]
fn the_no_wait_header_means_what_its_value_says() {
    for (value, waits) in [
        ("1", false),
        ("true", false),
        ("yes", false),
        ("no", false),
        ("", true),
        (" ", true),
        ("0", true),
        ("false", true),
        ("FALSE", true),
        (" False ", true),
    ] {
        let mut sim = sim(r#""max_concurrent_calls":1"#, LEAST);
        sim.arrive(Ask::on(0));
        let id = sim.arrive(Ask::on(0).header("x-weir-no-wait", value));
        let expected = match waits {
            true => State::Waiting,
            false => State::Refused("no_wait".into()),
        };
        assert_eq!(sim.state(id), expected, "{value:?}");
    }
}

#[test]
fn the_no_wait_header_may_have_another_name_or_none() {
    for (name, header, waits) in [
        (r#""x-now""#, "x-now", false),
        (r#""x-now""#, "x-weir-no-wait", true),
        ("null", "x-weir-no-wait", true),
    ] {
        let fields = format!(r#""max_concurrent_calls":1,"queue":{{"no_wait_header":{name}}}"#);
        let mut sim = sim(&fields, LEAST);
        sim.arrive(Ask::on(0));
        let id = sim.arrive(Ask::on(0).header(header, "1"));
        assert_eq!(sim.state(id) == State::Waiting, waits, "{name} {header}");
    }
}
