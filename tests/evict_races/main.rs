//! Keys that come, and gates that make room for them, in every order in which the host calls of two
//! or three workers can meet: no key ever has two gates, no cap is broken, nothing is left behind.
//!
//! Each order is run from the beginning, by workers that are threads. Three workers are run with a
//! bounded number of switches away from a worker that could go on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]
#![allow(missing_docs, unreachable_pub, reason = "a test has no API")]

mod baton;

use std::collections::BTreeSet;
use std::time::Duration;

use baton::{Baton, BatonHost, Choice, Data};
use weir::core::gate::table::{Directory, Place};
use weir::core::gate::{Arrival, Order, Pace, Record, Setting};
use weir::core::time::Time;
use weir::core::wait::{CallId, Gates, Settled};

/// Keys that would all like to lie at the same place.
const fn key(number: u128) -> u128 {
    3 + number * 5120
}

/// A key that only one worker ever sees.
fn own(worker: usize) -> u128 {
    1000 + 100 * worker as u128
}

const POLICY: u64 = 77;

const SETTING: Setting = Setting {
    hash: 1,
    cap: 1,
    max_waiting: 9,
    pace: Pace::UNBOUND,
};

/// When the race is: gates that were used at the start of time are idle by then.
const NOW: Time = Time(61_000_000_000);

struct Scope {
    /// The keys that each worker remembers, and those for which a call comes to it.
    workers: Vec<(Vec<u128>, Vec<u128>)>,
    /// Gates that there may be, the workers' own included.
    max_keys: u16,
    /// The first worker's clock is a little behind: to it no gate is idle.
    is_first_behind: bool,
    /// How often the baton may leave a worker that could go on.
    switches: usize,
    /// A worker that dies, and after how many host calls of its own.
    fuse: Option<(usize, usize)>,
}

fn arrival(number: u64, now: Time) -> Arrival {
    Arrival {
        arrived: now.0 + number,
        order: Order::Arrival,
        no_wait: false,
        until: Time::NEVER,
        setting: SETTING,
        connection: 0,
    }
}

/// One call that comes, and the gate it comes to, and leaves.
fn visit(gates: &mut Gates, host: &BatonHost<'_>, now: Time, identity: u128, max_keys: u16) -> u32 {
    let Some(gate) = gates.place(host, now, identity, POLICY, SETTING, max_keys) else {
        return 0;
    };
    let call = CallId(u64::try_from(identity % 1000).expect("small"));
    let arrival = arrival(call.0, now);
    let (gate, settled) = gates.arrive(host, now, gate, call, arrival);
    match settled {
        Settled::Started => gates.line_mut(gate).finish(Duration::ZERO),
        Settled::Waits(key) => {
            gates.line_mut(gate).leave(key);
        }
        Settled::Failed(_) => return 0,
        other => panic!("{other:?}"),
    }
    gates.report(host, now, gate);
    1
}

/// L1, one gate a key, and that no gate goes with anything in it, after every write.
fn check(data: &Data, written: &str, before: Option<&[u8]>) {
    let before = before.and_then(|bytes| Record::decode(bytes).ok());
    if let Some(before) = before.filter(|record| !record.entries.is_empty()) {
        let now = Record::decode(&data[written].0).ok();
        let stays = now.is_some_and(|now| now.identity == before.identity);
        assert!(stays, "a gate went with a call in it: {before:?}");
    }
    let mut seen = BTreeSet::new();
    for record in records(data) {
        assert!(seen.insert(record.identity), "two gates of one key");
        assert!(record.in_flight() <= 1, "{record:?}");
    }
}

fn records(data: &Data) -> impl Iterator<Item = Record> {
    let gates = data
        .iter()
        .filter(|(name, _)| name.starts_with("weir.gate."));
    gates.filter_map(|(_, (bytes, _))| Record::decode(bytes).ok())
}

/// Runs one order; returns the decisions that made it.
fn run(scope: &Scope, plan: Vec<usize>) -> Vec<Choice> {
    let workers = scope.workers.len();
    let prepared = prepare(scope);
    let baton = Baton::new(prepared, workers, plan, scope.fuse, check);
    std::thread::scope(|threads| {
        for (worker, (knows, comes)) in scope.workers.iter().enumerate() {
            let baton = &baton;
            threads.spawn(move || {
                let host = baton.host(worker);
                let mut gates = Gates::default();
                for identity in knows {
                    gates.place(&host, Time(0), *identity, POLICY, SETTING, u16::MAX);
                }
                // It has its worker slot, and a gate of its own that is not idle.
                visit(&mut gates, &host, NOW, own(worker), u16::MAX);
                baton.ready(worker);
                for identity in comes {
                    let now = match scope.is_first_behind && worker == 0 {
                        true => NOW.before(Duration::from_secs(5)),
                        false => NOW,
                    };
                    let done = visit(&mut gates, &host, now, *identity, scope.max_keys);
                    assert!(done == 1 || baton.is_dead(worker), "a call went uncounted");
                }
                baton.retire(worker);
            });
        }
    });
    let (data, choices) = baton.finish();
    check_end(scope, &data);
    choices
}

/// The gates that are remembered, idle since the start of time.
fn prepare(scope: &Scope) -> Data {
    let known: BTreeSet<u128> = scope
        .workers
        .iter()
        .flat_map(|(knows, _)| knows)
        .copied()
        .collect();
    let alone = Baton::new(Data::new(), 1, Vec::new(), None, check);
    let mut gates = Gates::default();
    for identity in known {
        gates.place(&alone.host(0), Time(0), identity, POLICY, SETTING, u16::MAX);
    }
    alone.ready(0);
    alone.finish().0
}

fn check_end(scope: &Scope, data: &Data) {
    let directory = Directory::decode(data.get(Directory::NAME).map(|(bytes, _)| bytes.as_slice()));
    let taken: BTreeSet<String> = directory.places().map(Place::name).collect();
    for (name, (bytes, _)) in data
        .iter()
        .filter(|(name, _)| name.starts_with("weir.gate."))
    {
        let is_gate = Record::decode(bytes).is_ok();
        assert!(
            !is_gate || taken.contains(name),
            "a gate that nobody would find: {name}"
        );
    }
    // The one for what has no room lies in the same table.
    assert!(
        directory.len() <= u32::from(scope.max_keys) + 1,
        "{}",
        directory.len()
    );
    if scope.fuse.is_none() {
        assert_eq!(records(data).count(), taken.len());
        assert!(records(data).all(|record| record.entries.is_empty()));
    }
}

/// Runs every order within the scope; returns how many there are.
fn explore(scope: &Scope) -> usize {
    let mut plan = Vec::new();
    let mut count = 0;
    loop {
        let mut choices = run(scope, plan);
        count += 1;
        // Back to the last decision that leaves something else to try.
        plan = loop {
            let Some(last) = choices.pop() else {
                return count;
            };
            let tried = last.able.iter().position(|other| *other == last.chosen);
            let next = last.able.get(tried.expect("it was able") + 1);
            let switches = choices.iter().filter(|choice| choice.is_switch).count();
            if let Some(next) = next
                && switches < scope.switches
            {
                let before = choices.iter().map(|choice| choice.chosen);
                break before.chain([*next]).collect();
            }
        };
    }
}

fn scope(workers: &[(&[u128], &[u128])], max_keys: u16, switches: usize) -> Scope {
    let owned = |keys: &[u128]| keys.iter().map(|number| key(*number)).collect();
    let own = u16::try_from(workers.len()).expect("few");
    let workers = workers
        .iter()
        .map(|(knows, comes)| (owned(knows), owned(comes)));
    Scope {
        workers: workers.collect(),
        max_keys: max_keys + own,
        is_first_behind: false,
        switches,
        fuse: None,
    }
}

/// How many switches a test has time for.
fn switches(most: usize) -> usize {
    match std::env::var_os("WEIR_PROVE") {
        Some(_) => most + 1,
        None => most,
    }
}

fn prove(name: &str, scope: &Scope) {
    println!("{name}: {} orders", explore(scope));
}

#[test]
fn two_workers_meet_at_a_new_key() {
    let new = scope(&[(&[], &[1]), (&[], &[1])], 9, switches(3));
    prove("a new key", &new);
    // One sees no room but beside the idle gate, then there is none but in its place.
    let mut places = scope(&[(&[1], &[2]), (&[], &[2])], 2, switches(3));
    places.is_first_behind = true;
    prove("a new key that may lie at two places", &places);
}

#[test]
fn one_evicts_while_another_comes_to_the_idle_gate() {
    let evict = scope(&[(&[1], &[1]), (&[], &[2])], 1, switches(3));
    prove("an idle gate is used", &evict);
    let again = scope(&[(&[1, 2], &[1, 2]), (&[], &[3])], 2, switches(3));
    prove("two idle gates are used", &again);
}

#[test]
fn two_evict_the_same_gate_for_two_keys_or_for_one() {
    for keys in [[2, 3], [2, 2]] {
        let evict = scope(&[(&[1], &[keys[0]]), (&[], &[keys[1]])], 1, switches(3));
        prove("one idle gate, two who want it", &evict);
    }
}

#[test]
fn three_workers() {
    let meet = scope(&[(&[1], &[1]), (&[], &[2]), (&[], &[2])], 1, switches(2));
    prove("a key that may lie at two places", &meet);
    let elsewhere = scope(&[(&[1, 2], &[2]), (&[], &[3]), (&[], &[3])], 2, switches(2));
    prove("room is made elsewhere", &elsewhere);
}

#[test]
fn a_worker_dies_at_any_host_call() {
    for calls in 0..20 {
        let mut evict = scope(&[(&[1], &[2]), (&[], &[2, 1])], 1, switches(1));
        evict.fuse = Some((0, calls));
        prove(&format!("death after {calls} calls"), &evict);
    }
}
