//! L7, L8, L10: rate and ramp, over all workers, exact on the virtual clock.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::time::Duration;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

/// Milliseconds after now at which each of the calls starts, ticking as finely as times are exact.
fn starts(sim: &mut Sim, calls: &[usize], span: Duration) -> Vec<u64> {
    let from = sim.now;
    let mut starts = vec![None; calls.len()];
    while sim.now < from + span {
        for (call, start) in calls.iter().zip(&mut starts) {
            if start.is_none() && matches!(sim.state(*call), State::Running(_)) {
                *start = Some(sim.now.since(from).as_millis() as u64);
            }
        }
        sim.run(ms(1));
    }
    starts.into_iter().flatten().collect()
}

/// What Weir said to a call it refused.
fn own_body(sim: &Sim, call: usize) -> serde_json::Value {
    let received = sim.calls[call].received.as_ref().expect("an answer");
    serde_json::from_slice(&received.body).expect("JSON")
}

#[test]
fn l7_calls_start_at_the_rate_after_the_burst_over_all_workers() {
    let mut sim = Sim::policy(3, r#""rate":{"requests_per_second":2,"burst":3}"#);
    let calls: Vec<_> = (0..6).map(|n| sim.arrive(Ask::on(n % 3))).collect();
    let starts = starts(&mut sim, &calls, ms(1600));
    assert_eq!(starts, [0, 0, 0, 500, 1000, 1500]);
    sim.check();
}

#[test]
fn l7_the_ramp_opens_slowly_and_again_after_idling() {
    let ramp = r#""ramp":{"initial_per_second":2,"growth_percent":50,"every_ms":10000}"#;
    let mut sim = Sim::policy(2, ramp);
    let burst = |sim: &mut Sim| {
        let calls: Vec<_> = (0..4).map(|n| sim.arrive(Ask::on(n % 2))).collect();
        let starts = starts(sim, &calls, ms(1600));
        calls.iter().for_each(|id| sim.answer(*id, Reply::ok()));
        starts
    };
    assert_eq!(burst(&mut sim), [0, 495, 981, 1457]);
    sim.run(ms(600_000));
    assert_eq!(burst(&mut sim), [0, 495, 981, 1457]);
    sim.check_empty();
}

#[test]
fn l1_l7_a_call_needs_a_slot_and_a_permit() {
    let mut sim = Sim::policy(
        1,
        r#""max_concurrent_calls":1,"rate":{"requests_per_second":1}"#,
    );
    let [first, second] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(1500));
    assert_eq!(sim.state(second), State::Waiting, "no slot");
    sim.answer(first, Reply::ok());
    assert_eq!(sim.state(second), State::Running(1));
    sim.answer(second, Reply::ok());
    let third = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(third), State::Waiting, "no permit");
    sim.run(ms(999));
    assert_eq!(sim.state(third), State::Waiting);
    sim.run(ms(2));
    assert_eq!(sim.state(third), State::Running(1));
}

#[test]
fn l8_who_leaves_the_queue_used_no_permit() {
    let mut sim = Sim::policy(2, r#""rate":{"requests_per_second":1}"#);
    let calls: Vec<_> = (0..4).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.abort(calls[1]);
    sim.abort(calls[2]);
    let starts = starts(&mut sim, &calls[3..], ms(1100));
    assert_eq!(starts, [1000]);
}

#[test]
fn l10_what_cannot_start_in_time_is_refused_at_once_and_told_when_it_could() {
    let mut sim = Sim::policy(
        1,
        r#""rate":{"requests_per_minute":60},"queue":{"max_wait_ms":2000}"#,
    );
    let calls: Vec<_> = (0..4).map(|_| sim.arrive(Ask::on(0))).collect();
    assert_eq!(sim.state(calls[2]), State::Waiting);
    assert_eq!(sim.state(calls[3]), State::Refused("wait_too_long".into()));
    let body = own_body(&sim, calls[3]);
    assert_eq!(body["error"]["weir"]["limit"], "max_wait_ms");
    assert_eq!(body["error"]["weir"]["position"], 3);
    assert_eq!(body["error"]["weir"]["expected_wait_ms"], 3000);
    // One second too late: then it fits, and up to a quarter later.
    let back = body["error"]["weir"]["retry_after_ms"].as_u64();
    assert!((1000..=1250).contains(&back.unwrap_or(0)), "{back:?}");
}

#[test]
fn an_estimate_goes_by_the_median_of_holding_times() {
    let mut sim = Sim::policy(1, r#""max_concurrent_calls":1,"queue":{"max_waiting":2}"#);
    for _ in 0..3 {
        let call = sim.arrive(Ask::on(0));
        sim.run(ms(400));
        sim.answer(call, Reply::ok());
    }
    let calls: Vec<_> = (0..4).map(|_| sim.arrive(Ask::on(0))).collect();
    let body = own_body(&sim, calls[3]);
    // One runs, two wait, it would be the fourth: three have to end before it.
    assert_eq!(body["error"]["weir"]["expected_wait_ms"], 1200);
}

#[test]
fn l6_a_faster_rate_wakes_those_who_wait() {
    let mut sim = Sim::policy(2, r#""rate":{"requests_per_minute":6}"#);
    let calls: Vec<_> = (0..3).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.run(ms(500));
    assert_eq!(sim.state(calls[1]), State::Waiting);
    let faster = crate::memhost::sim::policy(r#""rate":{"requests_per_second":10}"#);
    sim.reload(&faster);
    // What was owed is owed still: a whole permit less half a second of the old rate.
    let starts = starts(&mut sim, &calls[1..], ms(400));
    assert_eq!(starts.len(), 2, "{starts:?}");
    assert!((94..=97).contains(&starts[0]), "{starts:?}");
}

#[test]
fn priorities_overtake_but_not_for_ever() {
    let mut sim = Sim::policy(
        2,
        r#""max_concurrent_calls":1,
           "queue":{"priority_header":"x-class","max_wait_ms":40000}"#,
    );
    let first = sim.arrive(Ask::on(0));
    let low = sim.arrive(Ask::on(0).header("x-class", "low"));
    let normal = sim.arrive(Ask::on(1));
    let high = sim.arrive(Ask::on(1).header("x-class", "HIGH"));
    sim.run(ms(20_001));
    let late = sim.arrive(Ask::on(0).header("x-class", "high"));
    let mut running = first;
    for next in [high, normal, low, late] {
        sim.answer(running, Reply::ok());
        assert_eq!(sim.state(next), State::Running(1));
        running = next;
    }
}

#[test]
fn tenants_take_turns_by_weight() {
    let mut sim = Sim::policy(
        2,
        r#""max_concurrent_calls":1,
           "queue":{"fair_by":{"header":"x-team"},"weights":{"b":2}}"#,
    );
    let mut running = sim.arrive(Ask::on(0).header("x-team", "a"));
    let of = |sim: &mut Sim, team: &str, count: usize| -> Vec<usize> {
        let ask = |n: usize| Ask::on(n % 2).header("x-team", team);
        (0..count).map(|n| sim.arrive(ask(n))).collect()
    };
    let a = of(&mut sim, "a", 6);
    let b = of(&mut sim, "b", 6);
    let mut order = Vec::new();
    for _ in 0..9 {
        sim.answer(running, Reply::ok());
        let is_running = |id: &&usize| matches!(sim.state(**id), State::Running(_));
        running = *a.iter().chain(&b).find(is_running).expect("one runs");
        order.push(if a.contains(&running) { 'a' } else { 'b' });
    }
    let b_of = |n: usize| order[..n].iter().filter(|team| **team == 'b').count();
    assert!((4..=5).contains(&b_of(6)) && b_of(9) == 6, "{order:?}");
    sim.check();
}
