//! A call that its client repeats goes on with the budget it had, on whichever worker.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim, State};

fn sim(fields: &str) -> Sim {
    let sim = Sim::policy(2, fields);
    sim.memory.state().random = Random::Always(0);
    sim
}

fn keyed(worker: usize, key: &str) -> Ask {
    Ask::on(worker).header("idempotency-key", key)
}

/// Lets a call be refused until it is answered; how many attempts it made.
fn refused_to_the_end(sim: &mut Sim, ask: Ask) -> usize {
    let id = sim.arrive(ask);
    while sim.calls[id].received.is_none() {
        // For as long as a shut gate may keep it.
        sim.run(ms(10_000));
        if let State::Running(_) = sim.state(id) {
            sim.answer(id, Reply::rate());
        }
    }
    assert_eq!(sim.state(id), State::Answered(429));
    assert_eq!(sim.got(id, "x-should-retry").as_deref(), Some("false"));
    sim.began(id).len()
}

#[test]
fn the_attempts_of_a_repeated_call_count_on_over_workers() {
    let mut sim = sim(r#""retry":{"retry_max_attempts":4}"#);
    let first = sim.arrive(keyed(0, "k"));
    sim.answer(first, Reply::rate());
    sim.run(ms(1000));
    assert_eq!(sim.state(first), State::Running(2));
    sim.answer(first, Reply::burst());
    assert_eq!(
        sim.state(first),
        State::Answered(429),
        "two at most of this class"
    );
    // Two of four are made.
    assert_eq!(refused_to_the_end(&mut sim, keyed(1, "k")), 2);
    // All four are made: one try a call remains.
    assert_eq!(refused_to_the_end(&mut sim, keyed(0, "k")), 1);
    // Another call is not meant.
    assert_eq!(refused_to_the_end(&mut sim, keyed(0, "other")), 4);
    sim.check_empty();
}

#[test]
fn the_time_of_a_repeated_call_counts_on() {
    for (wait, expected) in [("6000", State::Held(1)), ("6001", State::Answered(429))] {
        let mut sim = sim(r#""retry":{"budget_ms":10000}"#);
        let first = sim.arrive(keyed(0, "k"));
        // No refusal, so that nobody has to wait for it; its client will try again.
        sim.answer(first, Reply::new(500));
        sim.run(ms(4000));
        let again = sim.arrive(keyed(1, "k"));
        sim.answer(again, Reply::rate().header("retry-after-ms", wait));
        assert_eq!(sim.state(again), expected, "6 s are left");
    }
}

#[test]
fn a_repeat_whose_budget_is_spent_starts_now_or_never() {
    let mut sim = sim(r#""max_concurrent_calls":1,"retry":{"budget_ms":5000}"#);
    for worker in [0, 1] {
        let id = sim.arrive(keyed(worker, "k"));
        sim.answer(id, Reply::new(500));
        sim.run(ms(4000));
    }
    let runs = sim.arrive(keyed(0, "k"));
    assert_eq!(sim.state(runs), State::Running(1), "there is a slot");
    let cannot = sim.arrive(keyed(0, "k"));
    assert_eq!(sim.state(cannot), State::Refused("deadline".into()));
    assert_eq!(sim.got(cannot, "x-should-retry").as_deref(), Some("false"));
    let other = sim.arrive(keyed(0, "other"));
    assert_eq!(sim.state(other), State::Waiting);
}

#[test]
fn a_call_is_forgotten_a_budget_after_it_last_failed() {
    for (later, attempts) in [(119_999, 1), (120_000, 3)] {
        let mut sim = sim("");
        let before = sim.now;
        assert_eq!(refused_to_the_end(&mut sim, keyed(0, "k")), 3);
        assert_eq!(sim.now.since(before), ms(30_000));
        sim.run(ms(later));
        let made = refused_to_the_end(&mut sim, keyed(0, "k"));
        assert_eq!(made, attempts, "{later}");
    }
}

#[test]
fn a_success_is_not_remembered() {
    let mut sim = sim("");
    let id = sim.arrive(keyed(0, "k"));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    sim.answer(id, Reply::ok());
    assert_eq!(refused_to_the_end(&mut sim, keyed(0, "k")), 3);
}

#[test]
fn a_client_that_left_before_the_answer_goes_on_too() {
    let mut sim = sim("");
    let id = sim.arrive(keyed(0, "k"));
    sim.answer(id, Reply::rate());
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Running(2));
    sim.abort(id);
    assert_eq!(refused_to_the_end(&mut sim, keyed(1, "k")), 1);
}

#[test]
fn what_weir_refused_itself_costs_its_client_nothing() {
    let mut sim = sim(r#""max_concurrent_calls":1,"queue":{"max_waiting":1}"#);
    let [runs, waits] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    let full = sim.arrive(keyed(0, "k"));
    assert_eq!(sim.state(full), State::Refused("queue_full".into()));
    sim.answer(runs, Reply::ok());
    sim.answer(waits, Reply::ok());
    assert_eq!(refused_to_the_end(&mut sim, keyed(0, "k")), 3);
}

#[test]
fn clients_do_not_share_a_key() {
    let mut sim = sim("");
    let of = |client: &str| keyed(0, "k").header("authorization", client);
    assert_eq!(refused_to_the_end(&mut sim, of("Bearer a")), 3);
    assert_eq!(refused_to_the_end(&mut sim, of("Bearer b")), 3);
    assert_eq!(refused_to_the_end(&mut sim, of("Bearer a")), 1);
}

#[test]
fn without_a_key_the_tries_that_the_client_tells_of_count() {
    for (tries, attempts) in [("0", 3), ("1", 2), ("2", 1), ("9", 1), ("x", 3)] {
        let mut sim = sim("");
        let ask = Ask::on(0).header("x-stainless-retry-count", tries);
        assert_eq!(refused_to_the_end(&mut sim, ask), attempts, "{tries}");
    }
}

#[test]
fn with_a_key_the_larger_number_counts() {
    for (tries, attempts) in [("1", 1), ("2", 1), ("0", 3)] {
        let mut sim = sim("");
        refused_to_the_end(&mut sim, keyed(0, "k"));
        let ask = keyed(0, "k").header("x-stainless-retry-count", tries);
        assert_eq!(refused_to_the_end(&mut sim, ask), attempts, "{tries}");
    }
}

#[test]
fn the_log_tells_attempts_of_all_tries() {
    let mut sim = sim("");
    let id = sim.arrive(Ask::on(0).header("x-stainless-retry-count", "2"));
    sim.answer(id, Reply::rate());
    let lines = &sim.memory.state().lines;
    assert!(lines[0].1.contains(r#""attempt":3,"of":3"#), "{lines:?}");
    assert_eq!(sim.got(id, "x-weir-attempts").as_deref(), Some("1"));
}

#[test]
fn l15_as_many_calls_are_remembered_as_there_is_room_for() {
    let mut sim = sim(r#""retry":{"retry_max_attempts":1}"#);
    let calls: Vec<_> = (0..2000)
        .map(|n| sim.arrive(keyed(0, &n.to_string())))
        .collect();
    for id in calls {
        sim.answer(id, Reply::rate());
    }
    sim.run(ms(300));
    let is_bucket = |name: &&String| name.starts_with("weir.repeats.");
    let buckets = sim.memory.state().data.keys().filter(is_bucket).count();
    assert!(buckets <= 256);
    let forgotten = sim.plugin("avoided.repeats_full");
    assert!((976..1400).contains(&forgotten), "{forgotten}");
}

#[test]
fn no_key_lies_in_shared_data() {
    let mut sim = sim("");
    refused_to_the_end(&mut sim, keyed(0, "the-clients-own-key"));
    let state = sim.memory.state();
    let key = b"the-clients-own-key";
    let holds = |bytes: &[u8]| bytes.windows(key.len()).any(|part| part == key);
    assert!(
        state
            .data
            .iter()
            .all(|(name, value)| !holds(name.as_bytes()) && !holds(&value.0))
    );
    assert!(state.lines.iter().all(|(_, line)| !holds(line.as_bytes())));
}

#[test]
fn calls_that_do_not_fail_cost_what_they_did() {
    let cost = |ask: &dyn Fn() -> Ask| {
        let mut sim = sim("");
        let visit = |sim: &mut Sim| {
            let id = sim.arrive(ask());
            sim.answer(id, Reply::ok());
        };
        visit(&mut sim);
        let count = |sim: &Sim| {
            let state = sim.memory.state();
            (state.reads, state.writes)
        };
        let (reads, writes) = count(&sim);
        visit(&mut sim);
        let (all_reads, all_writes) = count(&sim);
        (all_reads - reads, all_writes - writes)
    };
    assert_eq!(cost(&|| Ask::on(0)), (2, 2));
    // An SDK says that it is the first.
    let first = || keyed(0, "k").header("x-stainless-retry-count", "0");
    assert_eq!(cost(&first), (2, 2));
    // One look for a key whose client does not say.
    assert_eq!(cost(&|| keyed(0, "k")), (3, 2));
}
