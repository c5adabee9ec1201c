//! The gate's pure function under random events of many workers.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use weir::core::gate::owner::SLOTS;
use weir::core::gate::{
    Allowance, Arrival, Change, Entry, Event, Fenced, Hold, Key, Order, Outcome, Owner, Pace,
    Record, Setting, Standing, apply,
};
use weir::core::time::Time;

/// What a worker does next; numbers are taken modulo what makes sense.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// An attempt may have ended that the gate has not heard of.
    Arrive {
        no_wait: bool,
        has_ended: bool,
        connection: u64,
    },
    Claim,
    End,
    Leave,
    Hold,
    Ready,
    Configure {
        cap: u32,
    },
    Renew,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (any::<bool>(), any::<bool>(), 0..20_u64).prop_map(|(no_wait, has_ended, connection)| Act::Arrive { no_wait, has_ended, connection }),
        6 => Just(Act::Claim),
        4 => Just(Act::End),
        2 => Just(Act::Leave),
        1 => Just(Act::Hold),
        1 => Just(Act::Ready),
        1 => (0..6_u32).prop_map(|cap| Act::Configure { cap }),
        1 => Just(Act::Renew),
    ]
}

/// A worker by its own count; waiters by key, with whether they are held calls.
#[derive(Clone, Debug)]
struct Worker {
    owner: Owner,
    running: u32,
    held: u32,
    waiters: Vec<(Key, bool)>,
}

impl Worker {
    fn standing(&self) -> Standing {
        let ready = self
            .waiters
            .iter()
            .map(|(_, is_held)| u32::from(*is_held))
            .sum();
        let waiting = u32::try_from(self.waiters.len()).expect("few");
        Standing {
            running: self.running,
            fresh: waiting - ready,
            ready,
            held: self.held,
            head: self
                .waiters
                .iter()
                .map(|(key, _)| *key)
                .min()
                .unwrap_or(Key::LAST),
        }
    }

    fn start_first(&mut self) {
        let first = (0..self.waiters.len())
            .min_by_key(|at| self.waiters[*at].0)
            .expect("a waiter");
        let (_, is_held) = self.waiters.remove(first);
        self.held -= u32::from(is_held);
        self.running += 1;
    }

    /// Changes the worker's own count and says what to tell the gate.
    fn prepare(&mut self, act: Act, key: Key, setting: Setting) -> Event {
        match act {
            Act::Arrive {
                no_wait,
                has_ended,
                connection,
            } => {
                self.running = self.running.saturating_sub(u32::from(has_ended));
                return Event::Arrive(Arrival {
                    arrived: key.arrived,
                    order: Order::Arrival,
                    no_wait,
                    until: Time::NEVER,
                    setting,
                    connection,
                });
            }
            Act::Claim if !self.waiters.is_empty() => {
                let mut after = self.clone();
                after.start_first();
                return Event::Claim {
                    then: after.standing(),
                };
            }
            Act::Hold => {
                return Event::Hold(Hold {
                    until: Time::NEVER,
                    allowance: Allowance {
                        percent: 20,
                        per_second: 1,
                    },
                });
            }
            Act::Configure { cap } => {
                return Event::Configure {
                    setting: Setting {
                        hash: u64::from(cap),
                        cap,
                        ..setting
                    },
                    seen: 0,
                };
            }
            Act::End => self.running = self.running.saturating_sub(1),
            Act::Leave => {
                if let Some((_, is_held)) = self.waiters.pop() {
                    self.held -= u32::from(is_held);
                }
            }
            Act::Ready
                if usize::try_from(self.held).expect("few")
                    > self.waiters.iter().filter(|(_, is_held)| *is_held).count() =>
            {
                self.waiters.push((key, true));
            }
            Act::Renew => self.owner.generation += 1,
            Act::Claim | Act::Ready => {}
        }
        Event::Report
    }

    fn settle(&mut self, outcome: Outcome, key: Key) {
        match outcome {
            Outcome::Start => self.running += 1,
            Outcome::Wait { .. } => self.waiters.push((key, false)),
            Outcome::Claimed => self.start_first(),
            Outcome::Held => self.held += 1,
            _ => {}
        }
    }
}

/// Law L2, as far as one event shows it: the heads of workers without a grant are known to wait.
fn check_order(before: &Record, record: &Record, change: &Change) {
    if change.outcome == Outcome::Start {
        let waits = record.entries.iter().any(|entry| entry.uncovered() > 0);
        assert!(!waits, "L2: a new call passed those who wait");
    }
    let waiting = record
        .entries
        .iter()
        .filter(|entry| entry.granted == 0 && !entry.stalled)
        .map(|entry| entry.standing.head);
    let oldest = waiting.min().unwrap_or(Key::LAST);
    for entry in &record.entries {
        let had = before
            .entry(entry.owner.slot)
            .map_or(0, |entry| entry.granted);
        let is_granted = entry.granted > had;
        assert!(
            !is_granted || entry.standing.head <= oldest,
            "L2: an older waiter was passed over"
        );
    }
}

/// What holds after every event, whoever sent it.
fn check(before: &Record, record: &Record, mine: Standing, owner: Owner, change: &Change) {
    let was = before
        .entry(owner.slot)
        .map_or(0, |entry| entry.standing.running);
    let brought = before.in_flight() + u64::from(mine.running.saturating_sub(was));
    let limit = record.setting.limit();
    assert!(
        record.in_flight() <= limit.max(brought),
        "L1: over the limit"
    );
    let is_free = record.in_flight() < limit;
    for entry in &record.entries {
        assert!(
            entry.granted <= entry.standing.waiting(),
            "L5: more grants than waiters"
        );
        assert!(
            !is_free || entry.uncovered() == 0,
            "L3: a waiter beside a free slot"
        );
        assert_eq!(entry.granted == 0, entry.granted_at == Time(0));
        let granted = |record: &Record| {
            let same = |other: &&Entry| other.owner == entry.owner;
            record
                .entry(entry.owner.slot)
                .filter(same)
                .map_or(0, |entry| entry.granted)
        };
        let is_told = change.wake.contains(&entry.owner.slot);
        assert!(
            granted(record) <= granted(before) || is_told,
            "L3: a grant nobody hears of"
        );
    }
    check_order(before, record, change);
    assert!(record.entries.is_sorted_by_key(|entry| entry.owner.slot));
    assert_eq!(Record::decode(&record.encode()).as_ref(), Ok(record));
}

fn run(workers: u16, cap: u32, max_waiting: u32, script: &[(u16, Act, u64)]) {
    let setting = Setting {
        hash: u64::from(cap),
        cap,
        max_waiting,
        pace: Pace::UNBOUND,
    };
    let mut record = Record::new(1, 2, setting, Time(0));
    let worker = |slot| Worker {
        owner: Owner {
            slot,
            generation: 1,
        },
        running: 0,
        held: 0,
        waiters: Vec::new(),
    };
    let mut all: Vec<Worker> = (0..workers).map(worker).collect();
    let mut now = Time(1);
    for (count, (who, act, pause)) in script.iter().enumerate() {
        now = now + Duration::from_millis(*pause);
        let key = Key::at(u64::try_from(count).expect("few"));
        let worker = &mut all[usize::from(who % workers)];
        let event = worker.prepare(*act, key, setting);
        let (before, mine) = (record.clone(), worker.standing());
        let change =
            apply(&mut record, worker.owner, mine, event, now).expect("the newest generation");
        worker.settle(change.outcome, key);
        check(&before, &record, mine, worker.owner, &change);
        let told = record
            .entry(worker.owner.slot)
            .map_or(Standing::NONE, |entry| entry.standing);
        assert_eq!(told, worker.standing(), "the record knows the worker");

        let settled = record.clone();
        let again = apply(&mut record, worker.owner, told, Event::Report, now)
            .expect("the same generation");
        assert_eq!(
            (&record, again.wake),
            (&settled, Vec::new()),
            "a report said twice changes nothing"
        );
        let old = Owner {
            generation: worker.owner.generation - 1,
            ..worker.owner
        };
        if record.entry(old.slot).is_some() {
            let fenced = apply(&mut record, old, Standing::NONE, Event::Report, now);
            let newer = worker.owner.generation;
            assert_eq!(
                fenced,
                Err(Fenced {
                    slot: old.slot,
                    newer
                })
            );
            assert_eq!(record, settled, "a fenced worker changes nothing");
        }
    }
    // Law L4: whatever was going on, when all is told to have ended nothing is left.
    for worker in &all {
        apply(
            &mut record,
            worker.owner,
            Standing::NONE,
            Event::Report,
            now,
        )
        .expect("the newest");
    }
    assert_eq!(record.entries, []);
}

fn script(events: usize) -> impl Strategy<Value = Vec<(u16, Act, u64)>> {
    let pause = prop_oneof![8 => Just(0_u64), 1 => 1..30_u64];
    vec((any::<u16>(), act(), pause), 0..events)
}

proptest! {
    #[test]
    fn a_few_workers_keep_the_laws(workers in 1..=8_u16, cap in 0..5_u32, max_waiting in 0..6_u32, script in script(200)) {
        run(workers, cap, max_waiting, &script);
    }

    #[test]
    fn decoding_never_panics(bytes in vec(any::<u8>(), 0..600)) {
        if let Ok(record) = Record::decode(&bytes) {
            prop_assert_eq!(record.encode(), bytes);
        }
    }

    #[test]
    fn damaged_records_never_panic(damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let setting = Setting { hash: 1, cap: 2, max_waiting: 9, pace: Pace::UNBOUND };
        let mut record = Record::new(1, 2, setting, Time(0));
        for slot in 0..3 {
            let owner = Owner { slot, generation: 1 };
            let standing = Standing { running: 1, fresh: 1, ready: 0, held: 0, head: Key::at(9) };
            apply(&mut record, owner, standing, Event::Report, Time(5)).expect("not fenced");
        }
        let mut bytes = record.encode();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = Record::decode(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_workers_keep_the_laws(cap in 0..200_u32, script in script(1500)) {
        run(SLOTS, cap, 1000, &script);
    }
}
