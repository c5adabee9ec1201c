//! Each host call that can fail does so once, at each of its turns in a script that goes everywhere.

use crate::memhost::call::ms;
use crate::memhost::calls::Failing;
use crate::memhost::memory::Random;
use crate::memhost::sim::policy;
use crate::memhost::{Ask, Reply, Sim, State};

/// Host calls that have a failure the SDK lets through. All others answer `Ok` or end the VM.
const CAN_FAIL: [&str; 12] = [
    "get_header_map_pairs",
    "get_buffer_bytes",
    "get_property",
    "get_shared_data",
    "set_shared_data",
    "enqueue_shared_queue",
    "dequeue_shared_queue",
    "set_effective_context",
    "record_metric",
    "increment_metric",
    "clock_time_get",
    "random_get",
];

/// Of calls with more turns this many are tried, spread over all of them.
fn tried() -> u64 {
    match std::env::var_os("WEIR_PROVE") {
        Some(_) => 500,
        None => 6,
    }
}

fn start() -> Sim {
    let fields = |cap| {
        policy(&format!(
            r#""max_concurrent_calls":{cap},"queue":{{"max_waiting":3,"max_wait_ms":900}},
            "retry":{{"retry_base_delay_ms":100,"retry_cap_delay_ms":200,"budget_ms":3000}}"#
        ))
    };
    let mut sim = Sim::new(2, &fields(1));
    sim.busy = ms(10);
    sim.memory.state().random = Random::Stream(7);
    sim
}

/// The latest call in a state, if there is one: a failure may have changed what became of it.
fn latest(sim: &Sim, test: impl Fn(&State) -> bool) -> Option<usize> {
    (0..sim.calls.len()).rev().find(|id| test(&sim.state(*id)))
}

fn runs(state: &State) -> bool {
    matches!(state, State::Running(_))
}

/// Queue, refusals with and without bodies, holds, retries, streams, leaving, a reload, a full queue.
fn play(sim: &mut Sim) {
    for n in 0..6 {
        sim.arrive(Ask::on(n % 2));
    }
    let turns = [
        Reply::rate(),
        Reply::ok(),
        Reply::burst(),
        Reply::new(503).header("retry-after-ms", "120"),
        Reply::new(400),
        Reply::ok(),
    ];
    for reply in turns {
        if let Some(id) = latest(sim, runs) {
            sim.answer(id, reply);
        }
        sim.run(ms(60));
    }
    sim.arrive(Ask::on(0).header("x-weir-no-wait", "1"));
    sim.arrive(Ask::on(1).uploading());
    sim.reload(&policy(r#""max_concurrent_calls":3"#));
    if let Some(id) = latest(sim, runs) {
        sim.head(id, Reply::new(429));
        sim.part(id, b"{", false);
        sim.run(ms(1100));
        sim.complete_request(id);
    }
    for state in [State::Waiting, State::Held(1), State::Running(1)] {
        if let Some(id) = latest(sim, |s| *s == state) {
            sim.abort(id);
        }
        sim.run(ms(100));
    }
    if let Some(id) = latest(sim, runs) {
        sim.local_reply(id, 504);
    }
    sim.run(ms(500));
}

/// Every client leaves. Whatever failed, nothing is left then.
fn end(sim: &mut Sim) {
    sim.memory.state().calls.failing = Failing::None;
    for id in 0..sim.calls.len() {
        sim.abort(id);
    }
    sim.check_empty();
}

#[test]
fn l14_l4_each_host_call_may_fail_at_each_of_its_turns() {
    let mut sim = start();
    let before = sim.memory.state().calls.made.clone();
    play(&mut sim);
    let after = sim.memory.state().calls.made.clone();
    end(&mut sim);
    let turns = |name| {
        let made = |calls: &std::collections::BTreeMap<_, u64>| calls.get(name).copied();
        made(&after).unwrap_or(0) - made(&before).unwrap_or(0)
    };
    for name in CAN_FAIL {
        assert!(turns(name) > 0, "{name} has no turn in the script");
        let step = turns(name).div_ceil(tried()) as usize;
        for turn in (1..=turns(name)).step_by(step) {
            let mut sim = start();
            sim.memory.state().calls.failing = Failing::Nth(name, turn);
            play(&mut sim);
            end(&mut sim);
        }
    }
}

#[test]
fn l14_l4_each_host_call_may_fail_for_good() {
    for name in CAN_FAIL {
        let mut sim = start();
        sim.memory.state().calls.failing = Failing::All(name);
        play(&mut sim);
        let failed = sim.memory.state().calls.failed.get(name).copied();
        assert!(failed > Some(0), "{name}");
        end(&mut sim);
    }
}

#[test]
fn l16_a_gate_that_could_not_be_made_is_made_when_it_can_be() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let warm = sim.arrive(Ask::on(0).cluster("a"));
    sim.answer(warm, Reply::ok());
    // Nothing is there, and nothing can be written.
    sim.memory.state().faults.no_data = true;
    let free = sim.arrive(Ask::on(0).cluster("b"));
    assert_eq!(sim.state(free), State::Running(1), "fails open");
    sim.memory.state().faults.no_data = false;
    sim.answer(free, Reply::ok());
    let calls = [0, 1].map(|_| sim.arrive(Ask::on(0).cluster("b")));
    let states = calls.map(|id| sim.state(id));
    assert_eq!(states, [State::Running(1), State::Waiting]);
    for id in calls {
        sim.answer(id, Reply::ok());
    }
    sim.check_empty();
}
