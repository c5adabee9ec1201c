//! Who gets a free slot, and with it a permit to start.
//!
//! A slot is granted to the worker whose oldest waiter is the oldest of all. If that worker has a
//! grant it has not claimed yet, its recorded head may already be spoken for and the grant is
//! provisional: [`super::apply`] corrects it when it is claimed.

use std::time::Duration;

use super::record::{Entry, Record};
use crate::core::time::Time;

/// How long a grant may stay unclaimed before it may go to somebody else. A worker answers a wake-up
/// in well under a millisecond; one that is blocked must hold no slot.
pub const STALE: Duration = Duration::from_millis(20);

/// Grants every slot that is free to those who wait, and moves grants that a blocked worker left
/// lying. Returns the slots of the workers to wake, in the order of their grants.
pub fn distribute(record: &mut Record, now: Time) -> Vec<u16> {
    record.judge_by_time(now);
    record.pass_time(now);
    let mut wake = Vec::new();
    while let Some(next) = next_in_line(record) {
        if !record.is_free(now) {
            if !record.press_cap(now) && !revoke_stale(record, now) {
                break;
            }
            continue;
        }
        let Some(entry) = record.entries.get_mut(next) else {
            break;
        };
        grant(entry, now);
        if wake.last() != Some(&entry.owner.slot) {
            wake.push(entry.owner.slot);
        }
        record.take_permit(now);
    }
    record.note_pressure();
    wake
}

/// When the next waiter may start if it is pace or pause alone that keeps it; `None` if nobody waits,
/// or for a slot, or while the probe lies unclaimed.
pub(super) fn next_at(record: &Record, now: Time) -> Option<Time> {
    let waits = record.entries.iter().any(|entry| entry.uncovered() > 0);
    let has_slot = record.in_flight() < record.limit();
    let opens_at = record.opens_at();
    (waits && has_slot && opens_at != Time::NEVER).then(|| {
        let by_pace = record.permit_at(now, 0);
        by_pace.max(opens_at)
    })
}

/// Gives one slot to the owner of `entry`.
pub(super) fn grant(entry: &mut Entry, now: Time) {
    if entry.granted == 0 {
        entry.granted_at = now;
    }
    entry.granted = entry.granted.saturating_add(1);
}

/// Takes one unclaimed grant off `entry`.
pub(super) fn ungrant(entry: &mut Entry) {
    entry.granted = entry.granted.saturating_sub(1);
    if entry.granted == 0 {
        entry.granted_at = Time(0);
    }
}

/// Where the entry stands whose waiter should start next. Workers that are known to be blocked come
/// last, so that they delay nobody else.
fn next_in_line(record: &Record) -> Option<usize> {
    record
        .entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.uncovered() > 0)
        .min_by_key(|(_, entry)| (entry.stalled, entry.standing.head, entry.owner.slot))
        .map(|(at, _)| at)
}

/// Takes all grants off one worker that let them go stale, if a worker that is not blocked waits.
/// True if it did.
fn revoke_stale(record: &mut Record, now: Time) -> bool {
    let is_stale = |entry: &Entry| entry.granted > 0 && entry.granted_at + STALE <= now;
    let others_wait = record
        .entries
        .iter()
        .any(|entry| entry.uncovered() > 0 && !entry.stalled && !is_stale(entry));
    if !others_wait {
        return false;
    }
    let Some(entry) = record.entries.iter_mut().find(|entry| is_stale(entry)) else {
        return false;
    };
    let revoked = entry.granted;
    entry.granted = 0;
    entry.granted_at = Time(0);
    entry.stalled = true;
    for _ in 0..revoked {
        record.return_permit(now);
    }
    true
}
