//! L6: code with a newer layout of records works beside this one.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

#[test]
fn l6_newer_code_finds_again_what_it_wrote_into_a_record() {
    let mut sim = Sim::policy(
        2,
        r#""max_concurrent_calls":2,"rate":{"requests_per_second":50}"#,
    );
    sim.memory.state().newer.vm = Some(1);
    let mut calls: Vec<_> = (0..12).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    for _ in 0..200 {
        let is_running = |id: &usize| matches!(sim.state(*id), State::Running(_));
        if let Some(at) = calls.iter().position(is_running) {
            let call = calls.remove(at);
            sim.answer(call, Reply::ok());
        }
        sim.run(ms(5));
    }
    assert!(calls.is_empty(), "{calls:?}");
    let newer = std::mem::take(&mut sim.memory.state().newer);
    // Before its first write there is nothing to find.
    assert!(newer.found > 12 && newer.missed <= 2, "{newer:?}");
    sim.check_empty();
}
