//! All gates this worker is a member of, and its way to their shared records.

use litemap::LiteMap;
use std::time::Duration;

use super::find::{find, make_at};
use super::line::{CallId, Kind, Line, Waiter};
use super::member::{Member, Settled};
use super::post::Post;
use super::registry::read;
use super::roster::{GateId, Home, Roster};
use super::sweep::Sweep;
use super::timetable::Timetable;
use super::watch::Watch;
use crate::core::gate::exchange::{Exchange, ExchangeError, Want};
use crate::core::gate::grant::STALE;
use crate::core::gate::table::Place;
use crate::core::gate::{
    Arrival, Entry, Hold, Keeps, Key, Owner, Record, Refuse, Setting, Sight, Why,
};
use crate::core::time::Time;
use crate::port::{Expect, Host, HostError, Level, Stored};

/// How long a grant may lie before a tick takes it although no wake-up came: wake-ups take well under
/// a millisecond, so this one is lost.
const LOST: Duration = Duration::from_millis(100);

/// Gates looked after in one tick; the next tick goes on where this one stopped. Nothing that is
/// looked for there is a matter of one tick.
const LOOKED_AFTER: usize = 32;

/// Reports repeated in one tick; the rest is for the next.
const REPEATED: usize = 64;

/// How often an event is sent if the worker has lost its slot, or the gate has moved, meanwhile.
const TURNS: u32 = 3;

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
    /// Workers that were given up.
    pub reaped: u64,
    /// Workers that were given up while they lived.
    pub reaped_alive: u64,
}

/// This worker's gates.
#[derive(Debug, Default)]
pub struct Gates {
    post: Post,
    watch: Watch,
    sweep: Sweep,
    roster: Roster,
    /// Where the last search for an idle gate ended.
    hand: Option<Place>,
    trouble: Trouble,
    timetable: Timetable,
    /// Since when grants were seen to lie unclaimed.
    unclaimed: LiteMap<GateId, Time>,
    /// The gate that was looked after last.
    looked_after: Option<GateId>,
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
    ) -> Option<GateId> {
        let fresh = Record::new(identity, policy, setting, now);
        if let Some(gate) = self.enter(host, now, &fresh, max_keys).ok()? {
            return Some(gate);
        }
        // The key is not remembered: such keys are without number.
        self.trouble.overflow += 1;
        self.overflow(host, now, fresh)
    }

    /// The gate that a policy's keys share when there are too many. Each policy has its own, beyond
    /// the bound on keys, since a gate has one cap; only a table without room makes policies share.
    fn overflow(&mut self, host: &impl Host, now: Time, fresh: Record) -> Option<GateId> {
        let own = Record {
            identity: u128::from(fresh.policy),
            ..fresh
        };
        if let Some(gate) = self.enter(host, now, &own, u16::MAX).ok()? {
            return Some(gate);
        }
        let shared = Record { identity: 0, ..own };
        make_at(host, Place::OVERFLOW, &shared).ok()?;
        Some(self.roster.enter(now, &shared, Place::OVERFLOW, u16::MAX))
    }

    /// The gate that `fresh` is a new record of. `None` if there is no room for it.
    fn enter(
        &mut self,
        host: &impl Host,
        now: Time,
        fresh: &Record,
        max_keys: u16,
    ) -> Result<Option<GateId>, HostError> {
        let gate = GateId(fresh.identity);
        if self.roster.using(gate, now).is_some() {
            return Ok(Some(gate));
        }
        let place = find(host, now, fresh, max_keys, &mut self.hand)?;
        Ok(place.map(|place| self.roster.enter(now, fresh, place, max_keys)))
    }

    /// Asks for a slot for a new call. Tells which gate it came to in the end, since there may be no
    /// room for its own any more.
    pub fn arrive(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: GateId,
        call: CallId,
        arrival: Arrival,
    ) -> (GateId, Settled) {
        let ask = |member: &Member, owner| Some(member.arrive(owner, arrival));
        let waiter = Waiter {
            call,
            kind: Kind::Fresh,
            until: arrival.until,
        };
        let about = Some((Key::at(arrival.arrived), waiter));
        let settled = self.exchange(host, now, gate, about, ask);
        if settled == Settled::Failed(ExchangeError::Moved)
            && let Some(shared) = self.leave_for_overflow(host, now, gate)
        {
            return (shared, self.exchange(host, now, shared, about, ask));
        }
        if settled == Settled::Failed(ExchangeError::Conflicts) {
            if arrival.no_wait {
                let refuse = Refuse {
                    why: Why::NoWait { keeps: Keeps::Slot },
                    position: 1,
                    expected: None,
                };
                return (gate, Settled::Refused(refuse));
            }
            // It waits here, and the next report says so.
            self.is_behind = true;
            let arrived = arrival.arrived;
            let line = self.line_mut(gate);
            let rank = line.last().map_or(arrived, |last| last.rank);
            let key = Key { rank, arrived };
            line.wait(key, waiter);
            return (gate, Settled::Waits(key));
        }
        (gate, settled)
    }

    /// Takes one slot that was granted to this worker's oldest waiter.
    pub fn claim(&mut self, host: &impl Host, now: Time, gate: GateId) -> Option<(CallId, Kind)> {
        self.unclaimed.remove(&gate);
        loop {
            match self.exchange(host, now, gate, None, |member, owner| member.claim(owner)) {
                Settled::Granted(call, kind) => {
                    return Some((call, kind));
                }
                Settled::Handed => {}
                _ => return None,
            }
        }
    }

    /// Asks whether one more call may be held.
    pub fn hold(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: GateId,
        key: Key,
        waiter: Waiter,
        ask: Hold,
    ) -> Settled {
        let about = Some((key, waiter));
        self.exchange(host, now, gate, about, |member, owner| {
            Some(member.hold(owner, ask))
        })
    }

    /// Tells the gate how this worker's line stands.
    pub fn report(&mut self, host: &impl Host, now: Time, gate: GateId) {
        self.exchange(host, now, gate, None, |member, owner| {
            Some(member.report(owner))
        });
    }

    /// Puts a new configuration's limits in force.
    pub fn configure(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: GateId,
        setting: Setting,
        seen: u64,
    ) {
        self.exchange(host, now, gate, None, |member, owner| {
            Some(member.configure(owner, setting, seen))
        });
    }

    /// Makes the grants whose time has come.
    pub fn make_due_grants(&mut self, host: &impl Host, now: Time) {
        for gate in self.timetable.take_due(now) {
            self.report(host, now, gate);
        }
    }

    /// When the pace of any gate lets the next waiter start.
    pub fn next_due(&self) -> Option<Time> {
        self.timetable.next()
    }

    /// This worker's calls in a gate, to be changed; follow it with [`Gates::report`].
    pub fn line_mut(&mut self, gate: GateId) -> &mut Line {
        self.roster.member_mut(gate).line_mut()
    }

    /// This worker's calls in a gate.
    pub fn line(&self, gate: GateId) -> Option<&Line> {
        self.roster.member(gate).map(Member::line)
    }

    /// A gate's recovery when this worker last spoke to it.
    pub fn sight(&self, gate: GateId) -> Sight {
        self.roster
            .member(gate)
            .map_or(Sight::default(), Member::sight)
    }

    /// An attempt that started in this epoch is answered, which is of no interest while all is well.
    pub fn decide(&mut self, gate: GateId, epoch: u32) {
        if self.roster.member(gate).is_some() {
            self.roster.member_mut(gate).decide(epoch);
        }
    }

    /// The record of a gate, as it is now.
    pub fn record(&self, host: &impl Host, gate: GateId) -> Option<Record> {
        let record = read(host, self.roster.place(gate)?)?;
        (record.identity == gate.0).then_some(record)
    }

    /// Gates in which a call of this worker waits, as many as one tick looks after. Every one of
    /// them has its turn.
    pub fn take_waiting_places(&mut self) -> Vec<GateId> {
        let roster = &self.roster;
        let waits = |gate: &GateId| roster.member(*gate).is_some_and(|m| m.line().is_waiting());
        self.unclaimed.retain(|gate, _| waits(gate));
        let all = roster.after(self.looked_after);
        let waiting = all.filter(|(_, member)| member.line().is_waiting());
        let gates: Vec<_> = waiting.map(|(gate, _)| gate).take(LOOKED_AFTER).collect();
        self.looked_after = gates.last().copied();
        gates
    }

    /// Gates this worker has anything in.
    pub fn busy_places(&self) -> Vec<GateId> {
        self.gates_where(|member| !member.line().is_empty())
    }

    /// Says again what a gate has not heard yet.
    pub fn repeat_reports(&mut self, host: &impl Host, now: Time) {
        if std::mem::take(&mut self.is_behind) {
            let unheard = self.gates_where(Member::is_unreported);
            self.is_behind = unheard.len() > REPEATED;
            for gate in unheard.into_iter().take(REPEATED) {
                self.report(host, now, gate);
            }
        }
    }

    /// Whether a gate has yet to hear something, or to be rid of what a dead worker had in it.
    pub fn is_behind(&self) -> bool {
        self.is_behind || self.sweep.is_going()
    }

    /// Looks after a gate in which this worker waits. True if a grant lies there whose wake-up was
    /// lost. If another worker is blocked, its grants are passed on.
    pub fn inspect(&mut self, host: &impl Host, now: Time, gate: GateId) -> bool {
        let Some(owner) = self.post.owner() else {
            return false;
        };
        let Some(record) = self.record(host, gate) else {
            // It gave way to another, or cannot be read.
            self.report(host, now, gate);
            return false;
        };
        let lies_stale = |entry: &Entry| {
            entry.granted > 0 && entry.granted_at + STALE <= now && entry.owner.slot != owner.slot
        };
        // Usually nothing: whoever left less than is due has seen to it.
        let is_overdue = record.uncovered() > 0 && record.is_free(now);
        if is_overdue || record.entries.iter().any(lies_stale) {
            self.report(host, now, gate);
        }
        if record
            .entry(owner.slot)
            .is_none_or(|mine| mine.granted == 0)
        {
            return false;
        }
        // By this worker's own clock: the record's starts anew whenever the worker speaks. And since
        // the first that it did not claim, even if that has passed on: where nobody is woken, grants
        // would pass from worker to worker before any of them looks twice.
        let since = *self.unclaimed.entry(gate).or_insert(now);
        now.since(since) >= LOST
    }

    /// Takes the wake-ups that have come: the gates to claim in.
    pub fn take_wakes(&mut self, host: &impl Host) -> Vec<GateId> {
        let places = self.post.take(host).into_iter();
        places.filter_map(|place| self.roster.at(place)).collect()
    }

    /// Has this worker woken once more for a gate it has not finished with.
    pub fn wake_again(&mut self, host: &impl Host, gate: GateId) {
        if let Some(owner) = self.post.owner()
            && let Some(place) = self.roster.place(gate)
        {
            self.post.wake(host, owner.slot, place);
        }
    }

    /// Shows that this worker lives, and makes the calling root the one that is woken.
    pub fn heartbeat(&mut self, host: &impl Host, now: Time) {
        if !self.post.heartbeat(host, now) {
            self.renew(host, now);
        }
    }

    /// Looks whether other workers live.
    pub fn watch(&mut self, host: &impl Host, now: Time) {
        let sight = self.watch.look(host, now);
        self.trouble.reaped += sight.reaped;
        self.sweep.begin(host, now, sight);
    }

    /// Goes on taking out of the gates what the dead had.
    pub fn sweep(&mut self, host: &impl Host, now: Time) {
        let mut sweep = std::mem::take(&mut self.sweep);
        sweep.go_on(host, |place, exchange| {
            self.carry(host, now, None, place, exchange)
        });
        self.sweep = sweep;
    }

    /// What went wrong since the last call.
    pub fn take_trouble(&mut self) -> Trouble {
        std::mem::take(&mut self.trouble)
    }

    fn gates_where(&self, test: impl Fn(&Member) -> bool) -> Vec<GateId> {
        let matching = self.roster.after(None).filter(|(_, member)| test(member));
        matching.map(|(gate, _)| gate).collect()
    }

    /// This worker was given up and lives: everything it has is reported again under a new name.
    fn renew(&mut self, host: &impl Host, now: Time) {
        self.trouble.reaped_alive += 1;
        self.is_behind = true;
        self.post.resign();
        self.post.register(host, now);
        for member in self.roster.members_mut() {
            if !member.line().is_empty() {
                member.forget_reports();
            }
        }
    }

    fn exchange(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: GateId,
        about: Option<(Key, Waiter)>,
        start: impl Fn(&Member, Owner) -> Option<Exchange>,
    ) -> Settled {
        let mut settled = Settled::Failed(ExchangeError::Unusable);
        if self.post.is_overdue(now) {
            self.heartbeat(host, now);
        }
        for _ in 0..TURNS {
            let Some(owner) = self.post.register(host, now) else {
                self.is_behind = true;
                break;
            };
            let Some(home) = self.roster.using(gate, now) else {
                return self.speak_of_forgotten(gate);
            };
            let Some(exchange) = start(self.roster.member_mut(gate), owner) else {
                return Settled::NoGrant;
            };
            let exchange = exchange.within(gate.0);
            let finished = self.carry(host, now, Some(gate), home.place, exchange);
            settled = self.roster.member_mut(gate).settle(&finished, about);
            match settled {
                Settled::Failed(ExchangeError::Fenced) => self.renew(host, now),
                Settled::Failed(ExchangeError::Moved) => {
                    let is_empty = self.roster.member_mut(gate).line().is_empty();
                    if is_empty && about.is_none() {
                        self.forget(gate);
                        return Settled::Reported;
                    }
                    if !self.find_again(host, now, gate, home, is_empty) {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.is_behind |= matches!(settled, Settled::Failed(_));
        settled
    }

    /// The gate has given way to another: it is looked for, or made, anew. What this worker has in it
    /// does not wait until there is room for one more key.
    fn find_again(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: GateId,
        home: Home,
        is_empty: bool,
    ) -> bool {
        let fresh = Record::new(gate.0, home.policy, home.setting, now);
        let max_keys = if is_empty { home.max_keys } else { u16::MAX };
        match find(host, now, &fresh, max_keys, &mut self.hand) {
            Ok(Some(place)) => {
                self.roster.enter(now, &fresh, place, home.max_keys);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// A gate gave way to another and there is no room for it now: the one for what has no room.
    fn leave_for_overflow(&mut self, host: &impl Host, now: Time, gate: GateId) -> Option<GateId> {
        let home = self.roster.using(gate, now)?;
        self.forget(gate);
        self.trouble.overflow += 1;
        let fresh = Record::new(gate.0, home.policy, home.setting, now);
        self.overflow(host, now, fresh)
    }

    fn forget(&mut self, gate: GateId) {
        self.roster.forget(gate);
        self.timetable.set(gate, None);
        self.unclaimed.remove(&gate);
    }

    /// A gate was forgotten, so long was it unused, and one of its calls had a late attempt that Envoy
    /// started on its own: the attempt goes uncounted.
    fn speak_of_forgotten(&mut self, gate: GateId) -> Settled {
        if self.roster.member_mut(gate).line().is_empty() {
            self.forget(gate);
        }
        Settled::Failed(ExchangeError::Moved)
    }

    fn carry(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: Option<GateId>,
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
                            // Who clears up after the dead need not have a slot to grant from.
                            if let Some(gate) = gate {
                                self.timetable.set(gate, change.next_at);
                            }
                            trace(host, now, place, change.granted);
                        }
                        Err(ExchangeError::Conflicts) => self.trouble.cas_exhausted += 1,
                        Err(
                            ExchangeError::Fenced | ExchangeError::Moved | ExchangeError::Unusable,
                        ) => {}
                    }
                    return exchange;
                }
            }
        }
    }
}

/// Says in the trace that starts were granted, or given back.
fn trace(host: &impl Host, now: Time, place: Place, granted: i64) {
    if granted != 0 && host.is_tracing() {
        let (gate, at_ns) = (place.name(), now.0);
        host.log(
            Level::Trace,
            &format!(r#"{{"weir":"grant","gate":"{gate}","at_ns":{at_ns},"starts":{granted}}}"#),
        );
    }
}
