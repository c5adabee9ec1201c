//! What the operator is told: the names of stats, and lines in the log.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::collections::BTreeSet;

use weir::port::Level;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim};

const COUNTERS: &[&str] = &[
    "calls",
    "admitted",
    "queued",
    "refused.reason.queue_full",
    "refused.reason.no_wait",
    "refused.reason.wait_too_long",
    "refused.reason.deadline",
    "refused.reason.paused",
    "refused.reason.quota",
    "refusals.class.burst_rate",
    "refusals.class.rate",
    "refusals.class.concurrency",
    "refusals.class.overloaded",
    "refusals.class.quota_exhausted",
    "refusals.class.other",
    "retries.class.burst_rate",
    "retries.class.rate",
    "retries.class.concurrency",
    "retries.class.overloaded",
    "retries.class.quota_exhausted",
    "retries.class.other",
    "gave_up.class.burst_rate",
    "gave_up.class.rate",
    "gave_up.class.concurrency",
    "gave_up.class.overloaded",
    "gave_up.class.quota_exhausted",
    "gave_up.class.other",
    "failed_over",
    "unplanned",
    "retry_dropped",
    "grants_by_wake",
    "grants_by_tick",
];

const PLUGIN_COUNTERS: &[&str] = &[
    "cas_conflicts",
    "cas_exhausted",
    "overflow",
    "config_flaps",
    "reaped",
    "reaped_alive",
    "log_dropped",
    "avoided.request_incomplete",
    "avoided.body_over_cap",
    "avoided.body_without_end",
    "avoided.no_stop_iteration",
    "avoided.holds_full",
    "avoided.hold_taken",
    "avoided.no_attempt_half",
    "avoided.no_gate_half",
];

fn full(policy: &[&str], plugin: &[&str]) -> BTreeSet<String> {
    let policy = policy.iter().map(|name| format!("weir.policy.p.{name}"));
    let plugin = plugin.iter().map(|name| format!("weir.plugin.{name}"));
    policy.chain(plugin).collect()
}

#[test]
fn stats_have_their_stated_names_from_the_start() {
    let mut sim = Sim::policy(1, "");
    let names = |sim: &Sim| sim.memory.state().counters.keys().cloned().collect();
    let expected = full(COUNTERS, PLUGIN_COUNTERS);
    let defined: BTreeSet<String> = names(&sim);
    assert_eq!(defined, expected);
    for (n, id) in [0; 20]
        .map(|w| sim.arrive(Ask::on(w)))
        .into_iter()
        .enumerate()
    {
        let [refused, ok] = [Reply::rate(), Reply::ok()];
        sim.answer(id, if n % 2 == 0 { refused } else { ok });
    }
    sim.run(ms(3000));
    let used: BTreeSet<String> = names(&sim);
    assert_eq!(used, expected, "use adds no name");
}

#[test]
fn gauges_and_histograms_have_their_stated_names() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
    let [first, second] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(40));
    sim.answer(first, Reply::rate());
    sim.run(ms(300));
    sim.answer(second, Reply::ok());
    sim.memory.state().faults.no_data = true;
    sim.arrive(Ask::on(0));
    sim.run(ms(300));
    sim.memory.state().faults.no_data = false;
    sim.run(ms(1000));
    let state = sim.memory.state();
    let gauges: BTreeSet<_> = state.gauges.keys().cloned().collect();
    let expected = full(
        &[
            "slots",
            "waiting",
            "held",
            "limit",
            "rate_milli_per_s",
            "pause_left_ms",
        ],
        &["workers", "keys", "degraded"],
    );
    assert_eq!(gauges, expected);
    let histograms: Vec<_> = state.histograms.iter().collect();
    let expected = [
        ("weir.policy.p.delay", vec![1000]),
        ("weir.policy.p.hold", vec![1000]),
        ("weir.policy.p.wait", vec![120]),
    ];
    let expected: Vec<_> = expected.map(|(n, v)| (n.to_owned(), v)).into();
    let histograms: Vec<_> = histograms
        .into_iter()
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    assert_eq!(histograms, expected);
}

#[test]
fn the_degraded_gauge_is_there_before_anything_goes_wrong() {
    let mut sim = Sim::policy(1, "");
    sim.run(ms(300));
    assert_eq!(sim.memory.gauge("weir.plugin.degraded"), Some(0));
}

#[test]
fn counts_add_up_over_workers() {
    let mut sim = Sim::policy(2, r#""max_concurrent_calls":2"#);
    let calls = [0, 1, 0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(calls[0], Reply::burst());
    sim.answer(calls[1], Reply::ok());
    sim.run(ms(300));
    for id in [2, 3] {
        sim.answer(calls[id], Reply::ok());
    }
    sim.run(ms(5000));
    sim.answer(calls[0], Reply::burst());
    sim.run(ms(300));
    for (name, value) in [
        ("calls", 4),
        ("admitted", 4),
        ("queued", 2),
        ("refusals.class.burst_rate", 2),
        ("retries.class.burst_rate", 1),
        ("gave_up.class.burst_rate", 1),
        ("grants_by_wake", 3),
        ("grants_by_tick", 0),
        ("unplanned", 0),
        ("retry_dropped", 0),
    ] {
        assert_eq!(sim.count(name), value, "{name}");
    }
}

#[test]
fn a_retry_and_a_give_up_are_one_line_each() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0).header("authorization", "Bearer s3cret"));
    let reply = || Reply::burst().header("retry-after", "7");
    sim.answer(id, reply());
    sim.run(ms(7000));
    sim.answer(id, reply());
    let lines = sim.memory.state().lines.clone();
    assert_eq!(lines.len(), 2);
    for ((level, line), (event, attempt, delay)) in lines
        .iter()
        .zip([("retry", 1, "7000"), ("give_up", 2, "null")])
    {
        assert_eq!(*level, Level::Info);
        let key = line.split(r#""key":""#).nth(1).unwrap();
        let (key, rest) = key.split_once('"').unwrap();
        assert!(key.len() == 16 && key.bytes().all(|b| b.is_ascii_hexdigit()));
        assert!(line.starts_with(&format!(r#"{{"weir":"{event}","policy":"p","key":"#)));
        let expected = format!(
            concat!(
                r#","class":"burst_rate","status":429,"evidence":"body:error.code=RequestBurstTooFast","#,
                r#""attempt":{},"of":2,"delay_ms":{},"server_min_ms":7000}}"#
            ),
            attempt, delay
        );
        assert_eq!(rest, expected);
    }
}
