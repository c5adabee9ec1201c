//! The laws under thousands of seeds in the simulator: whole Envoys with up to 64 workers, up to
//! 10,000 waiters, lost wake-ups, beaten writes and VMs that die at any host call.
//!
//! A seed that fails is printed. `SIM_SEED=n cargo test --release --test sim_laws NAME` runs it
//! alone; `WEIR_PROVE=1` runs many more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

mod owners;
mod peers;
mod recovery;
mod scenario;
#[path = "../support/sim/mod.rs"]
mod sim;
mod watch;
mod windows;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use weir::core::gate::owner::SLOTS;
use weir::core::time::Time;

use scenario::Scenario;
use sim::draw::{Draw, For};
use sim::weir::Weir;
use sim::world::World;
use watch::Watch;
use windows::{check_windows, grants};

/// Runs seeds, as many as there is time for: `quick` in `make test`, twenty times as many in
/// `make prove`, or the one that `SIM_SEED` names.
fn seeds(test: &str, quick: u64, run: impl Fn(u64)) {
    let chosen = std::env::var("SIM_SEED").ok();
    let chosen = chosen.map(|seed| seed.parse::<u64>().expect("SIM_SEED is a number"));
    let count = match std::env::var_os("WEIR_PROVE") {
        Some(_) => quick * 20,
        None => quick,
    };
    for seed in chosen.map_or(0..count, |seed| seed..seed + 1) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("SIM_SEED={seed} cargo test --release --test sim_laws {test}");
            resume_unwind(panic);
        }
    }
}

/// One run under all laws, to its end.
fn run(scenario: &Scenario) -> (World<Weir>, Watch) {
    if std::env::var_os("SIM_SEED").is_some() {
        eprintln!("{scenario:?}");
    }
    let mut world = scenario.world();
    let mut watch = Watch::new(scenario);
    let mut chance = Draw::new(scenario.seed, For::Faults);
    let mut reload = scenario.then_cap;
    let reload_at = Time(0) + Duration::from_secs_f64(scenario.seconds * chance.unit());
    let mut faults_until = Time(0);
    while !world.is_over() {
        assert!(world.step(), "stuck: calls are left and nothing is planned");
        if world.now >= reload_at
            && let Some(cap) = reload.take()
        {
            let config = scenario.config(cap);
            watch.reload(cap, world.now);
            world.tell(|weir, orders| {
                for vm in weir.vms() {
                    weir.configure(vm, &config, orders);
                }
            });
        }
        if !scenario.faults.are_none() && world.now >= faults_until {
            faults_until = world.now + Duration::from_millis(chance.below(200));
            break_something(scenario, &mut world, &mut chance);
        }
        watch.check(&mut world);
    }
    for envoy in &world.peer.envoys {
        envoy.memory.state().faults = Default::default();
    }
    watch.check_end(&mut world);
    (world, watch)
}

fn break_something(scenario: &Scenario, world: &mut World<Weir>, chance: &mut Draw) {
    let faults = scenario.faults;
    for envoy in &world.peer.envoys {
        let mut state = envoy.memory.state();
        state.faults.lost_wakes = faults.lost_wakes && chance.is_true(0.5);
        state.faults.conflict_one_in = match faults.conflicts {
            true => [0, 2, 3, 5][chance.below(4) as usize],
            false => 0,
        };
        if faults.crashes && chance.is_true(0.3) {
            let vm = chance.below(scenario.workers as u64) as usize;
            state.fuse = Some((vm, chance.below(300)));
        }
    }
}

#[test]
fn l1_l2_l3_l4_l9_l15_hold_while_nothing_goes_wrong() {
    seeds("while_nothing", 400, |seed| {
        run(&Scenario::new(seed));
    });
}

#[test]
fn l1_l3_l4_l9_hold_where_wake_ups_are_lost_and_writes_beaten() {
    seeds("wake_ups_are_lost", 200, |seed| {
        run(&Scenario::rough(seed));
    });
}

#[test]
fn l1_l3_l4_l9_hold_where_vms_die_at_any_host_call() {
    seeds("vms_die", 200, |seed| {
        run(&Scenario::deadly(seed));
    });
}

#[test]
fn l7_every_window_keeps_the_rate() {
    seeds("every_window", 150, |seed| {
        let scenario = Scenario::paced(seed);
        let (per_second, burst) = scenario.rate.expect("a rate");
        let (world, _) = run(&scenario);
        for envoy in &world.peer.envoys {
            for grants in grants(&envoy.memory.state().lines).values() {
                check_windows(grants, per_second, burst);
            }
        }
    });
}

#[test]
fn l16_beyond_128_workers_calls_go_on_uncounted_and_the_others_keep_the_cap() {
    seeds("beyond_128", 1, |seed| {
        for workers in [128, 256] {
            let (world, watch) = run(&Scenario::many_workers(seed, workers));
            let envoy = &world.peer.envoys[0];
            assert!(watch.waited > 0, "the cap is never met");
            let degraded = envoy.memory.state().highest["weir.plugin.degraded"];
            let expected = u64::from(workers > usize::from(SLOTS));
            assert_eq!(degraded, expected, "degraded, {workers} workers");
            assert_eq!(envoy.uncounted > 0, workers > usize::from(SLOTS));
        }
    });
}

#[test]
fn l2_l3_l15_ten_thousand_wait_and_all_are_served() {
    seeds("ten_thousand", 1, |seed| {
        let (world, watch) = run(&Scenario::crowd(seed));
        assert!(watch.most_waiting >= 10_000, "{}", watch.most_waiting);
        assert_eq!(world.tally.served(), world.tally.offered);
    });
}
