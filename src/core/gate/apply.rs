//! The one function that changes a gate.
//!
//! A worker does not send increments: with every event it states its whole [`Standing`]. A report
//! that was lost is therefore made good by the next one, an owner that was dropped is re-adopted by
//! its next report, and nothing can be counted twice.

use std::time::Duration;

use super::allowance::Allowance;
use super::estimate::{certain_start, expected_wait};
use super::grant::{distribute, grant, next_at, ungrant};
use super::order::{Key, Order, Turns};
use super::owner::Owner;
use super::record::{Entry, Record, Setting, Standing, Statement, Tally};
use super::recovery::{Pause, Sight};
use crate::core::time::Time;

/// What a worker tells a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Nothing but the standing: an attempt ended, a waiter left, a held call became ready.
    Report,
    /// A call came.
    Arrive(Arrival),
    /// The worker takes a slot that was granted to it, for its oldest waiter.
    Claim {
        /// Its standing if it gets the slot.
        then: Standing,
    },
    /// A refused call wants to be held until it may try again.
    Hold(Hold),
    /// A configuration that this worker had never seen came into force.
    Configure {
        /// Its limits.
        setting: Setting,
        /// The highest id of a downstream connection that this worker has seen.
        seen: u64,
    },
}

/// A call that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arrival {
    /// When, in nanoseconds, with its class; its worker never gives a number twice.
    pub arrived: u64,
    /// What ranks it.
    pub order: Order,
    /// It would rather be refused than wait.
    pub no_wait: bool,
    /// The last moment at which a start is of use to it.
    pub until: Time,
    /// The limits of the configuration it came under.
    pub setting: Setting,
    /// The id of its downstream connection; ids rise over the whole process.
    pub connection: u64,
}

/// A refused call that wants to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The last moment at which another attempt is of use to it.
    pub until: Time,
    /// The retries its policy allows.
    pub allowance: Allowance,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is written down.
    Noted,
    /// The call has a slot.
    Start,
    /// The call waits.
    Wait {
        /// Its order.
        key: Key,
    },
    /// The call does not wait: it would rather not, or it cannot.
    Refuse(Refuse),
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
    /// The call cannot try again in time (law L10).
    HoldTooLate,
    /// The gate has made as many retries as its calls allow.
    RetriesSpent,
}

/// Why a call that cannot start does not wait either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refuse {
    /// What keeps it.
    pub why: Why,
    /// The place in the queue that it would have had.
    pub position: u64,
    /// How long it would have waited, if that is known.
    pub expected: Option<Duration>,
}

/// What keeps a call from waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// It would rather be refused than wait, and this is what it would wait for.
    NoWait {
        /// What it would wait for.
        keeps: Keeps,
    },
    /// The gate is shut for longer than the call can wait (law L10).
    Shut(Pause),
    /// The queue is full.
    QueueFull,
    /// It cannot start in time (law L10).
    TooLate {
        /// When it could at the earliest.
        start: Time,
    },
}

/// What keeps a call from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keeps {
    /// All slots are taken.
    Slot,
    /// The rate, or its ramp.
    Pace,
    /// The provider has refused calls, and none has been accepted since; or it says that few are left.
    Pause,
}

/// The effects of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What became of it.
    pub outcome: Outcome,
    /// Worker slots that were granted something and must be told.
    pub wake: Vec<u16>,
    /// When the next waiter may start, if only pace and pause keep it until then.
    pub next_at: Option<Time>,
    /// How the gate's recovery stands.
    pub sight: Sight,
    /// Starts that this event granted, the arriving call's included, less those it gave back.
    pub granted: i64,
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

/// Applies `event` of `owner`, who before the event states `mine`.
///
/// # Errors
/// [`Fenced`] if a newer generation holds the owner's slot; the record is then unchanged.
pub fn apply(
    record: &mut Record,
    owner: Owner,
    mine: impl Into<Statement>,
    event: Event,
    now: Time,
) -> Result<Change, Fenced> {
    let said = mine.into();
    let Statement {
        standing, tally, ..
    } = said;
    let was_used = !record.entries.is_empty();
    let mut entry = own_entry(record, owner)?;
    entry.standing = standing;
    entry.stalled = false;
    let had = granted_of(record) + i64::from(entry.granted) + i64::from(tally.unstarted);
    let excess = take_excess(&mut entry);
    settle(record, excess, tally, now);
    if entry.granted > 0 {
        // Whoever speaks is not blocked: its grants lie from now on, whatever was claimed before.
        entry.granted_at = now;
    }
    record.put_entry(entry);
    record.hear_headroom(tally.told, now);
    let mut wake = Vec::new();
    if record.hear(owner, &said, now) {
        // Each of them has calls that may not be able to wait for so long.
        let stays = |standing: &Standing| standing.fresh > 0 || standing.held > 0;
        let stay = record.entries.iter().filter(|e| stays(&e.standing));
        wake.extend(stay.map(|entry| entry.owner.slot));
    }

    let before = record.setting;
    let outcome = match event {
        Event::Report => Outcome::Noted,
        Event::Configure { setting, seen } => {
            // Connections seen so far belong to configurations that are older than this one.
            let newest = record.newest_connection.max(seen);
            record.newest_connection = newest.saturating_add(u64::from(record.setting != setting));
            record.put_in_force(setting, now);
            Outcome::Noted
        }
        Event::Arrive(arrival) => {
            follow(record, arrival.setting, arrival.connection, now);
            record.used_at = now;
            // Those who wait come first: only what they leave is free for a new call.
            wake.extend(distribute(record, now));
            let outcome = arrive(record, owner, &arrival, now);
            if !matches!(outcome, Outcome::Refuse(_)) {
                record.recent.add_calls(1, now);
            }
            outcome
        }
        Event::Claim { then } => claim(record, owner, then, now, &mut wake),
        Event::Hold(ask) => hold(record, owner, ask, now),
    };
    wake.extend(distribute(record, now));
    if was_used && record.entries.is_empty() {
        record.used_at = now;
    }
    let started = i64::from(matches!(outcome, Outcome::Start | Outcome::Claimed));
    Ok(Change {
        outcome,
        wake,
        next_at: next_at(record, now),
        sight: record.sight(),
        granted: granted_of(record) + started - had,
        setting_changed: record.setting != before,
    })
}

/// Grants that nobody has taken yet.
pub(super) fn granted_of(record: &Record) -> i64 {
    let granted = record.entries.iter().map(|entry| i64::from(entry.granted));
    granted.sum()
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

/// Takes off the grants whose waiters have gone: they are nobody's, and free for the next (law L5).
fn take_excess(entry: &mut Entry) -> u32 {
    let excess = entry.granted.saturating_sub(entry.standing.waiting());
    for _ in 0..excess {
        ungrant(entry);
    }
    excess
}

/// Starts that did not happen are not owed (law L8), starts that nobody granted are.
pub(super) fn settle(record: &mut Record, excess: u32, tally: Tally, now: Time) {
    for _ in 0..excess.saturating_add(tally.unstarted) {
        record.return_permit(now);
    }
    for _ in 0..tally.unplanned {
        record.take_unasked(now);
    }
    record.miss(tally.unheard);
    record.recent.add_calls(tally.unannounced, now);
    if let Some(span) = tally.held_for {
        record.holding.add(span);
    }
}

/// Decides which configuration is in force: the one of the newest connection.
fn follow(record: &mut Record, setting: Setting, connection: u64, now: Time) {
    if connection >= record.newest_connection {
        record.newest_connection = connection;
        record.put_in_force(setting, now);
    }
}

fn arrive(record: &mut Record, owner: Owner, arrival: &Arrival, now: Time) -> Outcome {
    let is_free = record.is_free(now);
    if !is_free && let Some(refuse) = may_not_wait(record, arrival, now) {
        return Outcome::Refuse(refuse);
    }
    let arrived = arrival.arrived;
    let key = Key {
        rank: rank(record, arrived, arrival.order, now),
        arrived,
    };
    let mut entry = record.take_entry(owner);
    let standing = &mut entry.standing;
    let outcome = if is_free {
        standing.running = standing.running.saturating_add(1);
        Outcome::Start
    } else {
        standing.fresh = standing.fresh.saturating_add(1);
        standing.head = standing.head.min(key);
        Outcome::Wait { key }
    };
    record.put_entry(entry);
    if is_free {
        record.take_permit(now);
        starts(record, owner, key, now);
    }
    outcome
}

fn may_not_wait(record: &Record, arrival: &Arrival, now: Time) -> Option<Refuse> {
    // Only where all stand in one line is it known who is ahead.
    let ahead = match arrival.order {
        Order::Arrival => record.uncovered(),
        Order::Class { .. } | Order::Fair { .. } => 0,
    };
    let start = certain_start(record, now, ahead);
    let misfit = record
        .sight()
        .lasting(now)
        .filter(|pause| pause.no_start_before() > arrival.until);
    let why = if let Some(pause) = misfit.filter(Pause::is_quota) {
        Why::Shut(pause)
    } else if arrival.no_wait {
        Why::NoWait {
            keeps: keeps(record, now),
        }
    } else if let Some(pause) = misfit {
        Why::Shut(pause)
    } else if record.fresh() >= u64::from(record.setting.max_waiting) {
        Why::QueueFull
    } else if start > arrival.until {
        Why::TooLate { start }
    } else {
        return None;
    };
    Some(Refuse {
        why,
        position: record.waiting().saturating_add(1),
        expected: expected_wait(record, now, record.uncovered()),
    })
}

fn keeps(record: &Record, now: Time) -> Keeps {
    if record.opens_at() > now {
        Keeps::Pause
    } else if record.in_flight() >= record.limit() {
        Keeps::Slot
    } else {
        Keeps::Pace
    }
}

/// Ranks a call that arrives, and notes its turn.
fn rank(record: &mut Record, arrived: u64, order: Order, now: Time) -> u64 {
    match order {
        Order::Arrival => arrived,
        Order::Class { behind } => arrived.saturating_add(behind),
        Order::Fair { tenant, weight } => record
            .turns
            .get_or_insert_with(|| Box::new(Turns::new(now.0)))
            .give(tenant, weight, arrived),
    }
}

fn starts(record: &mut Record, owner: Owner, key: Key, now: Time) {
    record.note_start(owner, now);
    if let Some(turns) = &mut record.turns {
        turns.start(key);
    }
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
        starts(record, owner, mine.0, now);
        Outcome::Claimed
    };
    record.put_entry(entry);
    outcome
}

fn hold(record: &mut Record, owner: Owner, ask: Hold, now: Time) -> Outcome {
    if record.held() >= u64::from(record.setting.max_waiting) {
        return Outcome::HoldsFull;
    }
    if certain_start(record, now, 0) > ask.until {
        return Outcome::HoldTooLate;
    }
    if !record.recent.take_retry(ask.allowance, now) {
        return Outcome::RetriesSpent;
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

    use super::super::bucket::Pace;
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
        Record::new(1, 2, setting(cap), Time(0))
    }

    fn setting(cap: u32) -> Setting {
        Setting {
            hash: u64::from(cap),
            cap,
            max_waiting: 3,
            pace: Pace::UNBOUND,
        }
    }

    fn standing(running: u32, fresh: u32, head: u64) -> Standing {
        let head = if fresh == 0 { Key::LAST } else { Key::at(head) };
        Standing {
            running,
            fresh,
            head,
            ..Standing::NONE
        }
    }

    fn arrival(record: &Record, key: u64) -> Event {
        Event::Arrive(Arrival {
            arrived: key,
            order: Order::Arrival,
            no_wait: false,
            until: Time::NEVER,
            setting: record.setting,
            connection: 0,
        })
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
        let full = |position| {
            Outcome::Refuse(Refuse {
                why: Why::QueueFull,
                position,
                expected: None,
            })
        };
        let waits = |key| Outcome::Wait { key: Key::at(key) };
        assert_eq!(
            outcomes,
            [
                Outcome::Start,
                Outcome::Start,
                waits(2),
                waits(3),
                waits(4),
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
        assert_eq!(
            (change.outcome, change.wake),
            (Outcome::Wait { key: Key::at(30) }, vec![1])
        );
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
            let event = Event::Arrive(Arrival {
                arrived: 1,
                order: Order::Arrival,
                no_wait: true,
                until: Time::NEVER,
                setting: setting(cap),
                connection,
            });
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
            seen: 0,
        };
        let change = send(&mut record, A, standing(1, 2, 1), configure);
        assert_eq!((change.wake, record.in_flight()), (vec![0], 3));
        let old = Event::Arrive(Arrival {
            arrived: 3,
            order: Order::Arrival,
            no_wait: false,
            until: Time::NEVER,
            setting: setting(1),
            connection: 9,
        });
        send(&mut record, B, Standing::NONE, old);
        assert_eq!(record.setting.cap, 3);
    }

    #[test]
    fn a_lowered_cap_grants_nothing_until_enough_has_ended() {
        let mut record = gate(3);
        send(&mut record, A, standing(3, 1, 1), Event::Report);
        let configure = Event::Configure {
            setting: setting(1),
            seen: 0,
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

    /// A call that may be held for ever, at a gate that allows any number of retries.
    const ANY: Hold = Hold {
        until: Time::NEVER,
        allowance: Allowance {
            percent: 0,
            per_second: 1000,
        },
    };

    #[test]
    fn holds_are_bounded_by_themselves() {
        let mut record = gate(0);
        let mut outcomes = Vec::new();
        for held in 0..4 {
            let mine = Standing {
                held,
                ..Standing::NONE
            };
            outcomes.push(send(&mut record, A, mine, Event::Hold(ANY)).outcome);
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

    #[test]
    fn holds_are_bounded_by_the_calls_that_came() {
        let mut record = gate(2);
        let mut mine = Standing::NONE;
        for key in 0..7 {
            // Two run, three wait, and two are refused: those do not count.
            let event = arrival(&record, key);
            send(&mut record, A, mine, event);
            mine = record.entry(0).expect("entry").standing;
        }
        let half = Hold {
            allowance: Allowance {
                percent: 50,
                per_second: 0,
            },
            ..ANY
        };
        let event = Event::Hold(half);
        let outcomes = [0, 1, 2].map(|held| {
            let mine = Standing { held, ..mine };
            send(&mut record, A, mine, event).outcome
        });
        assert_eq!(
            outcomes,
            [Outcome::Held, Outcome::Held, Outcome::RetriesSpent]
        );
    }

    #[test]
    fn calls_that_came_past_no_gate_half_count_too() {
        let mut record = gate(0);
        let mine = Statement {
            tally: Tally {
                unannounced: 2,
                ..Tally::default()
            },
            ..Statement::from(Standing::NONE)
        };
        let half = Hold {
            allowance: Allowance {
                percent: 50,
                per_second: 0,
            },
            ..ANY
        };
        let change = apply(&mut record, A, mine, Event::Hold(half), Time(0));
        assert_eq!(change.expect("not fenced").outcome, Outcome::Held);
    }

    #[test]
    fn l10_a_hold_that_the_pace_cannot_let_go_in_time_is_refused() {
        for (until, outcome) in [(999, Outcome::HoldTooLate), (1000, Outcome::Held)] {
            let mut record = paced(0, 1, 1);
            let event = arrival(&record, 0);
            send(&mut record, A, Standing::NONE, event);
            let ask = Hold {
                until: Time(until * 1_000_000),
                ..ANY
            };
            let change = send(&mut record, A, Standing::NONE, Event::Hold(ask));
            assert_eq!(change.outcome, outcome, "{until}");
        }
    }

    const SECOND: u64 = 1_000_000_000;

    fn paced(cap: u32, per_second: u64, burst: u32) -> Record {
        let pace = Pace {
            rate: per_second * SECOND,
            burst,
            ramp: None,
            learns: false,
        };
        let setting = Setting {
            pace,
            ..setting(cap)
        };
        Record::new(1, 2, setting, Time(0))
    }

    #[test]
    fn l7_slot_and_permit_come_in_one_grant_and_the_record_says_when_next() {
        let mut record = paced(0, 2, 1);
        let event = arrival(&record, 0);
        let first = send(&mut record, A, Standing::NONE, event);
        assert_eq!((first.outcome, first.granted), (Outcome::Start, 1));
        let event = arrival(&record, 1);
        let second = send(&mut record, A, standing(1, 0, 0), event);
        assert_eq!(second.outcome, Outcome::Wait { key: Key::at(1) });
        assert_eq!(second.next_at, Some(Time(SECOND / 2)));
        let mine = standing(1, 1, 1);
        let early = apply(&mut record, A, mine, Event::Report, Time(SECOND / 2 - 1));
        assert_eq!(early.expect("not fenced").granted, 0);
        let due = apply(&mut record, A, mine, Event::Report, Time(SECOND / 2)).expect("not fenced");
        assert_eq!((due.granted, due.wake, due.next_at), (1, vec![0], None));
    }

    #[test]
    fn l8_a_grant_whose_waiter_left_gives_the_permit_back_too() {
        let mut record = paced(0, 1, 1);
        send(&mut record, A, standing(0, 1, 1), Event::Report);
        assert_eq!(record.entry(0).expect("entry").granted, 1);
        // It goes, and somebody else comes: no second passes in between.
        send(&mut record, A, Standing::NONE, Event::Report);
        let event = arrival(&record, 2);
        let change = send(&mut record, B, Standing::NONE, event);
        assert_eq!(change.outcome, Outcome::Start);
    }

    #[test]
    fn l8_a_start_that_never_became_an_attempt_is_not_owed() {
        let mut record = paced(0, 1, 1);
        let event = arrival(&record, 0);
        send(&mut record, A, Standing::NONE, event);
        let said = Statement {
            tally: Tally {
                unstarted: 1,
                ..Tally::default()
            },
            ..Statement::from(Standing::NONE)
        };
        apply(&mut record, A, said, Event::Report, Time(0)).expect("not fenced");
        let event = arrival(&record, 1);
        assert_eq!(
            send(&mut record, B, Standing::NONE, event).outcome,
            Outcome::Start
        );
    }

    #[test]
    fn a_full_gate_has_no_time_to_wait_for() {
        let mut record = paced(1, 1, 1);
        send(&mut record, A, standing(1, 0, 0), Event::Report);
        let event = arrival(&record, 1);
        let change = send(&mut record, A, standing(1, 0, 0), event);
        assert_eq!(change.next_at, None);
    }

    #[test]
    fn l10_what_cannot_start_in_time_is_refused_at_once() {
        let mut record = paced(0, 1, 1);
        let mut mine = Standing::NONE;
        let mut outcomes = Vec::new();
        for key in 0..4 {
            let Event::Arrive(arrival) = arrival(&record, key) else {
                continue;
            };
            let event = Event::Arrive(Arrival {
                until: Time(2 * SECOND),
                ..arrival
            });
            outcomes.push(send(&mut record, A, mine, event).outcome);
            mine = record.entry(0).expect("entry").standing;
        }
        let late = Refuse {
            why: Why::TooLate {
                start: Time(3 * SECOND),
            },
            position: 3,
            expected: Some(Duration::from_secs(3)),
        };
        assert_eq!(
            outcomes,
            [
                Outcome::Start,
                Outcome::Wait { key: Key::at(1) },
                Outcome::Wait { key: Key::at(2) },
                Outcome::Refuse(late),
            ]
        );
    }

    #[test]
    fn l6_a_slower_configuration_keeps_what_is_owed() {
        let mut record = paced(0, 10, 1);
        let event = arrival(&record, 0);
        send(&mut record, A, Standing::NONE, event);
        let configure = Event::Configure {
            setting: paced(0, 1, 1).setting,
            seen: 0,
        };
        let change = send(&mut record, A, standing(1, 1, 1), configure);
        assert_eq!(change.next_at, Some(Time(SECOND)));
    }
}
