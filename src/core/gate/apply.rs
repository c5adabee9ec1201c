//! The one function that changes a gate.
//!
//! A worker does not send increments: with every event it states its whole [`Standing`]. A report
//! that was lost is therefore made good by the next one, an owner that was dropped is re-adopted by
//! its next report, and nothing can be counted twice.

use super::grant::{distribute, grant, ungrant};
use super::owner::Owner;
use super::record::{Entry, Key, Record, Setting, Standing};
use crate::core::time::Time;

/// What a worker tells a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Nothing but the standing: an attempt ended, a waiter left, a held call became ready.
    Report,
    /// A call came.
    Arrive {
        /// Its order.
        key: Key,
        /// It would rather be refused than wait.
        no_wait: bool,
        /// The limits of the configuration it came under.
        setting: Setting,
        /// The id of its downstream connection; ids rise over the whole process.
        connection: u64,
    },
    /// The worker takes a slot that was granted to it, for its oldest waiter.
    Claim {
        /// Its standing if it gets the slot.
        then: Standing,
    },
    /// A refused call wants to be held until it may try again.
    Hold,
    /// A configuration that this worker had never seen came into force.
    Configure {
        /// Its limits.
        setting: Setting,
    },
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is written down.
    Noted,
    /// The call has a slot.
    Start,
    /// The call waits.
    Wait,
    /// The call may not wait and nothing is free.
    NoWait,
    /// The queue is full.
    QueueFull {
        /// The place the call would have had.
        position: u64,
        /// The bound that was hit.
        max_waiting: u32,
    },
    /// The worker's oldest waiter has its slot.
    Claimed,
    /// The grant went to an older waiter of another worker.
    Handed,
    /// There was no grant.
    NoGrant,
    /// The call is held.
    Held,
    /// Too many calls are held.
    HoldsFull,
}

/// The effects of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What became of it.
    pub outcome: Outcome,
    /// Worker slots that were granted something and must be told.
    pub wake: Vec<u16>,
    /// The limits in force changed.
    pub setting_changed: bool,
}

/// The worker's slot has gone to another worker: it must take a new one and report again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker slot {slot} is held by generation {newer}")]
pub struct Fenced {
    /// The slot.
    pub slot: u16,
    /// The generation that holds it now.
    pub newer: u32,
}

/// Applies `event` of `owner`, whose own count before the event is `mine`.
///
/// # Errors
/// [`Fenced`] if a newer generation holds the owner's slot; the record is then unchanged.
pub fn apply(
    record: &mut Record,
    owner: Owner,
    mine: Standing,
    event: Event,
    now: Time,
) -> Result<Change, Fenced> {
    let mut entry = own_entry(record, owner)?;
    entry.standing = mine;
    entry.stalled = false;
    return_excess(&mut entry);
    if entry.granted > 0 {
        // Whoever speaks is not blocked: its grants lie from now on, whatever was claimed before.
        entry.granted_at = now;
    }
    record.put_entry(entry);

    let mut setting_changed = false;
    let mut wake = Vec::new();
    let outcome = match event {
        Event::Report => Outcome::Noted,
        Event::Configure { setting } => {
            setting_changed = record.setting != setting;
            if setting_changed {
                // Connections seen so far belong to configurations that are older than this one.
                record.newest_connection = record.newest_connection.saturating_add(1);
                record.setting = setting;
            }
            Outcome::Noted
        }
        Event::Arrive {
            key,
            no_wait,
            setting,
            connection,
        } => {
            setting_changed = follow(record, setting, connection);
            // Those who wait come first: only what they leave is free for a new call.
            wake = distribute(record, now);
            arrive(record, owner, key, no_wait)
        }
        Event::Claim { then } => claim(record, owner, then, now, &mut wake),
        Event::Hold => hold(record, owner),
    };
    wake.extend(distribute(record, now));
    Ok(Change {
        outcome,
        wake,
        setting_changed,
    })
}

fn own_entry(record: &mut Record, owner: Owner) -> Result<Entry, Fenced> {
    if let Some(entry) = record.entry(owner.slot)
        && entry.owner.generation > owner.generation
    {
        return Err(Fenced {
            slot: owner.slot,
            newer: entry.owner.generation,
        });
    }
    let entry = record.take_entry(owner);
    if entry.owner.generation < owner.generation {
        // Whoever had the slot before is gone, and with it all it had.
        return Ok(Entry::new(owner));
    }
    Ok(entry)
}

/// A grant whose waiter has gone is nobody's: it is free for the next (law L5).
fn return_excess(entry: &mut Entry) {
    while entry.granted > entry.standing.waiting() {
        ungrant(entry);
    }
}

/// Decides which configuration is in force: the one of the newest connection.
fn follow(record: &mut Record, setting: Setting, connection: u64) -> bool {
    if connection < record.newest_connection {
        return false;
    }
    let changed = record.setting != setting;
    record.setting = setting;
    record.newest_connection = connection;
    changed
}

fn arrive(record: &mut Record, owner: Owner, key: Key, no_wait: bool) -> Outcome {
    let is_free = record.in_flight() < record.setting.limit();
    let (fresh, max_waiting) = (record.fresh(), record.setting.max_waiting);
    if !is_free && no_wait {
        return Outcome::NoWait;
    }
    if !is_free && fresh >= u64::from(max_waiting) {
        return Outcome::QueueFull {
            position: record.waiting().saturating_add(1),
            max_waiting,
        };
    }
    let mut entry = record.take_entry(owner);
    let standing = &mut entry.standing;
    let outcome = if is_free {
        standing.running = standing.running.saturating_add(1);
        Outcome::Start
    } else {
        standing.fresh = standing.fresh.saturating_add(1);
        standing.head = standing.head.min(key);
        Outcome::Wait
    };
    record.put_entry(entry);
    outcome
}

/// Takes a grant, unless an older waiter elsewhere has none: then that one gets it (law L2).
fn claim(
    record: &mut Record,
    owner: Owner,
    then: Standing,
    now: Time,
    wake: &mut Vec<u16>,
) -> Outcome {
    let mut entry = record.take_entry(owner);
    if entry.granted == 0 {
        record.put_entry(entry);
        return Outcome::NoGrant;
    }
    let mine = (entry.standing.head, owner.slot);
    let older = record
        .entries
        .iter_mut()
        .filter(|other| other.uncovered() > 0 && !other.stalled)
        .min_by_key(|other| (other.standing.head, other.owner.slot))
        .filter(|other| (other.standing.head, other.owner.slot) < mine);
    let outcome = if let Some(other) = older {
        // All at once: were it one at a time, two workers whose waiters alternate by age would hand
        // k grants back and forth k times.
        for _ in 0..entry.granted.min(other.uncovered()) {
            ungrant(&mut entry);
            grant(other, now);
        }
        wake.push(other.owner.slot);
        Outcome::Handed
    } else {
        ungrant(&mut entry);
        entry.standing = then;
        Outcome::Claimed
    };
    record.put_entry(entry);
    outcome
}

fn hold(record: &mut Record, owner: Owner) -> Outcome {
    if record.held() >= u64::from(record.setting.max_waiting) {
        return Outcome::HoldsFull;
    }
    let mut entry = record.take_entry(owner);
    entry.standing.held = entry.standing.held.saturating_add(1);
    record.put_entry(entry);
    Outcome::Held
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::grant::STALE;
    use super::*;

    const A: Owner = Owner {
        slot: 0,
        generation: 1,
    };
    const B: Owner = Owner {
        slot: 1,
        generation: 1,
    };

    fn gate(cap: u32) -> Record {
        Record::new(1, 2, setting(cap))
    }

    fn setting(cap: u32) -> Setting {
        Setting {
            hash: u64::from(cap),
            cap,
            max_waiting: 3,
        }
    }

    fn standing(running: u32, fresh: u32, head: u64) -> Standing {
        let head = if fresh == 0 { Key::LAST } else { Key(head) };
        Standing {
            running,
            fresh,
            head,
            ..Standing::NONE
        }
    }

    fn arrival(record: &Record, key: u64) -> Event {
        Event::Arrive {
            key: Key(key),
            no_wait: false,
            setting: record.setting,
            connection: 0,
        }
    }

    fn send(record: &mut Record, owner: Owner, mine: Standing, event: Event) -> Change {
        apply(record, owner, mine, event, Time(0)).expect("not fenced")
    }

    #[test]
    fn calls_start_up_to_the_cap_then_wait_then_are_refused() {
        let mut record = gate(2);
        let mut outcomes = Vec::new();
        let mut mine = Standing::NONE;
        for key in 0..7 {
            let event = arrival(&record, key);
            outcomes.push(send(&mut record, A, mine, event).outcome);
            mine = record.entry(0).expect("entry").standing;
        }
        let full = |position| Outcome::QueueFull {
            position,
            max_waiting: 3,
        };
        assert_eq!(
            outcomes,
            [
                Outcome::Start,
                Outcome::Start,
                Outcome::Wait,
                Outcome::Wait,
                Outcome::Wait,
                full(4),
                full(4),
            ]
        );
        assert_eq!((record.in_flight(), record.waiting()), (2, 3));
    }

    #[test]
    fn a_release_grants_to_the_oldest_head_and_wakes_its_worker() {
        let mut record = gate(1);
        send(&mut record, A, standing(1, 0, 0), Event::Report);
        send(&mut record, A, standing(1, 1, 20), Event::Report);
        send(&mut record, B, standing(0, 1, 10), Event::Report);
        let change = send(&mut record, A, standing(0, 1, 20), Event::Report);
        assert_eq!(change.wake, [1]);
        assert_eq!(record.entry(1).expect("entry").granted, 1);
    }

    #[test]
    fn a_newer_call_does_not_pass_those_who_wait() {
        let mut record = gate(1);
        send(&mut record, A, standing(1, 0, 0), Event::Report);
        send(&mut record, B, standing(0, 1, 10), Event::Report);
        // The slot comes free in the very event that brings a new call.
        let event = arrival(&record, 30);
        let change = send(&mut record, A, Standing::NONE, event);
        assert_eq!((change.outcome, change.wake), (Outcome::Wait, vec![1]));
    }

    #[test]
    fn a_provisional_grant_goes_to_the_older_waiter_when_it_is_claimed() {
        let mut record = gate(2);
        send(&mut record, A, standing(2, 2, 1), Event::Report);
        send(&mut record, B, standing(0, 1, 5), Event::Report);
        // Both slots come free. A's recorded head is the oldest for both; its second is younger.
        send(&mut record, A, standing(0, 2, 1), Event::Report);
        assert_eq!(record.entry(0).expect("entry").granted, 2);
        let first = Event::Claim {
            then: standing(1, 1, 9),
        };
        assert_eq!(
            send(&mut record, A, standing(0, 2, 1), first).outcome,
            Outcome::Claimed
        );
        let second = Event::Claim {
            then: standing(2, 0, 0),
        };
        let change = send(&mut record, A, standing(1, 1, 9), second);
        assert_eq!((change.outcome, change.wake), (Outcome::Handed, vec![1]));
        assert_eq!(record.in_flight(), 2);
    }

    #[test]
    fn a_grant_whose_waiter_left_passes_on() {
        let mut record = gate(1);
        send(&mut record, A, standing(1, 1, 1), Event::Report);
        send(&mut record, B, standing(0, 1, 2), Event::Report);
        send(&mut record, A, standing(0, 1, 1), Event::Report);
        assert_eq!(record.entry(0).expect("entry").granted, 1);
        let change = send(&mut record, A, Standing::NONE, Event::Report);
        assert_eq!(change.wake, [1]);
        assert_eq!(record.in_flight(), 1);
    }

    #[test]
    fn a_blocked_worker_loses_its_grant_when_it_is_stale_and_not_before() {
        let mut record = gate(1);
        send(&mut record, A, standing(0, 1, 1), Event::Report);
        send(&mut record, B, standing(0, 1, 2), Event::Report);
        let just_before = (Time(0) + STALE).before(std::time::Duration::from_nanos(1));
        let report = |record: &mut Record, now| {
            apply(record, B, standing(0, 1, 2), Event::Report, now)
                .expect("not fenced")
                .wake
        };
        assert_eq!(report(&mut record, just_before), [0u16; 0]);
        assert_eq!(report(&mut record, Time(0) + STALE), [1]);
        assert!(record.entry(0).expect("entry").stalled);
        // It comes back to find nothing, and keeps its place.
        let claim = Event::Claim {
            then: standing(1, 0, 0),
        };
        let change = send(&mut record, A, standing(0, 1, 1), claim);
        assert_eq!(change.outcome, Outcome::NoGrant);
        assert!(!record.entry(0).expect("entry").stalled);
    }

    #[test]
    fn a_worker_that_keeps_claiming_is_not_blocked() {
        let mut record = gate(2);
        let mut at = |owner, mine, event, now| {
            apply(&mut record, owner, mine, event, now).expect("not fenced")
        };
        let late = (Time(0) + STALE).before(std::time::Duration::from_nanos(1));
        at(B, standing(1, 0, 0), Event::Report, Time(0));
        at(A, standing(0, 2, 1), Event::Report, Time(0));
        // The second grant is made just before the first is claimed and would go stale.
        at(B, Standing::NONE, Event::Report, late);
        let claim = Event::Claim {
            then: standing(1, 1, 2),
        };
        assert_eq!(
            at(A, standing(0, 2, 1), claim, late).outcome,
            Outcome::Claimed
        );
        let change = at(B, standing(0, 1, 3), Event::Report, Time(0) + STALE);
        assert_eq!(change.wake, [0u16; 0]);
    }

    #[test]
    fn a_worker_that_speaks_does_not_lose_its_own_grant() {
        let mut record = gate(1);
        send(&mut record, A, standing(0, 1, 1), Event::Report);
        send(&mut record, B, standing(0, 1, 2), Event::Report);
        let mut report = || {
            let now = Time(0) + STALE;
            apply(&mut record, A, standing(0, 1, 1), Event::Report, now).expect("not fenced");
            record.clone()
        };
        let once = report();
        assert_eq!(
            once.entry(0).map(|entry| (entry.granted, entry.stalled)),
            Some((1, false))
        );
        assert_eq!(report(), once);
    }

    #[test]
    fn a_fenced_owner_changes_nothing_and_a_new_generation_replaces_the_old() {
        let mut record = gate(3);
        send(&mut record, A, standing(2, 0, 0), Event::Report);
        let next = Owner {
            slot: 0,
            generation: 2,
        };
        send(&mut record, next, standing(1, 0, 0), Event::Report);
        assert_eq!(record.in_flight(), 1);
        let before = record.clone();
        let fenced = apply(&mut record, A, standing(2, 0, 0), Event::Report, Time(0));
        assert_eq!(fenced, Err(Fenced { slot: 0, newer: 2 }));
        assert_eq!(record, before);
    }

    #[test]
    fn the_newest_connection_decides_which_limits_hold() {
        let mut record = gate(1);
        let mut arrive = |cap, connection| {
            let event = Event::Arrive {
                key: Key(1),
                no_wait: true,
                setting: setting(cap),
                connection,
            };
            send(&mut record, A, Standing::NONE, event);
            record.setting.cap
        };
        assert_eq!(arrive(1, 5), 1);
        assert_eq!(arrive(2, 6), 2);
        assert_eq!(
            arrive(1, 5),
            2,
            "a draining configuration does not come back"
        );
        assert_eq!(arrive(1, 7), 1, "but a rollback does");
    }

    #[test]
    fn a_new_configuration_wakes_waiters_and_outranks_all_connections_seen() {
        let mut record = gate(1);
        record.newest_connection = 9;
        send(&mut record, A, standing(1, 2, 1), Event::Report);
        let configure = Event::Configure {
            setting: setting(3),
        };
        let change = send(&mut record, A, standing(1, 2, 1), configure);
        assert_eq!((change.wake, record.in_flight()), (vec![0], 3));
        let old = Event::Arrive {
            key: Key(3),
            no_wait: false,
            setting: setting(1),
            connection: 9,
        };
        send(&mut record, B, Standing::NONE, old);
        assert_eq!(record.setting.cap, 3);
    }

    #[test]
    fn a_lowered_cap_grants_nothing_until_enough_has_ended() {
        let mut record = gate(3);
        send(&mut record, A, standing(3, 1, 1), Event::Report);
        let configure = Event::Configure {
            setting: setting(1),
        };
        send(&mut record, A, standing(3, 1, 1), configure);
        for running in [2, 1] {
            assert_eq!(
                send(&mut record, A, standing(running, 1, 1), Event::Report).wake,
                [0u16; 0]
            );
        }
        assert_eq!(
            send(&mut record, A, standing(0, 1, 1), Event::Report).wake,
            [0]
        );
    }

    #[test]
    fn holds_are_bounded_by_themselves() {
        let mut record = gate(0);
        let mut outcomes = Vec::new();
        for held in 0..4 {
            let mine = Standing {
                held,
                ..Standing::NONE
            };
            outcomes.push(send(&mut record, A, mine, Event::Hold).outcome);
        }
        assert_eq!(
            outcomes,
            [
                Outcome::Held,
                Outcome::Held,
                Outcome::Held,
                Outcome::HoldsFull
            ]
        );
    }
}
