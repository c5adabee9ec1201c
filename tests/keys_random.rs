//! Keys that come and go at random, while gates make room and time passes: the table of gates stays
//! whole, bounded, and without a key that has two.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

#[path = "memhost/mod.rs"]
mod memhost;

use std::collections::BTreeSet;

use memhost::call::ms;
use memhost::{Ask, Reply, Sim, State};
use proptest::prelude::*;

const MAX_KEYS: usize = 4;

/// Runs of the test; `WEIR_PROVE=1` takes minutes.
fn cases() -> u32 {
    match std::env::var_os("WEIR_PROVE") {
        Some(_) => 2000,
        None => 12,
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// A call of this key comes to this worker.
    Arrive { worker: usize, key: usize },
    /// One of the calls that run ends.
    Answer(usize),
    /// The client of one of the calls that are not over goes away.
    Abort(usize),
    /// Seconds pass.
    Pass(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (0..3_usize, 0..9_usize).prop_map(|(worker, key)| Op::Arrive { worker, key }),
        4 => any::<usize>().prop_map(Op::Answer),
        1 => any::<usize>().prop_map(Op::Abort),
        2 => prop_oneof![Just(1), Just(30), Just(61)].prop_map(Op::Pass),
    ]
}

fn pick(sim: &Sim, from: usize, is: impl Fn(&State) -> bool) -> Option<usize> {
    let able: Vec<usize> = (0..sim.calls.len())
        .filter(|id| is(&sim.state(*id)))
        .collect();
    (!able.is_empty()).then(|| able[from % able.len()])
}

fn apply(sim: &mut Sim, op: &Op) {
    match op {
        Op::Arrive { worker, key } => {
            sim.arrive(Ask::on(*worker).header("x-api-key", &format!("k{key}")));
        }
        Op::Answer(from) => {
            if let Some(id) = pick(sim, *from, |state| matches!(state, State::Running(_))) {
                sim.answer(id, Reply::ok());
            }
        }
        Op::Abort(from) => {
            let is_open = |state: &State| matches!(state, State::Running(_) | State::Waiting);
            if let Some(id) = pick(sim, *from, is_open) {
                sim.abort(id);
            }
        }
        Op::Pass(seconds) => sim.run(ms(seconds * 1000)),
    }
}

fn check(sim: &Sim) {
    sim.check();
    sim.check_no_idle_slot();
    let records = sim.records();
    let identities: BTreeSet<u128> = records.iter().map(|record| record.identity).collect();
    assert_eq!(identities.len(), records.len(), "a key with two gates");
    // The one for what has no room comes on top.
    assert!(records.len() <= MAX_KEYS + 1, "{} gates", records.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn l15_the_table_stays_whole(ops in prop::collection::vec(op(), 1..60)) {
        let json = format!(
            r#"{{"max_keys":{MAX_KEYS},"policies":[{{"name":"p","key":["credential"],
                "max_concurrent_calls":1,"queue":{{"max_wait_ms":3600000}},"retry":{{"budget_ms":3600000}}}}]}}"#
        );
        let mut sim = Sim::new(3, &json);
        sim.route.timeout = None;
        // Minutes pass here: nothing that is looked for is a matter of one tick.
        sim.busy = ms(100);
        for op in &ops {
            apply(&mut sim, op);
            check(&sim);
        }
        while let Some(id) = pick(&sim, 0, |state| matches!(state, State::Running(_))) {
            sim.answer(id, Reply::ok());
        }
        sim.check_empty();
    }
}
