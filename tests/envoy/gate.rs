//! L1, L4 on a real Envoy: under saturation the peak equals the cap, for small and large caps.

use crate::support;

use serde_json::json;
use support::{Envoy, Lane, answers};

/// Names and caps of gates that are all busy at once.
const CAPS: [(&str, usize); 4] = [("one", 1), ("two", 2), ("seven", 7), ("fifty", 50)];

/// All gates at once on `workers`: each end starts the next, the queue drains, nothing is left.
async fn saturate(workers: u32) {
    let mut lanes = vec![];
    for (name, cap) in CAPS {
        lanes.push(Lane::start(name, json!({"max_concurrent_calls": cap})).await);
    }
    let envoy = Envoy::start(&Lane::bootstrap(&lanes).workers(workers)).await;
    let mut calls = vec![];
    for (lane, (_, cap)) in lanes.iter().zip(CAPS) {
        calls.extend(lane.calls(&envoy, queued(cap) + cap).await);
    }
    for (lane, (_, cap)) in lanes.iter().zip(CAPS) {
        lane.wait(&envoy, "waiting", queued(cap)).await;
        lane.wait(&envoy, "slots", cap).await;
        assert_eq!(lane.provider.running(), cap, "all slots are used");
    }
    for step in 1..=CAPS
        .map(|(_, cap)| stepped(cap))
        .into_iter()
        .max()
        .unwrap_or(0)
    {
        for (lane, (_, cap)) in lanes.iter().zip(CAPS) {
            if step <= stepped(cap) {
                lane.door.let_through(1);
                lane.provider.wait_count(cap + step).await;
                assert_eq!(lane.provider.running(), cap, "each end starts the next");
            }
        }
    }
    // The rest as fast as it goes.
    lanes.iter().for_each(|lane| lane.door.open());
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    for (lane, (_, cap)) in lanes.iter().zip(CAPS) {
        let all = cap + queued(cap);
        assert_eq!((lane.provider.peak(), lane.provider.count()), (cap, all));
    }
    envoy.assert_idle().await;
    for (lane, (_, cap)) in lanes.iter().zip(CAPS) {
        lane.wait(&envoy, "admitted", cap + queued(cap)).await;
        lane.wait(&envoy, "queued", queued(cap)).await;
        let by_tick = envoy.stat(&lane.stat("grants_by_tick")).await;
        assert_eq!(by_tick.unwrap_or(0), 0, "L3: no timer was needed");
    }
    if workers > 1 {
        assert!(envoy.workers_used().await >= 3, "all on one worker");
    }
}

/// Calls that wait before the first one ends.
fn queued(cap: usize) -> usize {
    20 + cap
}

/// Calls that end one at a time.
fn stepped(cap: usize) -> usize {
    10 + cap / 2
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l1_under_saturation_the_peak_equals_the_cap_on_one_worker() {
    saturate(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l1_under_saturation_the_peak_equals_the_cap_on_four_workers() {
    saturate(4).await;
}
