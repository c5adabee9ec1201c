//! Every interleaving of a few workers and a few calls, on the product's own code.
//!
//! Each call may arrive, wait, start, end, leave in every phase, and, where a run says so, be refused
//! and held once and start again. Every order of steps is run to its end, each reachable world once.
//! `WEIR_PROVE=1` goes further, in minutes instead of seconds.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]
#![allow(missing_docs, unreachable_pub, reason = "a test has no API")]

mod fingerprint;
mod laws;
mod owners;
mod scope;
mod search;
mod worker;
mod world;

use scope::{Grain, Scope, arrival_orders};
use search::prove;
use world::setting;

const CAPS: [u32; 2] = [1, 2];

/// Whether to go as far as minutes allow.
fn is_proof() -> bool {
    std::env::var_os("WEIR_PROVE").is_some()
}

/// One scope for each order of arrival and each cap.
fn scopes<O: AsRef<str>>(grain: Grain, orders: &[O], refused: usize) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for order in orders {
        for cap in CAPS {
            let mut scope = Scope::new(grain, order.as_ref(), cap);
            scope.refused = refused;
            scopes.push(scope);
        }
    }
    scopes
}

fn varied(mut scopes: Vec<Scope>, vary: impl Fn(&mut Scope)) -> Vec<Scope> {
    scopes.iter_mut().for_each(vary);
    scopes
}

#[test]
fn two_workers() {
    let orders = arrival_orders(2);
    prove(
        "2x2, all refused once",
        &scopes(Grain::HostCall, &orders, 2),
    );
    prove("2x3", &scopes(Grain::HostCall, &arrival_orders(3), 0));
    if is_proof() {
        prove(
            "2x3, first refused once",
            &scopes(Grain::HostCall, &arrival_orders(3), 1),
        );
    }
}

#[test]
fn two_workers_four_calls() {
    let orders = arrival_orders(4);
    prove("2x4, whole exchanges", &scopes(Grain::Exchange, &orders, 0));
    prove(
        "2x4",
        &scopes(Grain::HostCall, &["ABABABAB", "AABBBBAA"], 0),
    );
    prove(
        "2x4, first refused once, whole exchanges",
        &scopes(Grain::Exchange, &["ABBABAAB"], 1),
    );
    if is_proof() {
        prove("2x4, all orders", &scopes(Grain::HostCall, &orders, 0));
        prove(
            "2x4, all orders, first refused",
            &scopes(Grain::Exchange, &orders, 1),
        );
    }
}

#[test]
fn three_workers() {
    prove("3x2", &scopes(Grain::HostCall, &["ABCABC"], 0));
    prove(
        "3x3, whole exchanges",
        &scopes(Grain::Exchange, &["ABCABCABC"], 0)[..1],
    );
    if is_proof() {
        prove(
            "3x3, cap 2, whole exchanges",
            &scopes(Grain::Exchange, &["ABCABCABC"], 0)[1..],
        );
        prove(
            "3x2, whole exchanges, first refused once",
            &scopes(Grain::Exchange, &["ABCCBA"], 1),
        );
        let deep = varied(scopes(Grain::HostCall, &["ABCABCABC"], 0), |scope| {
            scope.depth = 30
        });
        prove("3x3", &deep);
    }
}

#[test]
fn lost_wakes_are_made_good_by_ticks() {
    let lossy = |scope: &mut Scope| scope.lossy = true;
    prove(
        "lossy 2x2, first refused once",
        &varied(scopes(Grain::HostCall, &arrival_orders(2), 1), lossy),
    );
    prove(
        "lossy 2x3",
        &varied(scopes(Grain::HostCall, &["ABABAB", "ABBAAB"], 0), lossy),
    );
}

#[test]
fn a_wake_up_may_come_twice() {
    let twice = |scope: &mut Scope| scope.duplicates = 2;
    prove(
        "twice 2x2, first refused once",
        &varied(scopes(Grain::HostCall, &arrival_orders(2), 1), twice),
    );
    prove(
        "twice 2x3",
        &varied(scopes(Grain::HostCall, &["ABABAB", "ABBAAB"], 0), twice),
    );
}

#[test]
fn stale_grants_move_on() {
    let jumps = |scope: &mut Scope| scope.jumps = 2;
    let refused = varied(scopes(Grain::HostCall, &["ABAB"], 1), jumps);
    prove(
        "stale 2x2",
        &varied(scopes(Grain::HostCall, &arrival_orders(2), 0), jumps),
    );
    prove(
        "stale 2x2, whole exchanges, first refused once",
        &varied(scopes(Grain::Exchange, &arrival_orders(2), 1), jumps),
    );
    prove(
        "stale 2x3",
        &varied(scopes(Grain::HostCall, &["ABABAB"], 0), jumps),
    );
    if is_proof() {
        prove("stale 2x2, first refused once", &refused);
        prove(
            "stale 3x2",
            &varied(scopes(Grain::Exchange, &["ABCABC"], 0), jumps),
        );
    }
}

#[test]
fn limits_change_in_the_middle() {
    for (from, to) in [(1, 2), (2, 1), (3, 1), (1, 0)] {
        let change = |scope: &mut Scope| {
            scope.setting = setting(from, 100);
            scope.configure = Some(setting(to, 100));
        };
        let two = Scope::new(Grain::HostCall, "ABAABB", from);
        prove(
            &format!("cap {from} to {to} 2x3"),
            &varied(vec![two], change),
        );
        let three = Scope::new(Grain::Exchange, "ABCABC", from);
        prove(
            &format!("cap {from} to {to} 3x2"),
            &varied(vec![three], change),
        );
    }
}

#[test]
fn queues_fill_and_some_would_rather_not_wait() {
    let narrow = |scope: &mut Scope| {
        scope.no_wait = true;
        scope.setting.max_waiting = 1;
    };
    prove(
        "narrow 2x2, all refused once",
        &varied(scopes(Grain::HostCall, &arrival_orders(2), 2), narrow),
    );
    prove(
        "narrow 2x3",
        &varied(scopes(Grain::HostCall, &arrival_orders(3), 0), narrow),
    );
}

#[test]
fn a_refusal_shuts_the_gate_and_one_probe_opens_it() {
    let pauses = |scope: &mut Scope| scope.pauses = true;
    let three = ["ABA", "AAB", "ABB"];
    prove(
        "paused 1+1, all refused once",
        &varied(scopes(Grain::HostCall, &["AB"], 1), pauses),
    );
    prove(
        "paused 2+1, whole exchanges, first refused once",
        &varied(scopes(Grain::Exchange, &three, 1), pauses),
    );
    let dies = |scope: &mut Scope| {
        scope.pauses = true;
        scope.deaths = 1;
    };
    prove(
        "paused and died 1+1, whole exchanges, all refused once",
        &varied(scopes(Grain::Exchange, &["AB"], 1), dies),
    );
    if is_proof() {
        prove(
            "paused and died 2+1, whole exchanges, first refused once",
            &varied(scopes(Grain::Exchange, &three[..1], 1), dies),
        );
        prove(
            "paused 2+1, all refused once",
            &varied(scopes(Grain::HostCall, &three, 2), pauses),
        );
        prove(
            "paused 2x2, whole exchanges, all refused once",
            &varied(scopes(Grain::Exchange, &["ABAB", "ABBA"], 2), pauses),
        );
    }
}

/// Scopes in which workers are given up.
fn given_up(grain: Grain, orders: &[&str], refused: usize, reaps: u8, deaths: u8) -> Vec<Scope> {
    varied(scopes(grain, orders, refused), |scope| {
        scope.reaps = reaps;
        scope.deaths = deaths;
    })
}

#[test]
fn a_worker_is_given_up_and_lives() {
    let small = ["AAB", "ABA", "ABB"];
    prove(
        "given up 2+1, whole exchanges, first refused once",
        &given_up(Grain::Exchange, &small[..1], 1, 1, 0),
    );
    prove("given up 2+1", &given_up(Grain::HostCall, &small, 0, 1, 0));
    if is_proof() {
        let orders = ["ABAB", "ABBA", "AABB"];
        prove(
            "given up 2x2, whole exchanges",
            &given_up(Grain::Exchange, &orders, 0, 1, 0),
        );
        prove(
            "given up 2+1, first refused once",
            &given_up(Grain::Exchange, &small, 1, 1, 0),
        );
        prove(
            "given up and died 2+1",
            &given_up(Grain::HostCall, &small, 0, 1, 1),
        );
    }
}

#[test]
fn a_worker_dies() {
    let orders = ["ABAB", "ABBA", "AABB"];
    prove(
        "died 2x2, whole exchanges, first refused once",
        &given_up(Grain::Exchange, &orders, 1, 0, 1),
    );
    prove("died 2x2", &given_up(Grain::HostCall, &orders, 0, 0, 1));
}

#[test]
fn another_worker_takes_the_slot_and_the_queue() {
    let late = |scope: &mut Scope| {
        scope.late = true;
        scope.cuts = 1;
    };
    prove(
        "given up and taken over 2x2, whole exchanges",
        &varied(given_up(Grain::Exchange, &["AABB"], 0, 1, 0), late),
    );
    prove(
        "died and taken over 2x2",
        &varied(given_up(Grain::HostCall, &["AABB"], 0, 0, 1), late),
    );
}
