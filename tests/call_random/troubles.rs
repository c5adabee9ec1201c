//! Each kind of trouble, and what must hold in it.

use proptest::prelude::*;

use super::cases;
use super::ops::{calm, dark, hedged, rough, runs};
use super::world::World;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn while_all_goes_well_every_law_holds_after_every_step(
        (ops, random, serve) in runs(calm())
    ) {
        let mut world = World::new(random);
        for op in &ops {
            world.apply(op);
            world.check_always();
            world.check_calm(op);
        }
        world.let_go(serve);
    }

    #[test]
    fn attempts_of_envoys_own_are_counted_and_leave_nothing(
        (ops, random, serve) in runs(hedged())
    ) {
        let mut world = World::new(random);
        for op in &ops {
            world.apply(op);
            world.check_always();
            world.check_calm(op);
        }
        world.let_go(serve);
    }

    #[test]
    fn lost_wake_ups_conflicts_and_blocked_threads_break_no_cap_and_lose_no_slot(
        (ops, random, serve) in runs(rough())
    ) {
        let mut world = World::new(random);
        for op in &ops {
            world.apply(op);
            world.check_always();
        }
        world.let_go(serve);
    }

    #[test]
    fn without_shared_data_nothing_is_lost_either(
        (ops, random, serve) in runs(dark())
    ) {
        let mut world = World::new(random);
        for op in &ops {
            world.apply(op);
            world.check_always();
        }
        world.let_go(serve);
    }
}
