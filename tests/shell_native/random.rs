//! Anything that clients, providers, Envoy and shared data may do, in any order, as in `call_random`;
//! and host calls that fail.

#[path = "../call_random/ops.rs"]
mod ops;
#[path = "../call_random/troubles.rs"]
mod troubles;
#[path = "../call_random/world.rs"]
mod world;

use proptest::prelude::*;

use crate::memhost;
use ops::Op;

/// Runs of each test; `WEIR_PROVE=1` takes minutes.
fn cases() -> u32 {
    match std::env::var_os("WEIR_PROVE") {
        Some(_) => 2000,
        None => 16,
    }
}

/// All that goes wrong elsewhere, and any host call that may fail.
fn failing() -> impl Strategy<Value = Op> {
    let fail = (prop_oneof![Just(0u64), 2u64..40], any::<u64>());
    prop_oneof![
        10 => ops::dark(),
        1 => fail.prop_map(|(one_in, seed)| Op::Fail(one_in, seed)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 500,
        ..ProptestConfig::default()
    })]

    #[test]
    fn l14_no_failing_host_call_ends_a_vm_resumes_a_stream_twice_or_leaks(
        (ops, random, serve) in ops::runs(failing())
    ) {
        let mut world = world::World::new(random);
        for op in &ops {
            world.apply(op);
        }
        world.let_go(serve);
    }
}
