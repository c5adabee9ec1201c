//! L15: everything is bounded, and says so.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State, Vm};

#[test]
fn l15_the_queue_takes_max_waiting_calls_over_all_workers() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":1,"queue":{"max_waiting":3}"#);
    for n in 0..6 {
        sim.arrive(Ask::on(n % 2));
    }
    let full = State::Refused("queue_full".into());
    let expected = [
        State::Running(1),
        State::Waiting,
        State::Waiting,
        State::Waiting,
        full.clone(),
        full,
    ];
    assert_eq!(sim.states(), expected);
    let body = String::from_utf8(sim.received(4).body.clone()).unwrap();
    assert!(
        body.contains(r#""limit":"max_waiting","position":4"#),
        "{body}"
    );
    assert_eq!(sim.got(4, "x-weir-attempts").as_deref(), Some("0"));
    sim.run(ms(300));
    assert_eq!(sim.count("refused.reason.queue_full"), 2);
    sim.check();
}

#[test]
fn l15_without_a_queue_nobody_waits() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1,"queue":{"max_waiting":0}"#);
    let [first, second] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    assert_eq!(sim.state(second), State::Refused("queue_full".into()));
    sim.answer(first, Reply::ok());
    let third = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(third), State::Running(1));
}

#[test]
fn l15_as_many_calls_are_held_as_may_wait_and_the_rest_gets_the_providers_answer() {
    let mut sim = Sim::policy(2, r#""queue":{"max_waiting":2}"#);
    let calls = [0, 1, 0].map(|w| sim.arrive(Ask::on(w)));
    for call in calls {
        sim.answer(call, Reply::rate());
    }
    assert_eq!(
        calls.map(|call| sim.state(call)),
        [State::Held(1), State::Held(1), State::Answered(429)]
    );
    sim.run(ms(300));
    assert_eq!(sim.plugin("avoided.holds_full"), 1);
    assert_eq!(sim.count("gave_up.class.rate"), 1);
    sim.check();
}

#[test]
fn l15_holds_do_not_take_the_places_of_waiters() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1,"queue":{"max_waiting":1}"#);
    let held = sim.arrive(Ask::on(0));
    sim.answer(held, Reply::rate());
    let running = sim.arrive(Ask::on(0));
    let waits = sim.arrive(Ask::on(0));
    sim.run(ms(1000));
    // The held call waits for its turn: still there is but one waiter for a first start.
    sim.abort(waits);
    let again = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(again), State::Waiting);
    sim.answer(running, Reply::ok());
    assert_eq!(sim.state(held), State::Running(2));
}

#[test]
fn l15_beyond_max_keys_new_keys_share_one_gate() {
    let json = r#"{"max_keys":2,"policies":[{"name":"p","max_concurrent_calls":1}]}"#;
    let mut sim = Sim::new(2, json);
    let own = ["a", "b"].map(|cluster| sim.arrive(Ask::on(0).cluster(cluster)));
    assert!(own.iter().all(|id| sim.state(*id) == State::Running(1)));
    let first = sim.arrive(Ask::on(0).cluster("c"));
    let shares = sim.arrive(Ask::on(1).cluster("d"));
    assert_eq!(sim.state(first), State::Running(1));
    assert_eq!(sim.state(shares), State::Waiting);
    sim.answer(first, Reply::ok());
    assert_eq!(sim.state(shares), State::Running(1));
    // Keys that have a gate keep it.
    assert_eq!(sim.state(sim.calls.len() - 1), State::Running(1));
    let waits = sim.arrive(Ask::on(1).cluster("a"));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(300));
    assert_eq!(sim.plugin("overflow"), 2);
    assert_eq!(sim.memory.gauge("weir.plugin.keys"), Some(3));
    sim.check();
}

#[test]
fn l15_policies_share_no_overflow_gate() {
    let json = r#"{"max_keys":1,"policies":[
        {"name":"narrow","match":{"clusters":["narrow"]},"max_concurrent_calls":1},
        {"name":"p","max_concurrent_calls":6}]}"#;
    let mut sim = Sim::new(2, json);
    for cluster in ["a", "b"] {
        sim.arrive(Ask::on(0).cluster(cluster));
    }
    let starts = sim.arrive(Ask::on(0).cluster("narrow"));
    let waits = sim.arrive(Ask::on(1).cluster("narrow"));
    let other = sim.arrive(Ask::on(1).cluster("c"));
    assert_eq!(sim.state(starts), State::Running(1));
    // Whatever comes to the other policy, this one's cap stands, and so do its gauges.
    assert_eq!(sim.state(waits), State::Waiting);
    assert_eq!(sim.state(other), State::Running(1));
    sim.run(ms(300));
    let gauge = |policy: &str, name: &str| {
        let name = format!("weir.policy.{policy}.{name}");
        sim.memory.gauge(&name)
    };
    assert_eq!(
        (gauge("narrow", "limit"), gauge("p", "limit")),
        (Some(1), Some(6))
    );
    assert_eq!(
        (gauge("narrow", "slots"), gauge("p", "slots")),
        (Some(1), Some(3))
    );
    assert_eq!(sim.plugin("config_flaps"), 0);
    sim.check();
}

#[test]
fn l14_a_tick_looks_after_a_bounded_number_of_gates_and_all_have_their_turn() {
    const GATES: u64 = 300;
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let mut pair = |n: u64| {
        let name: &str = Box::leak(format!("c{n}").into_boxed_str());
        [0, 1].map(|_| sim.arrive(Ask::on(0).cluster(name)))
    };
    let calls: Vec<_> = (0..GATES).map(&mut pair).collect();
    sim.run(ms(300));
    let tick = |sim: &mut Sim| {
        let before = sim.memory.state().reads;
        let seat = &mut sim.seats[0];
        seat.tick(sim.now, 0);
        sim.memory.state().reads - before
    };
    // Gauges, which read every gate, are set by the first of two ticks at one moment at most.
    tick(&mut sim);
    assert!(tick(&mut sim) < 50);
    sim.memory.state().faults.lost_wakes = true;
    for [running, _] in &calls {
        sim.answer(*running, Reply::ok());
    }
    sim.run(ms(1000));
    assert!(
        calls
            .iter()
            .all(|[_, waits]| sim.state(*waits) == State::Running(1))
    );
    assert_eq!(sim.count("grants_by_tick"), GATES);
}

#[test]
fn l15_ten_lines_a_second_and_worker_the_rest_is_counted() {
    let mut sim = Sim::policy(2, "");
    let calls: Vec<_> = (0..60).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    for id in &calls {
        sim.answer(*id, Reply::rate());
    }
    assert_eq!(sim.memory.state().lines.len(), 20);
    sim.run(ms(300));
    assert_eq!(sim.plugin("log_dropped"), 40);
    assert_eq!(sim.count("refusals.class.rate"), 60);
}

#[test]
fn l15_advice_is_given_once_a_minute() {
    let mut sim = Sim::policy(1, r#""queue":{"max_waiting":0}"#);
    let advice = |sim: &Sim| {
        let lines = &sim.memory.state().lines;
        let of = |line: &&(_, String)| line.1.contains("holds_full");
        lines.iter().filter(of).count()
    };
    for expected in [1, 1, 2] {
        let probe = sim.arrive(Ask::on(0));
        sim.answer(probe, Reply::ok());
        for id in [0; 5].map(|worker| sim.arrive(Ask::on(worker))) {
            sim.answer(id, Reply::rate());
        }
        assert_eq!(advice(&sim), expected);
        sim.run(ms(31_000));
    }
}
