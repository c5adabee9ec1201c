//! What a call costs in host calls. `make host-calls` prints it.

use std::collections::BTreeMap;

use crate::memhost::{Ask, Reply, Sim, State};

type Made = BTreeMap<&'static str, u64>;

fn made(sim: &Sim) -> Made {
    sim.memory.state().calls.made.clone()
}

fn between(before: &Made, after: &Made) -> Made {
    let new = |(name, n): (&&'static str, &u64)| {
        let more = n - before.get(name).copied().unwrap_or(0);
        (more > 0).then_some((*name, more))
    };
    after.iter().filter_map(new).collect()
}

/// Two workers that have had calls before, so that nothing is done for the first time.
fn warm() -> Sim {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
    for worker in [0, 1, 0, 1] {
        let calls = [0, 1].map(|_| sim.arrive(Ask::on(worker)));
        for id in calls {
            sim.answer(id, Reply::ok());
        }
    }
    sim
}

/// A call that starts at once.
fn unqueued() -> Made {
    let mut sim = warm();
    let before = made(&sim);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, Reply::ok());
    between(&before, &made(&sim))
}

/// A call that waits for one on another worker, whose own calls are left out.
fn queued() -> Made {
    let mut sim = warm();
    let first = sim.arrive(Ask::on(1));
    let before = made(&sim);
    let id = sim.arrive(Ask::on(0));
    sim.answer(first, Reply::ok());
    assert_eq!(sim.state(id), State::Running(1));
    sim.answer(id, Reply::ok());
    let both = between(&before, &made(&sim));
    let mut sim = warm();
    let first = sim.arrive(Ask::on(1));
    let before = made(&sim);
    sim.answer(first, Reply::ok());
    between(&between(&before, &made(&sim)), &both)
}

/// All that a call costs that starts at once and succeeds.
const AT_ONCE: [(&str, u64); 7] = [
    ("change_header", 5),
    ("clock_time_get", 4),
    ("get_header_map_pairs", 3),
    ("get_property", 4),
    ("get_shared_data", 2),
    ("set_property", 1),
    ("set_shared_data", 2),
];

#[test]
fn a_call_that_starts_at_once_costs_no_more_than_it_did() {
    let (unqueued, queued) = (unqueued(), queued());
    println!("{:<32}{:>10}{:>10}", "host call", "at once", "queued");
    let names: std::collections::BTreeSet<_> = unqueued.keys().chain(queued.keys()).collect();
    let count = |made: &Made, name: &str| made.get(name).copied().unwrap_or(0);
    for name in names {
        let (a, q) = (count(&unqueued, name), count(&queued, name));
        println!("{name:<32}{a:>10}{q:>10}");
    }
    assert_eq!(unqueued, Made::from(AT_ONCE));
}
