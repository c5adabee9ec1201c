//! All gates this worker is a member of, and its way to their shared records.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use super::line::{CallId, Kind, Line};
use super::member::{Member, Settled};
use super::post::Post;
use super::registry::{create, find, read};
use super::timetable::Timetable;
use crate::core::gate::exchange::{Exchange, ExchangeError, Want};
use crate::core::gate::grant::STALE;
use crate::core::gate::table::Place;
use crate::core::gate::{Arrival, Entry, Key, Owner, Record, Refuse, Setting, Why};
use crate::core::time::Time;
use crate::port::{Expect, Host, Level, Stored};

/// How long a grant may lie before a tick takes it although no wake-up came: wake-ups take well under
/// a millisecond, so this one is lost.
const LOST: Duration = Duration::from_millis(100);

/// Gates looked after in one tick; the next tick goes on where this one stopped. Nothing that is
/// looked for there is a matter of one tick.
const LOOKED_AFTER: usize = 32;

/// What happened in shared state that operators should know of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Writes that another worker beat.
    pub cas_conflicts: u64,
    /// Events that gave up after too many of them and will be said again.
    pub cas_exhausted: u64,
    /// Calls that came under the overflow gate.
    pub overflow: u64,
    /// Changes of the limits in force that came with a call.
    pub config_flaps: u64,
}

/// This worker's gates.
#[derive(Debug, Default)]
pub struct Gates {
    post: Post,
    places: BTreeMap<u128, Place>,
    members: BTreeMap<Place, Member>,
    trouble: Trouble,
    timetable: Timetable,
    /// Since when a grant was seen to lie unclaimed.
    unclaimed: BTreeMap<Place, Time>,
    /// The gate that was looked after last.
    looked_after: Option<Place>,
    /// A report failed and has to be repeated.
    is_behind: bool,
}

impl Gates {
    /// Finds or makes the gate of a key. `None` if shared data cannot be used.
    pub fn place(
        &mut self,
        host: &impl Host,
        now: Time,
        identity: u128,
        policy: u64,
        setting: Setting,
        max_keys: u16,
    ) -> Option<Place> {
        if let Some(place) = self.places.get(&identity) {
            return Some(*place);
        }
        let fresh = Record::new(identity, policy, setting, now);
        let place = match find(host, &fresh, max_keys).ok()? {
            Some(place) => place,
            None => {
                // The key is not remembered: such keys are without number.
                self.trouble.overflow += 1;
                return self.overflow(host, now, policy, setting);
            }
        };
        self.places.insert(identity, place);
        self.members.entry(place).or_default();
        Some(place)
    }

    /// The gate that a policy's keys share when there are too many. Each policy has its own, beyond
    /// the bound on keys, since a gate has one cap; only a table without room makes policies share.
    fn overflow(
        &mut self,
        host: &impl Host,
        now: Time,
        policy: u64,
        setting: Setting,
    ) -> Option<Place> {
        let identity = u128::from(policy);
        if let Some(place) = self.places.get(&identity) {
            return Some(*place);
        }
        let fresh = Record::new(identity, policy, setting, now);
        let place = match find(host, &fresh, u16::MAX).ok()? {
            Some(place) => place,
            None => {
                let shared = Record {
                    identity: 0,
                    ..fresh
                };
                create(host, Place::OVERFLOW, &shared).ok()?;
                // Neither to be made nor there: nothing to remember.
                read(host, Place::OVERFLOW)?;
                Place::OVERFLOW
            }
        };
        self.places.insert(identity, place);
        self.members.entry(place).or_default();
        Some(place)
    }

    /// Asks for a slot for a new call.
    pub fn arrive(
        &mut self,
        host: &impl Host,
        now: Time,
        place: Place,
        call: CallId,
        arrival: Arrival,
    ) -> Settled {
        let settled = self.exchange(host, now, place, Some(call), |member, owner| {
            Some(member.arrive(owner, arrival))
        });
        if settled == Settled::Failed(ExchangeError::Conflicts) {
            if arrival.no_wait {
                return Settled::Refused(Refuse {
                    why: Why::NoWait { for_slot: true },
                    position: 1,
                    expected: None,
                });
            }
            // It waits here, and the next report says so.
            self.is_behind = true;
            let arrived = arrival.arrived;
            let line = self.line_mut(place);
            let rank = line.last().map_or(arrived, |last| last.rank);
            let key = Key { rank, arrived };
            line.wait(key, call, Kind::Fresh);
            return Settled::Waits(key);
        }
        settled
    }

    /// Takes one slot that was granted to this worker's oldest waiter.
    pub fn claim(&mut self, host: &impl Host, now: Time, place: Place) -> Option<(CallId, Kind)> {
        loop {
            match self.exchange(host, now, place, None, |member, owner| member.claim(owner)) {
                Settled::Granted(call, kind) => {
                    self.unclaimed.remove(&place);
                    return Some((call, kind));
                }
                Settled::Handed => {}
                _ => return None,
            }
        }
    }

    /// Asks whether one more call may be held.
    pub fn hold(&mut self, host: &impl Host, now: Time, place: Place) -> bool {
        let settled = self.exchange(host, now, place, None, |member, owner| {
            Some(member.hold(owner))
        });
        settled == Settled::Held
    }

    /// Tells the gate how this worker's line stands.
    pub fn report(&mut self, host: &impl Host, now: Time, place: Place) {
        self.exchange(host, now, place, None, |member, owner| {
            Some(member.report(owner))
        });
    }

    /// Puts a new configuration's limits in force.
    pub fn configure(
        &mut self,
        host: &impl Host,
        now: Time,
        place: Place,
        setting: Setting,
        seen: u64,
    ) {
        self.exchange(host, now, place, None, |member, owner| {
            Some(member.configure(owner, setting, seen))
        });
    }

    /// Makes the grants whose time has come.
    pub fn make_due_grants(&mut self, host: &impl Host, now: Time) {
        for place in self.timetable.take_due(now) {
            self.report(host, now, place);
        }
    }

    /// When the pace of any gate lets the next waiter start.
    pub fn next_due(&self) -> Option<Time> {
        self.timetable.next()
    }

    /// This worker's calls in a gate, to be changed; follow it with [`Gates::report`].
    pub fn line_mut(&mut self, place: Place) -> &mut Line {
        self.members.entry(place).or_default().line_mut()
    }

    /// Gates in which a call of this worker waits, as many as one tick looks after. Every one of
    /// them has its turn.
    pub fn take_waiting_places(&mut self) -> Vec<Place> {
        let members = &self.members;
        let waits = |place: &Place| members.get(place).is_some_and(|m| m.line().is_waiting());
        self.unclaimed.retain(|place, _| waits(place));
        let last = self.looked_after;
        let ahead = members.range((
            last.map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Unbounded,
        ));
        let behind = last
            .map(|last| members.range(..=last))
            .into_iter()
            .flatten();
        let all = ahead.chain(behind).map(|(place, _)| *place);
        let places: Vec<_> = all.filter(waits).take(LOOKED_AFTER).collect();
        self.looked_after = places.last().copied();
        places
    }

    /// Gates this worker has anything in.
    pub fn busy_places(&self) -> Vec<Place> {
        self.places_where(|member| !member.line().is_empty())
    }

    /// Says again what a gate has not heard yet.
    pub fn repeat_reports(&mut self, host: &impl Host, now: Time) {
        if std::mem::take(&mut self.is_behind) {
            for place in self.places_where(Member::is_unreported) {
                self.report(host, now, place);
            }
        }
    }

    /// Whether a gate has yet to hear something.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Looks after a gate in which this worker waits. True if a grant lies there whose wake-up was
    /// lost. If another worker is blocked, its grants are passed on.
    pub fn inspect(&mut self, host: &impl Host, now: Time, place: Place) -> bool {
        let Some(owner) = self.post.owner() else {
            return false;
        };
        let Some(record) = read(host, place) else {
            return false;
        };
        let lies_stale = |entry: &Entry| {
            entry.granted > 0 && entry.granted_at + STALE <= now && entry.owner.slot != owner.slot
        };
        // Usually nothing: whoever left less than is due has seen to it.
        let is_overdue = record.uncovered() > 0 && record.is_free(now);
        if is_overdue || record.entries.iter().any(lies_stale) {
            self.report(host, now, place);
        }
        // By this worker's own clock: the record's starts anew whenever the worker speaks.
        if record
            .entry(owner.slot)
            .is_none_or(|mine| mine.granted == 0)
        {
            self.unclaimed.remove(&place);
            return false;
        }
        let since = *self.unclaimed.entry(place).or_insert(now);
        now.since(since) >= LOST
    }

    /// Takes the wake-ups that have come: the gates to claim in.
    pub fn take_wakes(&mut self, host: &impl Host) -> BTreeSet<Place> {
        self.post.take(host)
    }

    /// Has this worker woken once more for a gate it has not finished with.
    pub fn wake_again(&mut self, host: &impl Host, place: Place) {
        if let Some(owner) = self.post.owner() {
            self.post.wake(host, owner.slot, place);
        }
    }

    /// Shows that this worker lives, and makes the calling root the one that is woken.
    pub fn heartbeat(&mut self, host: &impl Host) {
        if !self.post.heartbeat(host) {
            self.renew(host);
        }
    }

    /// Makes the calling root the one that is woken.
    pub fn listen(&mut self, host: &impl Host) {
        self.post.listen(host);
    }

    /// What went wrong since the last call.
    pub fn take_trouble(&mut self) -> Trouble {
        std::mem::take(&mut self.trouble)
    }

    fn places_where(&self, test: impl Fn(&Member) -> bool) -> Vec<Place> {
        let matching = self.members.iter().filter(|(_, member)| test(member));
        matching.map(|(place, _)| *place).collect()
    }

    /// The worker's slot is gone: everything it has is reported again under a new one.
    fn renew(&mut self, host: &impl Host) {
        self.is_behind = true;
        self.post.resign();
        self.post.register(host);
        for member in self.members.values_mut() {
            if !member.line().is_empty() {
                member.forget_reports();
            }
        }
    }

    fn exchange(
        &mut self,
        host: &impl Host,
        now: Time,
        place: Place,
        arriving: Option<CallId>,
        start: impl Fn(&Member, Owner) -> Option<Exchange>,
    ) -> Settled {
        let mut settled = Settled::Failed(ExchangeError::Unusable);
        for _ in 0..2 {
            let Some(owner) = self.post.register(host) else {
                self.is_behind = true;
                break;
            };
            let member = self.members.entry(place).or_default();
            let Some(exchange) = start(member, owner) else {
                return Settled::NoGrant;
            };
            let finished = self.carry(host, now, place, exchange);
            let member = self.members.entry(place).or_default();
            settled = member.settle(&finished, arriving);
            self.is_behind |= matches!(settled, Settled::Failed(_));
            if settled != Settled::Failed(ExchangeError::Fenced) {
                break;
            }
            self.renew(host);
        }
        settled
    }

    fn carry(
        &mut self,
        host: &impl Host,
        now: Time,
        place: Place,
        mut exchange: Exchange,
    ) -> Exchange {
        let name = place.name();
        loop {
            match exchange.want() {
                Want::Read => match host.shared_get(&name) {
                    Ok(Stored::Present { bytes, cas }) => exchange.read(Some((&bytes, cas)), now),
                    Ok(Stored::Absent) | Err(_) => exchange.read(None, now),
                },
                Want::Write { bytes, cas } => {
                    let result = host.shared_set(&name, bytes, Expect::Same(cas));
                    exchange.wrote(result.is_ok());
                }
                Want::Wake(slot) => {
                    self.post.wake(host, slot, place);
                    exchange.woke();
                }
                Want::Done(result) => {
                    self.trouble.cas_conflicts += u64::from(exchange.conflicts());
                    match result {
                        Ok(change) => {
                            self.trouble.config_flaps += u64::from(change.setting_changed);
                            self.timetable.set(place, change.next_at);
                            trace(host, now, place, change.granted);
                        }
                        Err(ExchangeError::Conflicts) => self.trouble.cas_exhausted += 1,
                        Err(ExchangeError::Fenced | ExchangeError::Unusable) => {}
                    }
                    return exchange;
                }
            }
        }
    }
}

/// Says in the trace that starts were granted.
fn trace(host: &impl Host, now: Time, place: Place, granted: u32) {
    if granted > 0 && host.is_tracing() {
        let (gate, at_ns) = (place.name(), now.0);
        host.log(
            Level::Trace,
            &format!(r#"{{"weir":"grant","gate":"{gate}","at_ns":{at_ns},"starts":{granted}}}"#),
        );
    }
}
