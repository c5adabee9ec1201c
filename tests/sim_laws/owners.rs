//! The record alone, with as many owners as there are worker slots and twice as many, and 10,000
//! waiters: L1, L2, and L4 when all are gone.

use std::collections::BTreeSet;

use weir::core::gate::{
    Arrival, Event, Key, Order, Outcome, Owner, Pace, Record, Setting, Standing, apply,
};
use weir::core::time::Time;

use crate::seeds;
use crate::sim::draw::{Draw, For};

const CAP: u32 = 300;
const CALLS: u64 = 10_000 + CAP as u64;

/// Nanoseconds from one event to the next.
const EVENT: u64 = 4000;

/// An owner by its own count.
#[derive(Clone, Debug, Default)]
struct Mine {
    running: u32,
    waiting: BTreeSet<u64>,
}

impl Mine {
    fn standing(&self) -> Standing {
        Standing {
            running: self.running,
            fresh: self.waiting.len() as u32,
            head: self.waiting.first().map_or(Key::LAST, |at| Key::at(*at)),
            ..Standing::NONE
        }
    }

    fn start_first(&mut self) -> Option<u64> {
        self.running += 1;
        self.waiting.pop_first()
    }
}

/// One gate, and its owners.
struct Gate {
    record: Record,
    owners: Vec<Mine>,
    setting: Setting,
    woken: BTreeSet<u16>,
    now: u64,
}

impl Gate {
    fn new(owners: u16) -> Gate {
        let setting = Setting {
            hash: 1,
            cap: CAP,
            max_waiting: 20_000,
            pace: Pace::UNBOUND,
        };
        Gate {
            record: Record::new(1, 2, setting, Time(0)),
            owners: vec![Mine::default(); owners.into()],
            setting,
            woken: BTreeSet::new(),
            now: 0,
        }
    }

    /// An owner's event, as it goes through shared data.
    fn send(&mut self, slot: u16, event: Event) -> Outcome {
        self.now += EVENT;
        let owner = Owner {
            slot,
            generation: 1,
        };
        let mine = self.owners[usize::from(slot)].standing();
        let change = apply(&mut self.record, owner, mine, event, Time(self.now));
        let change = change.expect("not fenced");
        self.woken.extend(change.wake);
        let running: u32 = self.owners.iter().map(|mine| mine.running).sum();
        assert!(running <= CAP, "L1: {running} run");
        assert!(self.record.in_flight() <= u64::from(CAP), "L1");
        assert_eq!(
            Record::decode(&self.record.encode()).as_ref(),
            Ok(&self.record)
        );
        change.outcome
    }

    fn arrive(&mut self, slot: u16) {
        let arrived = self.now / 4 * 4 + 4;
        let outcome = self.send(
            slot,
            Event::Arrive(Arrival {
                arrived,
                order: Order::Arrival,
                no_wait: false,
                until: Time::NEVER,
                setting: self.setting,
                connection: 1,
            }),
        );
        let mine = &mut self.owners[usize::from(slot)];
        match outcome {
            Outcome::Start => mine.running += 1,
            Outcome::Wait { .. } => assert!(mine.waiting.insert(arrived)),
            other => panic!("{other:?}"),
        }
    }

    /// An owner that was woken claims all it can. Returns who started.
    fn claim(&mut self, slot: u16) -> Vec<u64> {
        let mut started = Vec::new();
        while !self.owners[usize::from(slot)].waiting.is_empty() {
            let mut then = self.owners[usize::from(slot)].clone();
            then.start_first();
            let event = Event::Claim {
                then: then.standing(),
            };
            match self.send(slot, event) {
                Outcome::Claimed => {
                    started.extend(self.owners[usize::from(slot)].start_first());
                }
                Outcome::Handed => {}
                _ => break,
            }
        }
        started
    }

    /// L2: whoever is older waits under a grant.
    fn check_order(&self, started: u64) {
        for entry in &self.record.entries {
            let line = &self.owners[usize::from(entry.owner.slot)].waiting;
            let older = line.range(..started).count() as u32;
            let granted = entry.granted;
            assert!(
                granted >= older,
                "L2: {started} overtook {older}, {granted} granted"
            );
        }
    }
}

fn run(owners: u16, seed: u64) {
    let mut gate = Gate::new(owners);
    let draw = &mut Draw::new(seed, For::Test);
    let mut coming = CALLS;
    let mut most_waiting = 0;
    // At first more come than end, then none come.
    while coming > 0 || gate.record.in_flight() > 0 {
        let slot = draw.below(owners.into()) as u16;
        match draw.below(10) {
            0..8 if coming > 0 => {
                coming -= 1;
                gate.arrive(slot);
            }
            8 => {
                let mine = &mut gate.owners[usize::from(slot)];
                if mine.running > 0 {
                    mine.running -= 1;
                    gate.send(slot, Event::Report);
                }
            }
            _ => {
                // Wake-ups arrive in any order.
                let at = draw.below(gate.woken.len().max(1) as u64) as usize;
                let woken = gate.woken.iter().nth(at).copied();
                if let Some(woken) = woken {
                    gate.woken.remove(&woken);
                    for started in gate.claim(woken) {
                        gate.check_order(started);
                    }
                }
            }
        }
        most_waiting = most_waiting.max(gate.record.waiting());
    }
    assert!(most_waiting > 8_000, "{most_waiting}");
    assert!(gate.record.entries.is_empty(), "L4: {:?}", gate.record);
}

#[test]
fn l1_l2_l4_hold_in_a_record_with_128_and_256_owners() {
    seeds("in_a_record", 1, |seed| {
        run(128, seed);
        run(256, seed);
    });
}
