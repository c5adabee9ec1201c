//! A call whose gate is shut goes elsewhere before it waits, once, and only to where it is better.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::{header, ms};
use crate::memhost::{Ask, Reply, Sim, State};

const ONCE: &str = r#""retry":{"retry_max_attempts":1}"#;

/// Two accounts, of which each is the other's second, from these waits on.
fn accounts(after_ms: [u32; 2]) -> String {
    let policy = |name: &str, of: &str, to: &str, after: u32| {
        format!(
            r#"{{"name":"{name}","match":{{"clusters":["{of}"]}},{ONCE},"failover":{{
                "header":"x-account","value":"{to}","cluster":"{to}","after_ms":{after}}}}}"#
        )
    };
    let [first, second] = after_ms;
    let (p, q) = (
        policy("p", "first", "second", first),
        policy("q", "second", "first", second),
    );
    format!(r#"{{"policies":[{p},{q}]}}"#)
}

fn to(cluster: &'static str) -> Ask {
    Ask::on(0).cluster(cluster)
}

/// An account refuses, and is to be left alone for so many seconds.
fn refuse(sim: &mut Sim, ask: Ask, seconds: &'static str) {
    let id = sim.arrive(ask);
    sim.answer(id, Reply::rate().header("retry-after", seconds));
}

fn account(sim: &Sim, id: usize) -> Option<String> {
    header(&sim.calls[id].headers, "x-account")
}

#[test]
fn a_call_goes_to_the_second_account_while_the_first_is_shut() {
    let mut sim = Sim::new(2, &accounts([0, 0]));
    let before = sim.arrive(to("first"));
    refuse(&mut sim, to("first"), "5");
    let meanwhile = [to("first"), Ask::on(1).cluster("first")].map(|ask| sim.arrive(ask));
    sim.run(ms(5000));
    let after = sim.arrive(to("first"));
    assert_eq!(account(&sim, before), None);
    for id in meanwhile {
        assert_eq!(account(&sim, id).as_deref(), Some("second"));
        assert_eq!(sim.began(id), [0]);
    }
    assert_eq!(account(&sim, after), None);
    sim.run(ms(300));
    assert_eq!(sim.count("failed_over"), 2);
    assert_eq!(sim.memory.counter("weir.policy.q.calls"), 2);
}

#[test]
fn l10_with_both_shut_it_waits_where_it_is_better() {
    for (first, second, goes_to, waits) in
        [("9", "4", Some("second"), 4000), ("4", "9", None, 4000)]
    {
        let mut sim = Sim::new(1, &accounts([0, 0]));
        let other = sim.arrive(to("second"));
        refuse(&mut sim, to("first"), first);
        sim.answer(other, Reply::rate().header("retry-after", second));
        let id = sim.arrive(to("first"));
        assert_eq!(sim.state(id), State::Waiting);
        assert_eq!(account(&sim, id).as_deref(), goes_to);
        sim.run(ms(waits));
        assert_eq!(sim.began(id), [waits]);
    }
}

#[test]
fn l10_with_both_shut_for_too_long_it_is_told_when_the_better_one_opens() {
    let mut sim = Sim::new(1, &accounts([0, 0]));
    let other = sim.arrive(to("second"));
    refuse(&mut sim, to("first"), "300");
    sim.answer(other, Reply::rate().header("retry-after", "100"));
    let id = sim.arrive(to("first"));
    assert_eq!(sim.state(id), State::Refused("paused".to_owned()));
    assert_eq!(sim.got(id, "retry-after").as_deref(), Some("100"));
}

#[test]
fn a_short_pause_is_waited_for() {
    for (after, goes_to) in [(5000, None), (4999, Some("second"))] {
        let mut sim = Sim::new(1, &accounts([after, 0]));
        refuse(&mut sim, to("first"), "5");
        let id = sim.arrive(to("first"));
        assert_eq!(account(&sim, id).as_deref(), goes_to, "{after}");
    }
}

#[test]
fn a_used_up_quota_sends_calls_elsewhere() {
    let mut sim = Sim::new(1, &accounts([60_000, 0]));
    let id = sim.arrive(to("first"));
    let quota = Reply::new(429).body(r#"{"error":{"code":"insufficient_quota"}}"#);
    sim.answer(id, quota);
    assert_eq!(sim.state(id), State::Answered(429));
    let id = sim.arrive(to("first"));
    assert_eq!(account(&sim, id).as_deref(), Some("second"));
    assert_eq!(sim.began(id), [0]);
}

#[test]
fn a_shadow_sends_nobody_elsewhere() {
    let json = accounts([0, 0]).replace(ONCE, r#""mode":"shadow""#);
    let mut sim = Sim::new(1, &json);
    refuse(&mut sim, to("first"), "5");
    let id = sim.arrive(to("first"));
    assert_eq!(account(&sim, id), None);
}
