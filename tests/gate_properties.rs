//! The gate's pure function under random events of many workers.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use weir::core::classify::{Class, Stated};
use weir::core::gate::owner::SLOTS;
use weir::core::gate::recovery::Stage;
use weir::core::gate::{
    Allowance, Arrival, Change, Entry, Event, Fenced, Hold, Key, Order, Outcome, Owner, Pace,
    Record, Refusal, Setting, Standing, Statement, Tally, Undecided, apply,
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
    /// The first attempt that is undecided is refused, with a word on when to come back or without,
    /// and with a limit that the provider states or without.
    Refuse {
        class: Class,
        least: Option<u64>,
        random: u64,
        stated: Option<Stated>,
    },
    Accept,
    TakeBack,
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
        2 => refuse(),
        2 => Just(Act::Accept),
        1 => Just(Act::TakeBack),
        2 => Just(Act::Leave),
        1 => Just(Act::Hold),
        1 => Just(Act::Ready),
        1 => (0..6_u32).prop_map(|cap| Act::Configure { cap }),
        1 => Just(Act::Renew),
    ]
}

fn refuse() -> impl Strategy<Value = Act> {
    let class = prop::sample::select(vec![
        Class::Rate,
        Class::BurstRate,
        Class::Concurrency,
        Class::Overloaded,
        Class::QuotaExhausted,
    ]);
    let stated = prop_oneof![
        4 => Just(None),
        1 => (1..50_000_000_000_u64).prop_map(|rate| Some(Stated::PerSecond(rate))),
        1 => (1..5_u32).prop_map(|calls| Some(Stated::AtOnce(calls))),
    ];
    let least = prop::option::of(0..3000_u64);
    (class, least, any::<u64>(), stated).prop_map(|(class, least, random, stated)| Act::Refuse {
        class,
        least,
        random,
        stated,
    })
}

/// A worker by its own count; waiters by key, with whether they are held calls.
#[derive(Clone, Debug)]
struct Worker {
    owner: Owner,
    /// Attempts, by the epoch in which they started if they are undecided.
    running: Vec<Option<u32>>,
    held: u32,
    waiters: Vec<(Key, bool)>,
    tally: Tally,
    /// The epoch of the attempt that was refused last.
    refused: u32,
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
            running: u32::try_from(self.running.len()).expect("few"),
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

    fn statement(&self) -> Statement {
        let undecided = self.running.iter().flatten().copied();
        Statement {
            standing: self.standing(),
            undecided: undecided.fold(Undecided::NONE, Undecided::with),
            tally: self.tally,
        }
    }

    fn start_first(&mut self, epoch: u32) {
        let first = (0..self.waiters.len())
            .min_by_key(|at| self.waiters[*at].0)
            .expect("a waiter");
        let (_, is_held) = self.waiters.remove(first);
        self.held -= u32::from(is_held);
        self.running.push(Some(epoch));
    }

    /// The provider answers the first attempt that it has not answered.
    fn answer(&mut self) -> Option<(usize, u32)> {
        let at = self.running.iter().position(Option::is_some)?;
        Some((at, self.running[at].take()?))
    }

    /// Changes the worker's own count and says what to tell the gate.
    fn prepare(&mut self, act: Act, key: Key, setting: Setting, now: Time) -> Event {
        match act {
            Act::Arrive {
                no_wait,
                has_ended,
                connection,
            } => {
                if has_ended {
                    self.running.pop();
                }
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
                after.start_first(0);
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
            Act::End => {
                self.running.pop();
            }
            Act::Refuse {
                class,
                least,
                random,
                stated,
            } => {
                if let Some((at, epoch)) = self.answer() {
                    self.running.remove(at);
                    self.refused = epoch;
                    self.tally.refused = Some(Refusal {
                        epoch,
                        class,
                        least: least.map(Duration::from_millis),
                        at: now,
                        took: Duration::from_millis(random % 900),
                        random,
                        envoys: 1,
                        stated,
                        is_told: false,
                    });
                }
            }
            Act::Accept => self.tally.accepted = self.answer().map(|(_, epoch)| epoch),
            Act::TakeBack => self.tally.taken_back = Some(self.refused),
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

    fn settle(&mut self, change: &Change, key: Key) {
        self.tally = Tally::default();
        let epoch = change.sight.epoch;
        match change.outcome {
            Outcome::Start => self.running.push(Some(epoch)),
            Outcome::Wait { .. } => self.waiters.push((key, false)),
            Outcome::Claimed => self.start_first(epoch),
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
fn check(
    before: &Record,
    record: &Record,
    mine: Standing,
    owner: Owner,
    change: &Change,
    now: Time,
) {
    let was = before
        .entry(owner.slot)
        .map_or(0, |entry| entry.standing.running);
    let brought = before.in_flight() + u64::from(mine.running.saturating_sub(was));
    let limit = record.setting.limit();
    assert!(
        record.in_flight() <= limit.max(brought),
        "L1: over the limit"
    );
    let is_free = record.is_free(now);
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
    check_recovery(before, record, change, now);
    assert!(record.entries.is_sorted_by_key(|entry| entry.owner.slot));
    assert_eq!(Record::decode(&record.encode()).as_ref(), Ok(record));
}

/// Laws L9 and L12: nothing goes in a pause, one call goes after it, and the pause only moves away.
fn check_recovery(before: &Record, record: &Record, change: &Change, now: Time) {
    let Some(recovery) = &record.recovery else {
        return;
    };
    let is_start = matches!(change.outcome, Outcome::Start | Outcome::Claimed);
    let granted: u32 = record.entries.iter().map(|entry| entry.granted).sum();
    let most = match recovery.stage {
        Stage::Open => u32::MAX,
        Stage::Shut if recovery.until <= now => 1,
        Stage::Shut | Stage::Probing { .. } => 0,
    };
    assert!(granted <= most, "L12: {granted} granted, {recovery:?}");
    if let Some(pause) = change.sight.lasting(now) {
        assert!(!is_start, "L9: a start before {pause:?}");
    }
    let Some(was) = &before.recovery else {
        return;
    };
    assert!(recovery.epoch >= was.epoch && recovery.epoch <= was.epoch + 1);
    let is_taken_back = recovery.stage == Stage::Open && recovery.refusals == 0;
    assert!(recovery.until >= was.until || is_taken_back, "L9: shorter");
    if is_start && matches!(was.stage, Stage::Probing { .. }) {
        // Unless the probe had just ended, and this is the next.
        let is_next = matches!(recovery.stage, Stage::Probing { since, .. } if since == now);
        let is_open = recovery.stage == Stage::Open;
        assert!(is_open || is_next, "L12: a second beside the probe");
    }
}

fn run(workers: u16, cap: u32, max_waiting: u32, learns: bool, script: &[(u16, Act, u64)]) {
    let setting = Setting {
        hash: u64::from(cap),
        cap,
        max_waiting,
        pace: Pace {
            learns,
            ..Pace::UNBOUND
        },
    };
    let mut record = Record::new(1, 2, setting, Time(0));
    let worker = |slot| Worker {
        owner: Owner {
            slot,
            generation: 1,
        },
        running: Vec::new(),
        held: 0,
        waiters: Vec::new(),
        tally: Tally::default(),
        refused: 0,
    };
    let mut all: Vec<Worker> = (0..workers).map(worker).collect();
    let mut now = Time(1);
    for (count, (who, act, pause)) in script.iter().enumerate() {
        now = now + Duration::from_millis(*pause);
        let key = Key::at(u64::try_from(count).expect("few"));
        let worker = &mut all[usize::from(who % workers)];
        let event = worker.prepare(*act, key, setting, now);
        let (before, mine) = (record.clone(), worker.statement());
        let change =
            apply(&mut record, worker.owner, mine, event, now).expect("the newest generation");
        worker.settle(&change, key);
        check(&before, &record, mine.standing, worker.owner, &change, now);
        let told = record
            .entry(worker.owner.slot)
            .map_or(Standing::NONE, |entry| entry.standing);
        assert_eq!(told, worker.standing(), "the record knows the worker");

        let settled = record.clone();
        let again = worker.statement();
        let again = apply(&mut record, worker.owner, again, Event::Report, now)
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
    let pause = prop_oneof![16 => Just(0_u64), 2 => 1..30_u64, 1 => 100..2000_u64];
    vec((any::<u16>(), act(), pause), 0..events)
}

proptest! {
    #[test]
    fn a_few_workers_keep_the_laws(workers in 1..=8_u16, cap in 0..5_u32, max_waiting in 0..6_u32, learns: bool, script in script(200)) {
        run(workers, cap, max_waiting, learns, &script);
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
    fn all_workers_keep_the_laws(cap in 0..200_u32, learns: bool, script in script(1500)) {
        run(SLOTS, cap, 1000, learns, &script);
    }
}
