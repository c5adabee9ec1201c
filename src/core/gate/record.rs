//! What is stored for one key.

use std::time::Duration;

use super::adaptive_cap::AdaptiveCap;
use super::allowance::Recent;
use super::bucket::{Bucket, Pace};
use super::headroom::{Headroom, Told};
use super::holding::Holding;
use super::learn::Learned;
use super::meter::Meter;
use super::order::{Key, Turns};
use super::owner::Owner;
use super::pause::Refusal;
use super::recovery::{Recovery, Undecided};
use super::speed::KEPT;
use crate::core::time::Time;

/// The limits of a gate that are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Tells one configuration of a policy's limits from another.
    pub hash: u64,
    /// Most calls in flight at once; 0 = no cap.
    pub cap: u32,
    /// Most calls that may wait for their first start, and most that may be held.
    pub max_waiting: u32,
    /// How fast calls may start.
    pub pace: Pace,
}

impl Setting {
    /// The cap as a limit on what is in flight.
    pub fn limit(&self) -> u64 {
        match self.cap {
            0 => u64::MAX,
            cap => u64::from(cap),
        }
    }
}

/// How long a gate is kept at least after its last use.
pub const IDLE: Duration = Duration::from_secs(60);

/// What one worker has in one gate, by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Attempts in flight, from claimed grant to last byte.
    pub running: u32,
    /// Waiters for their first start.
    pub fresh: u32,
    /// Held calls whose not-before has passed: they wait too.
    pub ready: u32,
    /// All held calls, ready or not.
    pub held: u32,
    /// The oldest waiter; [`Key::LAST`] if none waits.
    pub head: Key,
}

impl Standing {
    /// Nothing at all.
    pub const NONE: Standing = Standing {
        running: 0,
        fresh: 0,
        ready: 0,
        held: 0,
        head: Key::LAST,
    };

    /// Calls that could start now.
    pub fn waiting(&self) -> u32 {
        self.fresh.saturating_add(self.ready)
    }
}

/// What happened at a worker since it last told a gate, besides its standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// Starts it was granted that never became an attempt.
    pub unstarted: u32,
    /// Attempts that started without a grant.
    pub unplanned: u32,
    /// Attempts that ended, as by their client, before it was known whether they were accepted.
    pub unheard: u32,
    /// Calls that came past no gate half.
    pub unannounced: u32,
    /// How long the last slot that came free was kept.
    pub held_for: Option<Duration>,
    /// An attempt was refused.
    pub refused: Option<Refusal>,
    /// An attempt that started in this epoch was accepted.
    pub accepted: Option<u32>,
    /// What was said to be the refusal of an attempt that started in this epoch was none.
    pub taken_back: Option<u32>,
    /// A success said what is left, which is little or was.
    pub told: Option<Told>,
}

/// All a worker tells a gate with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// What it has.
    pub standing: Standing,
    /// Which of its attempts may yet be refused.
    pub undecided: Undecided,
    /// What happened.
    pub tally: Tally,
}

impl From<Standing> for Statement {
    fn from(standing: Standing) -> Statement {
        Statement {
            standing,
            undecided: Undecided::NONE,
            tally: Tally::default(),
        }
    }
}

/// One owner's part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Whose part this is.
    pub owner: Owner,
    /// What the owner last said of itself.
    pub standing: Standing,
    /// Slots granted to the owner that it has not claimed yet. Never more than its waiters.
    pub granted: u32,
    /// When the first of them was granted, or the owner last spoke; zero if there is none.
    pub granted_at: Time,
    /// The owner let a grant go stale and has not been heard of since.
    pub stalled: bool,
}

impl Entry {
    /// An owner with nothing to its name.
    pub fn new(owner: Owner) -> Entry {
        Entry {
            owner,
            standing: Standing::NONE,
            granted: 0,
            granted_at: Time(0),
            stalled: false,
        }
    }

    /// Waiters that no grant covers yet.
    pub fn uncovered(&self) -> u32 {
        self.standing.waiting().saturating_sub(self.granted)
    }

    fn is_empty(&self) -> bool {
        self.standing == Standing::NONE && self.granted == 0 && !self.stalled
    }
}

/// The shared state of one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Which key this is: a hash of policy and key parts.
    pub identity: u128,
    /// Which policy this is, for gauges: a hash of its name.
    pub policy: u64,
    /// The limits in force.
    pub setting: Setting,
    /// The highest downstream connection id that was served under them.
    pub newest_connection: u64,
    /// When a call last arrived, or the last one left.
    pub used_at: Time,
    /// How much of the pace is used up.
    pub bucket: Bucket,
    /// How long calls keep their slots.
    pub holding: Holding,
    /// Calls and retries of the last seconds.
    pub recent: Recent,
    /// Whose turn it is, if tenants share the gate fairly.
    pub turns: Option<Box<Turns>>,
    /// What was learned of refusals, if there were any.
    pub recovery: Option<Box<Recovery>>,
    /// How many attempts started lately, if the gate learns.
    pub meter: Meter,
    /// The rate that refusals taught.
    pub learned: Option<Box<Learned>>,
    /// The cap that refusals taught.
    pub adaptive_cap: Option<AdaptiveCap>,
    /// What the provider says is left, while that is little.
    pub headroom: Option<Headroom>,
    /// Owners with anything to their name, by slot.
    pub entries: Vec<Entry>,
    /// What newer code has added. Carried over unchanged.
    pub unknown: Vec<u8>,
}

impl Record {
    /// A gate nobody has used.
    pub fn new(identity: u128, policy: u64, setting: Setting, now: Time) -> Record {
        Record {
            identity,
            policy,
            setting,
            newest_connection: 0,
            used_at: now,
            bucket: Bucket::new(&setting.pace, now),
            holding: Holding::default(),
            recent: Recent::default(),
            turns: None,
            recovery: None,
            meter: Meter::default(),
            learned: None,
            adaptive_cap: None,
            headroom: None,
            entries: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Slots taken: attempts in flight and grants not yet claimed.
    pub fn in_flight(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.running) + u64::from(entry.granted))
    }

    /// Calls that could start now, over all workers.
    pub fn waiting(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.waiting()))
    }

    /// Waiters that no grant covers yet, over all workers.
    pub fn uncovered(&self) -> u64 {
        self.sum(|entry| u64::from(entry.uncovered()))
    }

    /// Calls waiting for their first start, over all workers.
    pub fn fresh(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.fresh))
    }

    /// Held calls, over all workers.
    pub fn held(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.held))
    }

    /// Whether the gate may give way to another key: nobody has anything in it, it was not used for
    /// [`IDLE`], and a new one would know as much. What a ramp had reached does not count: the next
    /// start is a cold one, which is the careful side.
    pub fn is_idle(&self, now: Time) -> bool {
        self.entries.is_empty()
            && now.since(self.used_at) >= if self.has_learned() { KEPT } else { IDLE }
            && self.bucket.owes_nothing(&self.setting.pace, now)
            && self.recovery.as_ref().is_none_or(|r| r.is_past(now))
            && self.headroom.is_none_or(|left| left.at(now).is_none())
            && self.unknown.is_empty()
    }

    /// Whether slot, pace and pause let one more call start.
    pub fn is_free(&self, now: Time) -> bool {
        self.in_flight() < self.limit() && self.opens_at() <= now && self.has_permit(now)
    }

    /// When somebody may start here, as far as the provider's word goes.
    pub fn promises(&self, now: Time) -> Time {
        let pause = self.sight().lasting(now);
        let opens_at = pause.map_or(Time(0), |pause| pause.no_start_before());
        opens_at.max(self.opens_at())
    }

    /// A success said what is left.
    pub(super) fn hear_headroom(&mut self, told: Option<Told>, now: Time) {
        self.headroom = self.headroom.and_then(|known| known.at(now));
        if let Some(told) = told {
            self.headroom = Headroom::hear(self.headroom, told, self.in_flight(), now);
        }
    }

    /// Other limits come into force. What is owed and learned stays.
    pub(super) fn put_in_force(&mut self, setting: Setting, now: Time) {
        if setting.pace != self.setting.pace {
            self.bucket.change(&self.setting.pace, &setting.pace, now);
        }
        self.setting = setting;
    }

    /// The entry of the worker in `slot`.
    pub fn entry(&self, slot: u16) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.owner.slot == slot)
    }

    /// Takes out the entry of `owner`'s slot, or makes an empty one.
    pub(super) fn take_entry(&mut self, owner: Owner) -> Entry {
        match self.position(owner.slot) {
            Ok(at) => self.entries.remove(at),
            Err(_) => Entry::new(owner),
        }
    }

    /// Puts an entry where [`Record::take_entry`] took it, unless it holds nothing.
    pub(super) fn put_entry(&mut self, entry: Entry) {
        if entry.is_empty() {
            return;
        }
        match self.position(entry.owner.slot) {
            Ok(at) => {
                if let Some(place) = self.entries.get_mut(at) {
                    *place = entry;
                }
            }
            Err(at) => self.entries.insert(at, entry),
        }
    }

    fn position(&self, slot: u16) -> Result<usize, usize> {
        self.entries
            .binary_search_by_key(&slot, |entry| entry.owner.slot)
    }

    fn sum(&self, part: impl Fn(&Entry) -> u64) -> u64 {
        self.entries.iter().map(part).sum()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::{Event, apply};
    use super::*;

    const OWNER: Owner = Owner {
        slot: 3,
        generation: 1,
    };

    fn gate(rate: u64) -> Record {
        let setting = Setting {
            hash: 1,
            cap: 1,
            max_waiting: 9,
            pace: Pace {
                rate,
                ..Pace::UNBOUND
            },
        };
        Record::new(1, 2, setting, Time(0))
    }

    fn idle_after(record: &Record, last: Time) -> bool {
        let nano = Duration::from_nanos(1);
        assert!(!record.is_idle((last + IDLE).before(nano)));
        record.is_idle(last + IDLE)
    }

    #[test]
    fn a_gate_is_idle_a_minute_after_the_last_call_left() {
        let mut record = gate(Pace::NO_RATE);
        assert!(idle_after(&record, Time(0)));
        let mut report = |standing, now| {
            apply(&mut record, OWNER, standing, Event::Report, now).expect("not fenced");
            record.clone()
        };
        let hour = Time(0) + Duration::from_secs(3600);
        let one_of_each = [
            Standing {
                running: 1,
                ..Standing::NONE
            },
            Standing {
                fresh: 1,
                head: Key::at(1),
                ..Standing::NONE
            },
            Standing {
                held: 1,
                ..Standing::NONE
            },
        ];
        for standing in one_of_each {
            assert!(!report(standing, Time(5)).is_idle(hour), "{standing:?}");
            let left = report(Standing::NONE, Time(7));
            assert!(idle_after(&left, Time(7)), "{standing:?}");
        }
    }

    #[test]
    fn l7_a_gate_is_not_idle_while_it_owes_starts() {
        // One start in 100 s.
        let mut record = gate(10_000_000);
        record.bucket.take(&record.setting.pace, Time(0));
        let owes = |seconds| !record.is_idle(Time(0) + Duration::from_secs(seconds));
        assert_eq!([60, 99, 100].map(owes), [true, true, false]);
    }

    #[test]
    fn l9_a_gate_is_not_idle_until_a_minute_after_its_pause() {
        let mut record = gate(Pace::NO_RATE);
        let refusal = Refusal {
            epoch: 0,
            class: crate::core::classify::Class::Rate,
            least: Some(Duration::from_secs(100)),
            at: Time(0),
            took: Duration::ZERO,
            random: 0,
            envoys: 1,
            stated: None,
            is_told: false,
        };
        let said = Statement {
            tally: Tally {
                refused: Some(refusal),
                ..Tally::default()
            },
            ..Statement::from(Standing::NONE)
        };
        apply(&mut record, OWNER, said, Event::Report, Time(0)).expect("not fenced");
        let idle = |seconds| record.is_idle(Time(0) + Duration::from_secs(seconds));
        assert_eq!([60, 100, 159, 160].map(idle), [false, false, false, true]);
    }

    #[test]
    fn a_gate_that_newer_code_has_added_to_is_its_business() {
        let mut record = gate(Pace::NO_RATE);
        record.unknown.push(1);
        assert!(!record.is_idle(Time::NEVER));
    }
}
