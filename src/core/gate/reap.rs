//! What becomes of an owner's part of a record when the owner is given up, or moves.
//!
//! An owner that was given up may be alive, and speak again at any moment. It is never counted
//! twice, because it moves its part in one step: what it had under its former name is gone in the
//! same write in which its new name appears.

use litemap::LiteMap;

use super::apply::{Change, Outcome, granted_of, settle};
use super::grant::{distribute, next_at};
use super::owner::Owner;
use super::record::{Record, Tally};
use crate::core::time::Time;

/// The generations that worker slots had when they were last read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fences(LiteMap<u16, u32>);

impl Fences {
    /// Notes that `slot` has reached `generation`.
    pub fn set(&mut self, slot: u16, generation: u32) {
        self.0.insert(slot, generation);
    }

    /// Whether an owner has been given up. It stays so: generations only rise.
    pub fn is_fenced(&self, owner: Owner) -> bool {
        let current = self.0.get(&owner.slot);
        current.is_some_and(|current| owner.generation < *current)
    }

    /// Whether `slot` was at `generation`.
    pub fn is_at(&self, slot: u16, generation: u32) -> bool {
        self.0.get(&slot) == Some(&generation)
    }

    /// Whether any slot ever changed hands; if not, nobody can have been given up.
    pub fn is_any(&self) -> bool {
        self.0.values().any(|generation| *generation > 1)
    }
}

/// Takes out what owners have that were given up, and grants what comes free. Grants that they had
/// not taken are not owed (law L8).
pub fn reap(record: &mut Record, fences: &Fences, now: Time) -> Change {
    let had = granted_of(record);
    let before = record.entries.len();
    record
        .entries
        .retain(|entry| !fences.is_fenced(entry.owner));
    if before > 0 && record.entries.is_empty() {
        record.used_at = now;
    }
    record.forget_gone();
    let kept = granted_of(record);
    let dropped = u32::try_from(had - kept).unwrap_or(0);
    settle(record, dropped, Tally::default(), now);
    let wake = match record.entries.len() == before {
        true => Vec::new(),
        false => distribute(record, now),
    };
    Change {
        outcome: Outcome::Noted,
        wake,
        next_at: next_at(record, now),
        sight: record.sight(),
        granted: granted_of(record) - had,
        setting_changed: false,
    }
}

/// Puts what `from` has under the name of `to`, which is the same worker. Grants that it has not
/// taken are made anew: their wake-ups lie in a queue that it no longer reads.
pub fn move_entry(record: &mut Record, from: Owner, to: Owner, now: Time) {
    if record.entry(from.slot).is_none_or(|had| had.owner != from) {
        return;
    }
    let mut entry = record.take_entry(from);
    // Whatever lies at the new slot is older than its holder, or the holder's event is refused.
    if record
        .entry(to.slot)
        .is_none_or(|old| old.owner.generation < to.generation)
    {
        let granted = std::mem::take(&mut entry.granted);
        settle(record, granted, Tally::default(), now);
        entry.owner = to;
        record.put_entry(entry);
        record.rename(from, to);
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::record::{Setting, Standing};
    use super::super::{Event, Key, Pace, apply};
    use super::*;

    const fn owner(slot: u16, generation: u32) -> Owner {
        Owner { slot, generation }
    }

    fn gate(cap: u32) -> Record {
        let setting = Setting {
            hash: 1,
            cap,
            max_waiting: 9,
            pace: Pace::UNBOUND,
        };
        Record::new(1, 2, setting, Time(0))
    }

    fn report(record: &mut Record, owner: Owner, running: u32, waiters: &[u64]) {
        let standing = Standing {
            running,
            fresh: u32::try_from(waiters.len()).expect("few"),
            head: waiters.iter().min().map_or(Key::LAST, |key| Key::at(*key)),
            ..Standing::NONE
        };
        apply(record, owner, standing, Event::Report, Time(0)).expect("not fenced");
    }

    fn fences(slot: u16, generation: u32) -> Fences {
        let mut fences = Fences::default();
        fences.set(slot, generation);
        fences
    }

    /// Slot, generation, running, waiting and granted of each entry.
    fn parts(record: &Record) -> Vec<(u16, u32, u32, u32, u32)> {
        let part = |entry: &super::super::Entry| {
            let Owner { slot, generation } = entry.owner;
            let standing = entry.standing;
            (
                slot,
                generation,
                standing.running,
                standing.waiting(),
                entry.granted,
            )
        };
        record.entries.iter().map(part).collect()
    }

    #[test]
    fn what_a_dead_worker_had_goes_to_those_who_wait_oldest_first() {
        let mut record = gate(3);
        report(&mut record, owner(0, 1), 2, &[]);
        report(&mut record, owner(3, 1), 1, &[8]);
        report(&mut record, owner(1, 1), 0, &[7, 9]);
        let change = reap(&mut record, &fences(0, 2), Time(0));
        assert_eq!((change.wake, change.granted), (vec![1], 2));
        assert_eq!(parts(&record), [(1, 1, 0, 2, 2), (3, 1, 1, 1, 0)]);
    }

    #[test]
    fn a_dead_worker_s_unclaimed_grant_and_waiters_go_too() {
        let mut record = gate(1);
        report(&mut record, owner(2, 1), 1, &[]);
        report(&mut record, owner(0, 4), 0, &[1, 2]);
        report(&mut record, owner(1, 1), 0, &[3]);
        report(&mut record, owner(2, 1), 0, &[]);
        assert_eq!(parts(&record), [(0, 4, 0, 2, 1), (1, 1, 0, 1, 0)]);
        assert_eq!(reap(&mut record, &fences(0, 5), Time(0)).wake, [1]);
        assert_eq!(parts(&record), [(1, 1, 0, 1, 1)]);
    }

    #[test]
    fn who_was_not_given_up_keeps_everything() {
        let mut record = gate(1);
        report(&mut record, owner(0, 2), 1, &[5]);
        report(&mut record, owner(1, 1), 0, &[6]);
        let before = record.clone();
        for fences in [Fences::default(), fences(0, 2), fences(0, 1), fences(7, 9)] {
            assert_eq!(reap(&mut record, &fences, Time(0)).wake, [0u16; 0]);
            assert_eq!(record, before);
        }
    }

    #[test]
    fn a_worker_that_moves_is_in_one_place() {
        let mut record = gate(3);
        report(&mut record, owner(0, 1), 2, &[4]);
        move_entry(&mut record, owner(0, 1), owner(5, 1), Time(0));
        assert_eq!(parts(&record), [(5, 1, 2, 1, 0)]);
        move_entry(&mut record, owner(5, 1), owner(5, 2), Time(0));
        assert_eq!(parts(&record), [(5, 2, 2, 1, 0)]);
        move_entry(&mut record, owner(0, 1), owner(6, 1), Time(0));
        assert_eq!(parts(&record), [(5, 2, 2, 1, 0)], "it had moved already");
    }

    #[test]
    fn a_worker_that_moves_leaves_the_next_holder_of_its_slot_alone() {
        let mut record = gate(3);
        report(&mut record, owner(0, 2), 1, &[]);
        move_entry(&mut record, owner(0, 1), owner(1, 1), Time(0));
        assert_eq!(parts(&record), [(0, 2, 1, 0, 0)]);
    }

    #[test]
    fn a_worker_that_moves_takes_the_place_of_who_had_its_new_slot_before() {
        let mut record = gate(0);
        report(&mut record, owner(0, 1), 2, &[]);
        report(&mut record, owner(1, 1), 7, &[]);
        move_entry(&mut record, owner(0, 1), owner(1, 2), Time(0));
        assert_eq!(parts(&record), [(1, 2, 2, 0, 0)]);
    }
}
