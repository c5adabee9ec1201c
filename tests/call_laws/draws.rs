//! L9: pauses and delays follow their stated distributions, by a chi-square test over fixed seeds.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::time::Duration;

use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::{Ask, Reply, Sim};

const BINS: usize = 16;

/// The value that chi-square with 15 degrees of freedom passes once in a thousand times.
const ONCE_IN_A_THOUSAND: f64 = 37.7;

/// Samples are uniform in [least, most].
fn check_uniform(samples: &[Duration], least: u64, most: u64) {
    let mut bins = [0_u32; BINS];
    for sample in samples {
        let (sample, least, most) = (sample.as_secs_f64() * 1e3, least as f64, most as f64);
        assert!((least..=most).contains(&sample), "{sample}");
        let bin = (sample - least) / (most - least) * BINS as f64;
        bins[(bin as usize).min(BINS - 1)] += 1;
    }
    let expected = samples.len() as f64 / BINS as f64;
    let square = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
    let chi: f64 = bins.iter().map(square).sum();
    assert!(chi < ONCE_IN_A_THOUSAND, "chi-square is {chi}: {bins:?}");
}

/// The pauses of gates that were refused in this way, each with randomness of its own.
fn pauses(reply: &Reply) -> Vec<Duration> {
    let mut sim = Sim::policy(1, r#""key":["host"]"#);
    sim.memory.state().random = Random::Stream(1);
    for n in 0..800 {
        let host: &'static str = Box::leak(format!("h{n}").into_boxed_str());
        let id = sim.arrive(Ask { host, ..Ask::on(0) });
        sim.answer(id, reply.clone());
    }
    let records = sim.records();
    let until = records.iter().filter_map(|record| record.recovery.as_ref());
    until
        .map(|recovery| recovery.until.since(sim.now))
        .collect()
}

#[test]
fn l9_pauses_of_many_gates_are_uniform_in_their_ranges() {
    let reply = Reply::rate().header("retry-after-ms", "4000");
    check_uniform(&pauses(&reply), 4000, 4300);
    check_uniform(&pauses(&Reply::rate()), 80, 120);
}

/// The delays of calls that were refused together.
fn delays(reply: &Reply) -> Vec<Duration> {
    let mut sim = Sim::policy(2, r#""queue":{"max_waiting":2000}"#);
    sim.memory.state().random = Random::Stream(2);
    let calls: Vec<_> = (0..1600).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    for id in calls {
        sim.answer(id, reply.clone());
    }
    let delays = sim.memory.histogram("weir.policy.p.delay");
    delays.into_iter().map(ms).collect()
}

#[test]
fn l9_delays_of_calls_refused_together_are_uniform_in_their_windows() {
    check_uniform(&delays(&Reply::rate()), 1000, 3000);
    check_uniform(&delays(&Reply::burst()), 5000, 15_000);
    let reply = Reply::rate().header("retry-after-ms", "4000");
    check_uniform(&delays(&reply), 4000, 6000);
}
