//! L2 on a real Envoy: sixty calls with classes, and sixty of three tenants, start in the order that
//! the rules say, whichever worker they came to.

use crate::support;

use std::collections::BTreeMap;

use serde_json::json;
use support::{Call, Envoy, Lane, answers};

const CALLS: usize = 60;
/// Every so many calls one comes that would rather be refused than wait.
const NO_WAIT_EVERY: usize = 12;
/// Tenants and their weights.
const TENANTS: [(&str, u64); 3] = [("a", 1), ("b", 2), ("c", 3)];
/// One turn of a tenant of weight 1, as the gate counts.
const TURN: u64 = 10_000;

/// No pattern: an order of numbers that is the same every time.
fn scattered(i: usize) -> usize {
    (i * 7919 + 13) % 101
}

fn class_of(i: usize) -> &'static str {
    ["high", "normal", "low"][scattered(i) % 3]
}

fn tenant_of(i: usize) -> usize {
    scattered(i + 7) % TENANTS.len()
}

/// The calls by class, in each by arrival; call 0 started before any other came.
fn by_class() -> Vec<usize> {
    let rank = |i: &usize| {
        ["high", "normal", "low"]
            .iter()
            .position(|c| *c == class_of(*i))
    };
    let mut order: Vec<usize> = (1..CALLS).collect();
    order.sort_by_key(rank);
    order.insert(0, 0);
    order
}

/// Start-time fair queueing, if the tenants share turns as `cells` says; call 0 started first.
fn by_turns(cells: [usize; 3]) -> Vec<usize> {
    let mut last: BTreeMap<usize, u64> = BTreeMap::new();
    let mut started = 0;
    let mut tags = vec![];
    for i in 0..CALLS {
        let tenant = tenant_of(i);
        let tag = last.entry(cells[tenant]).or_default();
        *tag = started.max(*tag) + TURN / TENANTS[tenant].1;
        tags.push((*tag, i));
        if i == 0 {
            started = *tag;
        }
    }
    tags[1..].sort_unstable();
    tags.into_iter().map(|(_, i)| i).collect()
}

/// Both scripts at once. False if two tenants happened to share a cell, which depends on a key that
/// is random in each process.
async fn scripts(workers: u32) -> bool {
    let weights: serde_json::Map<_, _> = TENANTS
        .iter()
        .map(|(t, w)| ((*t).into(), json!(w)))
        .collect();
    let lanes = [
        Lane::start(
            "classes",
            json!({
                "max_concurrent_calls": 1,
                "queue": {"priority_header": "x-class", "max_wait_ms": 600_000},
            }),
        )
        .await,
        Lane::start(
            "tenants",
            json!({
                "max_concurrent_calls": 1,
                "queue": {"fair_by": {"header": "x-team"}, "weights": weights},
            }),
        )
        .await,
    ];
    let envoy = Envoy::start(&Lane::bootstrap(&lanes).workers(workers)).await;
    let ask = |lane: &Lane, i: usize| -> Call {
        let call = lane.call(i).header("x-class", class_of(i));
        call.header("x-team", TENANTS[tenant_of(i)].0)
    };
    let mut calls = vec![];
    for i in 0..CALLS {
        for lane in &lanes {
            calls.push(ask(lane, i).start(envoy.addr));
        }
        for lane in &lanes {
            lane.provider.wait_count(1).await;
            lane.wait(&envoy, "waiting", i).await;
            if i > 0 && i % NO_WAIT_EVERY == 0 {
                let hurried = ask(lane, i).header("x-weir-no-wait", "1");
                let refused = hurried.send(envoy.addr).await;
                assert_eq!(refused.header("x-weir-refused"), Some("no_wait"));
            }
        }
    }
    lanes.iter().for_each(|lane| lane.door.open());
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
    let [classes, tenants] = lanes.each_ref().map(|lane| {
        assert_eq!(lane.provider.peak(), 1);
        let ids = lane.provider.ids();
        ids.iter()
            .map(|id| id.parse().unwrap())
            .collect::<Vec<usize>>()
    });
    assert_eq!(classes, by_class());
    if workers > 1 {
        assert!(envoy.workers_used().await >= 3, "all on one worker");
    }
    if tenants == by_turns([0, 1, 2]) {
        return true;
    }
    let shared = [[0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 0]];
    assert!(
        shared.into_iter().any(|cells| tenants == by_turns(cells)),
        "{tenants:?}"
    );
    false
}

async fn in_order(workers: u32) {
    for _ in 0..3 {
        if scripts(workers).await {
            return;
        }
    }
    panic!("tenants kept sharing a cell");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l2_sixty_calls_start_by_class_tenant_and_arrival_on_one_worker() {
    in_order(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l2_sixty_calls_start_by_class_tenant_and_arrival_on_four_workers() {
    in_order(4).await;
}

#[test]
fn the_script_has_all_classes_and_tenants_and_its_orders_differ() {
    for part in 0..3 {
        assert!((0..CALLS).filter(|i| scattered(*i) % 3 == part).count() >= 10);
        assert!((0..CALLS).filter(|i| tenant_of(*i) == part).count() >= 10);
    }
    assert_ne!(by_class(), by_turns([0, 1, 2]));
    assert_ne!(by_turns([0, 0, 1]), by_turns([0, 1, 2]));
}
