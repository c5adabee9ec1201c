//! L9 before the refusal: what a provider says is left is made to last.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim};

fn left(remaining: &'static str, reset: &'static str) -> Reply {
    Reply::ok()
        .header("x-ratelimit-limit-requests", "100")
        .header("x-ratelimit-remaining-requests", remaining)
        .header("x-ratelimit-reset-requests", reset)
}

/// A call that is answered so, and then many at once. When each of them started, in ms.
fn starts_after(reply: Reply, calls: usize) -> Vec<u64> {
    let mut sim = Sim::policy(2, "");
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, reply);
    let calls: Vec<_> = (0..calls).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.run(ms(9000));
    let mut starts: Vec<_> = calls.iter().map(|id| sim.began(*id)[0]).collect();
    starts.sort_unstable();
    starts
}

#[test]
fn l9_the_few_calls_that_are_left_last_until_the_reset() {
    let starts = starts_after(left("3", "8s"), 5);
    // And then the next count begins.
    assert_eq!(starts, [2000, 4000, 6000, 8000, 8000]);
}

#[test]
fn l9_with_nothing_left_nothing_starts_before_the_reset() {
    assert_eq!(starts_after(left("0", "1s"), 3), [1000; 3]);
}

#[test]
fn l9_of_a_new_count_no_more_start_than_it_has_before_a_word_comes() {
    let mut sim = Sim::policy(2, "");
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, left("0", "1s"));
    let calls: Vec<_> = (0..120).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.run(ms(3000));
    assert_eq!(sim.in_flight(), 100);
    // The word comes with the first answer, and all that started since are taken off.
    sim.answer(calls[0], left("99", "57s"));
    assert_eq!(sim.in_flight(), 99);
    sim.run(ms(57_000));
    assert_eq!(sim.in_flight(), 119);
    sim.check();
}

#[test]
fn plenty_makes_nothing_slower() {
    assert_eq!(starts_after(left("10", "8s"), 30), [0; 30]);
    assert_eq!(starts_after(Reply::ok(), 30), [0; 30]);
    // Further than a quarter of an hour it is a quota.
    assert_eq!(starts_after(left("0", "16m0s"), 3), [0; 3]);
}

#[test]
fn the_newest_word_says_when_there_is_plenty_again() {
    let mut sim = Sim::policy(1, "");
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, left("3", "8s"));
    let calls: Vec<_> = (0..4).map(|_| sim.arrive(Ask::on(0))).collect();
    sim.run(ms(2000));
    assert_eq!(sim.in_flight(), 1);
    sim.answer(calls[0], left("90", "60s"));
    assert_eq!(sim.in_flight(), 3);
    sim.check();
}

#[test]
fn what_started_since_is_taken_off_what_is_told() {
    let mut sim = Sim::policy(1, "");
    let first = sim.arrive(Ask::on(0));
    let others: Vec<_> = (0..5).map(|_| sim.arrive(Ask::on(0))).collect();
    // Five more are on their way to the one that knows of none of them.
    sim.answer(first, left("6", "8s"));
    let next = sim.arrive(Ask::on(0));
    sim.run(ms(3999));
    assert!(sim.began(next).is_empty());
    sim.run(ms(1));
    assert_eq!(sim.began(next), [4000]);
    for id in others {
        sim.answer(id, Reply::ok());
    }
    sim.answer(next, Reply::ok());
    sim.check_empty();
}

#[test]
fn l8_a_start_that_did_not_happen_is_there_for_the_next() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, left("1", "8s"));
    let leaves = sim.arrive(Ask::on(0));
    let stays = sim.arrive(Ask::on(0));
    sim.abort(leaves);
    sim.run(ms(4000));
    assert_eq!(sim.began(stays), [4000]);
}

#[test]
fn each_of_several_envoys_has_its_part_of_what_is_left() {
    let shared = r#"{"share":{"of":2},"policies":[{"name":"p"}]}"#;
    let mut sim = Sim::new(1, shared);
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, left("6", "8s"));
    let calls: Vec<_> = (0..3).map(|_| sim.arrive(Ask::on(0))).collect();
    sim.run(ms(7000));
    let starts: Vec<_> = calls.iter().map(|id| sim.began(*id)[0]).collect();
    assert_eq!(starts, [2000, 4000, 6000]);
}

#[test]
fn a_shadow_only_looks_on() {
    let mut sim = Sim::policy(1, r#""mode":"shadow""#);
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, left("0", "8s"));
    let next = sim.arrive(Ask::on(0));
    assert_eq!(sim.began(next), [0]);
}

/// A success of a provider with plenty costs no word beyond its start and its end.
#[test]
fn plenty_costs_no_word() {
    let words = |reply: Reply| {
        let mut sim = Sim::policy(1, "");
        let warm = sim.arrive(Ask::on(0));
        sim.answer(warm, Reply::ok());
        let id = sim.arrive(Ask::on(0));
        let before = sim.memory.state().reads;
        sim.answer(id, reply);
        sim.memory.state().reads - before
    };
    assert_eq!(words(Reply::ok()), words(left("90", "8s")));
    assert_eq!(words(Reply::ok()) + 1, words(left("9", "8s")));
}
