//! What a call costs in host calls, however many keys there are.
//! `cargo test --test call_laws cost -- --nocapture` prints it.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::{Ask, Reply, Sim};

/// Reads and writes of shared data by `calls` calls that need not wait, dealt out over `keys` keys
/// which both workers know.
fn host_calls(keys: usize, calls: usize) -> (u64, u32) {
    let json = r#"{"policies":[{"name":"p","key":["credential"],"max_concurrent_calls":1}]}"#;
    let mut sim = Sim::new(2, json);
    let visit = |sim: &mut Sim, worker: usize, key: usize| {
        let id = sim.arrive(Ask::on(worker).header("x-api-key", &key.to_string()));
        sim.answer(id, Reply::ok());
    };
    for key in 0..keys {
        visit(&mut sim, 0, key);
        visit(&mut sim, 1, key);
    }
    let count = |sim: &Sim| {
        let state = sim.memory.state();
        (state.reads, state.writes)
    };
    let (reads, writes) = count(&sim);
    for call in 0..calls {
        visit(&mut sim, call % 2, call % keys);
    }
    let (all_reads, all_writes) = count(&sim);
    (all_reads - reads, all_writes - writes)
}

#[test]
fn a_call_costs_as_much_with_a_thousand_keys_as_with_one() {
    const CALLS: usize = 1000;
    let costs = [1, 10, 1000].map(|keys| (keys, host_calls(keys, CALLS)));
    for (keys, (reads, writes)) in costs {
        println!("{keys} keys, {CALLS} calls: {reads} reads and {writes} writes of shared data");
    }
    assert!(costs.iter().all(|(_, cost)| *cost == costs[0].1));
    // A call takes its slot and gives it back.
    assert_eq!(costs[0].1, (2 * CALLS as u64, 2 * CALLS as u32));
}
