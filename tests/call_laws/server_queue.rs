//! L10: a provider that queues on its side is told how long, and never longer than the call can wait.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::{header, ms};
use crate::memhost::{Ask, Reply, Sim};

const ON: &str = r#""provider":"dashscope","server_queue_ms":60500,"patience_header":"x-patience""#;

fn told(sim: &Sim, id: usize) -> Option<String> {
    header(&sim.calls[id].headers, "x-dashscope-wait-timeout")
}

fn asking(fields: &str, ask: Ask) -> Option<String> {
    let mut sim = Sim::policy(1, fields);
    let id = sim.arrive(ask);
    told(&sim, id)
}

#[test]
fn the_provider_is_told_in_whole_seconds_and_only_where_the_policy_says_so() {
    assert_eq!(asking(ON, Ask::on(0)).as_deref(), Some("60"));
    assert_eq!(asking(r#""provider":"dashscope""#, Ask::on(0)), None);
    let shadow = format!(r#"{ON},"mode":"shadow""#);
    assert_eq!(asking(&shadow, Ask::on(0)), None);
}

#[test]
fn l10_it_is_told_no_more_than_the_client_waits() {
    for (patience, expected) in [("59999", Some("59")), ("3000", Some("3")), ("2999", None)] {
        let found = asking(ON, Ask::on(0).header("x-patience", patience));
        assert_eq!(found.as_deref(), expected, "{patience}");
    }
}

#[test]
fn the_clients_own_word_stands() {
    let ask = Ask::on(0).header("x-dashscope-wait-timeout", "7");
    let mut sim = Sim::policy(1, ON);
    let id = sim.arrive(ask);
    sim.answer(id, Reply::rate().header("retry-after", "2"));
    sim.run(ms(4000));
    assert_eq!(sim.began(id).len(), 2);
    assert_eq!(told(&sim, id).as_deref(), Some("7"));
}

#[test]
fn l10_each_attempt_is_told_what_is_left_by_then() {
    let mut sim = Sim::policy(1, ON);
    sim.route.timeout = Some(ms(10_050));
    let id = sim.arrive(Ask::on(0));
    assert_eq!(told(&sim, id).as_deref(), Some("10"));
    for (wait, began, expected) in [("2", 2000, Some("8")), ("6", 8000, None)] {
        sim.answer(id, Reply::rate().header("retry-after", wait));
        sim.run(ms(wait.parse::<u64>().unwrap() * 1000));
        assert_eq!(sim.began(id).last(), Some(&began));
        assert_eq!(told(&sim, id).as_deref(), expected, "{began}");
    }
}
