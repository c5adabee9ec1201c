//! L10: the least of all that bounds a call is its deadline, whoever names it.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim, State};

/// Ways to say five seconds.
const FIVE_SECONDS: [(&str, &str); 5] = [
    ("grpc-timeout", "5S"),
    ("grpc-timeout", "5000000u"),
    ("x-stainless-read-timeout", "5.0"),
    ("x-stainless-timeout", "5"),
    ("x-request-timeout", "5"),
];

fn sim(fields: &str) -> Sim {
    let sim = Sim::policy(1, fields);
    sim.memory.state().random = Random::Always(0);
    sim
}

#[test]
fn l10_a_clients_own_timeout_bounds_the_wait_and_leaves_50_ms_for_the_answer() {
    for (name, value) in FIVE_SECONDS {
        let mut sim = sim(r#""max_concurrent_calls":1"#);
        sim.arrive(Ask::on(0));
        let waits = sim.arrive(Ask::on(0).header(name, value));
        sim.run(ms(4949));
        assert_eq!(sim.state(waits), State::Waiting, "{name}: {value}");
        sim.run(ms(1));
        assert_eq!(sim.state(waits), State::Refused("deadline".into()));
        let body = String::from_utf8(sim.received(waits).body.clone()).unwrap();
        assert!(body.contains(&format!(r#""limit":"{name}""#)), "{body}");
        sim.check();
    }
}

#[test]
fn l10_a_hold_that_the_clients_timeout_cuts_is_passed_on_now() {
    for (name, value) in FIVE_SECONDS {
        for (wait, fits) in [("4850", true), ("4851", false)] {
            let mut sim = sim("");
            let id = sim.arrive(Ask::on(0).header(name, value));
            sim.run(ms(100));
            sim.answer(id, Reply::rate().header("retry-after-ms", wait));
            let expected = match fits {
                true => State::Held(1),
                false => State::Answered(429),
            };
            assert_eq!(sim.state(id), expected, "{name}: {value}");
        }
    }
}

#[test]
fn l10_the_least_of_all_bounds_counts() {
    for (budget, patience, timeout, limit, wait) in [
        (3000, "4000", "5", "budget_ms", 3000),
        (5000, "4000", "9", "patience_header", 4000),
        (9000, "8000", "5", "x-request-timeout", 4950),
    ] {
        let fields = format!(
            r#""max_concurrent_calls":1,"patience_header":"x-patience","retry":{{"budget_ms":{budget}}}"#
        );
        let mut sim = sim(&fields);
        sim.arrive(Ask::on(0));
        let ask = Ask::on(0)
            .header("x-patience", patience)
            .header("x-request-timeout", timeout);
        let waits = sim.arrive(ask);
        sim.run(ms(wait - 1));
        assert_eq!(sim.state(waits), State::Waiting, "{limit}");
        sim.run(ms(1));
        let body = String::from_utf8(sim.received(waits).body.clone()).unwrap();
        assert!(body.contains(&format!(r#""limit":"{limit}""#)), "{body}");
    }
}

#[test]
fn l10_a_wait_that_cannot_fit_the_clients_timeout_is_refused_at_once() {
    let mut sim = sim(r#""rate":{"requests_per_second":1}"#);
    sim.arrive(Ask::on(0));
    let fits = sim.arrive(Ask::on(0).header("grpc-timeout", "1100m"));
    assert_eq!(sim.state(fits), State::Waiting);
    let cannot = sim.arrive(Ask::on(0).header("grpc-timeout", "2040m"));
    assert_eq!(sim.state(cannot), State::Refused("deadline".into()));
    assert_eq!(sim.got(cannot, "retry-after").as_deref(), Some("1"));
    let later = sim.arrive(Ask::on(0).header("grpc-timeout", "2060m"));
    assert_eq!(sim.state(later), State::Waiting);
}

#[test]
fn l10_a_hold_whose_turn_cannot_come_in_time_is_passed_on_now() {
    for (budget, expected) in [(10_000, State::Held(1)), (9_999, State::Answered(429))] {
        let fields =
            format!(r#""rate":{{"requests_per_minute":6}},"retry":{{"budget_ms":{budget}}}"#);
        let mut sim = sim(&fields);
        let id = sim.arrive(Ask::on(0));
        sim.answer(id, Reply::rate());
        assert_eq!(sim.state(id), expected);
        if expected != State::Held(1) {
            assert_eq!(sim.got(id, "x-should-retry").as_deref(), Some("false"));
            sim.check_empty();
        }
    }
}

#[test]
fn a_timeout_that_cannot_be_read_is_ignored_and_counted() {
    let mut sim = sim(r#""max_concurrent_calls":1,"patience_header":"x-patience""#);
    sim.arrive(Ask::on(0));
    for (name, value) in [
        ("grpc-timeout", "5"),
        ("grpc-timeout", "123456789S"),
        ("x-stainless-read-timeout", "None"),
        ("x-request-timeout", "-5"),
        ("x-patience", "soon"),
    ] {
        let id = sim.arrive(Ask::on(0).header(name, value));
        assert_eq!(sim.state(id), State::Waiting, "{name}: {value}");
    }
    sim.run(ms(300));
    assert_eq!(sim.plugin("avoided.patience_unreadable"), 5);
    let lines = &sim.memory.state().lines;
    let said = lines.iter().filter(|(_, line)| line.contains("unreadable"));
    assert_eq!(said.count(), 1, "once, and not what the client said");
}
