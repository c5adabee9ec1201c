//! Workers, their shared record, and every step one of them may take next.
//!
//! Each worker is the product's own [`Member`] and at most one [`Exchange`]; the store has the exact
//! semantics of shared data: a write succeeds only if nobody wrote since the read. Two steps are
//! taken early because nobody else can tell: an event that touches only its worker is one step with
//! the read that follows it, and a write that is bound to fail fails at once.

use std::hash::Hash;

use weir::core::gate::exchange::{Exchange, ExchangeError, Want};
use weir::core::gate::grant::STALE;
use weir::core::gate::recovery::Stage;
use weir::core::gate::{
    Allowance, Arrival, Change, Entry, Hold, Key, Order, Outcome, Pace, Record, Setting,
};
use weir::core::time::Time;
use weir::core::wait::{CallId, Kind, Member, Settled};

use crate::fingerprint::Fingerprint;
use crate::laws::{self, Broken, Law};
use crate::owners::{Seat, Sweep};
use crate::scope::{Grain, Scope};
use crate::worker::{Errand, Phase, Task, Worker, oldest, waiter};

/// Held calls are in no hurry here, and may all try again.
const HOLD: Hold = Hold {
    until: Time::NEVER,
    allowance: Allowance {
        percent: 100,
        per_second: 100,
    },
};

/// One step of one worker, or of the world around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Arrive(usize),
    Leave(usize),
    End(usize),
    Refuse(usize),
    Hold(usize),
    Ready(usize),
    /// The provider answers a call, and not with a refusal.
    Accept(usize),
    /// Time passes until the gate may open.
    Wait,
    /// A worker looks at the gate at the time that it was told.
    Due,
    Configure,
    Proceed,
    Hear,
    HearTwice,
    Lose,
    Tick,
    Notice,
    Jump,
    Die,
    /// The worker's slot is taken from it, whether it lives or not.
    Reap,
    /// What the given-up had is taken out of the gate.
    Sweep,
    /// Whoever did so dies over it.
    Cut,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    pub record: Record,
    pub workers: Vec<Worker>,
    pub seats: Vec<Seat>,
    pub sweep: Option<Sweep>,
    pub now: Time,
    pub duplicates: u8,
    pub jumps: u8,
    pub reaps: u8,
    pub deaths: u8,
    pub cuts: u8,
}

/// The number every read is told; who may write is tracked by failing doomed writes at once.
const CAS: u32 = 7;

impl World {
    pub fn new(scope: &Scope) -> World {
        let workers = (0..scope.workers())
            .map(|at| Worker {
                names: Vec::new(),
                member: Member::default(),
                calls: vec![Phase::New; scope.keys[at].len()],
                epochs: vec![0; scope.keys[at].len()],
                undecided: 0,
                next_at: None,
                task: None,
                known: 0,
                grants: Vec::new(),
                is_configured: false,
                is_dead: false,
            })
            .collect();
        let mut world = World {
            record: Record::new(1, 1, scope.setting, Time(0)),
            workers,
            seats: Vec::new(),
            sweep: None,
            now: Time(0),
            duplicates: scope.duplicates,
            jumps: scope.jumps,
            reaps: scope.reaps,
            deaths: scope.deaths,
            cuts: scope.cuts,
        };
        for at in 0..scope.workers() - usize::from(scope.late) {
            world.take_seat(at);
        }
        world
    }

    /// Everything that may happen next.
    pub fn steps(&self, scope: &Scope, steps: &mut Vec<(usize, Step)>) {
        steps.clear();
        if self.jumps > 0 {
            steps.push((0, Step::Jump));
        }
        if self.opens_at().is_some_and(|at| at > self.now) {
            steps.push((0, Step::Wait));
        }
        self.death_steps(steps);
        for (at, worker) in self.workers.iter().enumerate() {
            if worker.is_dead {
                continue;
            }
            if worker.task.is_some() {
                steps.push((at, Step::Proceed));
                continue;
            }
            if self.is_woken(at) {
                steps.push((at, Step::Hear));
                if self.duplicates > 0 {
                    steps.push((at, Step::HearTwice));
                }
                if scope.lossy {
                    steps.push((at, Step::Lose));
                }
            }
            if scope.has_ticks() && self.has_work_for_tick(at) {
                steps.push((at, Step::Tick));
            }
            if self.is_lost(at) {
                steps.push((at, Step::Notice));
            }
            if self.is_due(at) {
                steps.push((at, Step::Due));
            }
            if scope.configure.is_some() && !worker.is_configured {
                steps.push((at, Step::Configure));
            }
            self.call_steps(scope, at, steps);
        }
    }

    fn call_steps(&self, scope: &Scope, at: usize, steps: &mut Vec<(usize, Step)>) {
        let mut has_arrival = false;
        let is_recovering = self.workers[at].member.sight().is_recovering;
        for (call, phase) in self.workers[at].calls.iter().enumerate() {
            match phase {
                Phase::New if !has_arrival => {
                    has_arrival = true;
                    steps.push((at, Step::Arrive(call)));
                }
                Phase::New | Phase::Gone => {}
                phase if phase.runs() && is_recovering && self.workers[at].is_undecided(call) => {
                    steps.push((at, Step::Accept(call)));
                    steps.push((at, Step::End(call)));
                    if *phase == Phase::Running && scope.is_refused(at, call) {
                        steps.push((at, Step::Refuse(call)));
                    }
                }
                Phase::Waiting | Phase::WaitingAgain => steps.push((at, Step::Leave(call))),
                Phase::Running => {
                    steps.push((at, Step::End(call)));
                    if scope.is_refused(at, call) {
                        steps.push((at, Step::Refuse(call)));
                    }
                }
                Phase::RunningAgain => steps.push((at, Step::End(call))),
                Phase::Refused => {
                    steps.push((at, Step::Hold(call)));
                    steps.push((at, Step::Leave(call)));
                }
                Phase::Held => {
                    steps.push((at, Step::Ready(call)));
                    steps.push((at, Step::Leave(call)));
                }
            }
        }
    }

    /// A tick with nothing to say and nothing to fetch changes nothing, so it is no step.
    fn has_work_for_tick(&self, at: usize) -> bool {
        let entry = self.entry(at);
        self.workers[at].member.is_unreported()
            || entry.is_some_and(|entry| entry.granted > 0 || entry.stalled)
            || self.is_overdue(at)
    }

    /// A worker that waits finds with a tick that time allows a start.
    fn is_overdue(&self, at: usize) -> bool {
        let waits = self.entry(at).is_some_and(|entry| entry.uncovered() > 0);
        waits && self.record.is_free(self.now)
    }

    /// Takes one step and checks what the laws say about it.
    pub fn take(&mut self, scope: &Scope, at: usize, step: Step) -> Result<(), Broken> {
        let has_news = self.workers[at].member.is_unreported() || self.is_overdue(at);
        let worker = &mut self.workers[at];
        match step {
            Step::Proceed => return self.proceed(scope, at),
            Step::Jump => {
                self.jumps -= 1;
                self.now = self.now + STALE;
                return Ok(());
            }
            Step::Die | Step::Reap | Step::Sweep | Step::Cut => return self.death(scope, at, step),
            Step::Lose => {
                self.seat_of(at).wakes -= 1;
                return Ok(());
            }
            Step::HearTwice => {
                self.duplicates -= 1;
                return self.begin(scope, at, Errand::Claim, None);
            }
            Step::Hear => {
                self.seat_of(at).wakes -= 1;
                return self.begin(scope, at, Errand::Claim, None);
            }
            Step::Tick if has_news => {
                return self.begin(scope, at, Errand::Report, Some(Errand::Claim));
            }
            Step::Tick => return self.begin(scope, at, Errand::Claim, None),
            Step::Notice => {
                self.renew(at);
                if !self.workers[at].member.is_unreported() {
                    return laws::check_state(scope, self);
                }
            }
            Step::Configure => {
                worker.is_configured = true;
                return self.begin(scope, at, Errand::Configure, None);
            }
            Step::Wait => {
                self.now = self.opens_at().expect("a gate that opens");
                return Ok(());
            }
            Step::Due => worker.next_at = None,
            Step::Accept(call) => worker.accept(call),
            Step::Arrive(call) => return self.begin(scope, at, Errand::Arrive(call), None),
            Step::Hold(call) => return self.begin(scope, at, Errand::Hold(call), None),
            Step::Leave(call) | Step::End(call) | Step::Refuse(call) | Step::Ready(call) => {
                if scope.pauses && matches!(step, Step::Refuse(_)) {
                    worker.refuse(call, self.now);
                }
                if !worker.change_line(scope.keys[at][call], call, step) {
                    return Ok(());
                }
            }
        }
        self.begin(scope, at, Errand::Report, None)
    }

    fn begin(
        &mut self,
        scope: &Scope,
        at: usize,
        errand: Errand,
        next: Option<Errand>,
    ) -> Result<(), Broken> {
        if self.workers[at].names.is_empty() {
            self.take_seat(at);
        } else if self.is_lost(at) {
            // It has not shown for long that it lives, so it looks before it speaks. Only what it
            // was in the middle of goes on under the name that it has lost.
            self.renew(at);
        }
        self.prepare(scope, at, errand, next);
        if self.workers[at].task.is_none() {
            return laws::check_state(scope, self);
        }
        self.proceed(scope, at)
    }

    /// Sets up an errand, or what follows it if it has no point.
    fn prepare(&mut self, scope: &Scope, at: usize, errand: Errand, next: Option<Errand>) {
        let exchange = self.compose(scope, at, errand);
        let worker = &mut self.workers[at];
        match exchange {
            Some(exchange) => {
                worker.task = Some(Task {
                    errand,
                    exchange,
                    read_at: Time(0),
                    next,
                });
            }
            None => {
                if let Some(next) = next {
                    self.prepare(scope, at, next, None);
                }
            }
        }
    }

    fn compose(&self, scope: &Scope, at: usize, errand: Errand) -> Option<Exchange> {
        let worker = &self.workers[at];
        let (setting, connection) = match scope.configure {
            Some(setting) if worker.is_configured => (setting, 1),
            _ => (scope.setting, 0),
        };
        let (member, owner) = (&worker.member, worker.owner()?);
        Some(match errand {
            Errand::Report => member.report(owner),
            Errand::Claim => return member.claim(owner),
            Errand::Hold(_) => member.hold(owner, HOLD),
            Errand::Configure => member.configure(owner, setting, 0),
            Errand::Arrive(call) => member.arrive(
                owner,
                Arrival {
                    arrived: scope.keys[at][call],
                    order: Order::Arrival,
                    no_wait: scope.is_no_wait(at, call),
                    until: Time::NEVER,
                    setting,
                    connection,
                },
            ),
        })
    }

    fn proceed(&mut self, scope: &Scope, at: usize) -> Result<(), Broken> {
        loop {
            self.host_call(scope, at)?;
            if let Some(task) = &self.workers[at].task
                && matches!(task.exchange.want(), Want::Done(_))
            {
                self.finish(scope, at)?;
                break;
            }
            if scope.grain == Grain::HostCall {
                break;
            }
        }
        laws::check_state(scope, self)
    }

    /// One host call: a read, a write, or one wake-up.
    fn host_call(&mut self, scope: &Scope, at: usize) -> Result<(), Broken> {
        let now = self.now;
        let mut task = self.workers[at].task.take().expect("a task in progress");
        match task.exchange.want() {
            Want::Read => {
                task.read_at = now;
                task.exchange.read(Some((&self.record.encode(), CAS)), now);
                if !matches!(task.exchange.want(), Want::Write { .. }) {
                    let record = self.record.clone();
                    self.decided(scope, at, &task, &record)?;
                }
            }
            Want::Write { bytes, cas } => {
                if cas != CAS {
                    return Err(Law::Store.broken("the write names a number that was not read"));
                }
                let after = Record::decode(bytes).expect("a record this code wrote");
                let before = std::mem::replace(&mut self.record, after);
                task.exchange.wrote(true);
                self.decided(scope, at, &task, &before)?;
                self.fail_doomed(scope, Some(at));
            }
            Want::Wake(slot) => {
                task.exchange.woke();
                self.wake(slot);
            }
            Want::Done(_) => {}
        }
        self.workers[at].task = Some(task);
        Ok(())
    }

    /// The event is in the record, or found nothing to write.
    fn decided(
        &mut self,
        scope: &Scope,
        at: usize,
        task: &Task,
        before: &Record,
    ) -> Result<(), Broken> {
        let Some(change) = change_of(&task.exchange) else {
            return Ok(());
        };
        let worker = &mut self.workers[at];
        worker.known = match (task.errand, change.outcome) {
            (Errand::Arrive(call), Outcome::Wait { .. }) => worker.waiters() | 1 << call,
            (Errand::Claim, Outcome::Claimed) => {
                worker.waiters() & !(1 << oldest(worker, &scope.keys[at]))
            }
            _ => worker.waiters(),
        };
        let started = match (task.errand, change.outcome) {
            (Errand::Arrive(call), Outcome::Start) => Some(scope.keys[at][call]),
            (Errand::Claim, Outcome::Claimed) => {
                Some(scope.keys[at][oldest(worker, &scope.keys[at])])
            }
            _ => None,
        };
        laws::check_revoked(self, Some(at), before, task.read_at)?;
        self.date_grants(task.read_at, task.errand == Errand::Claim);
        laws::check_commit(scope, self, at, before, started)
    }

    /// Notes when grants were made. The oldest is claimed first; one that is given back is the newest.
    pub fn date_grants(&mut self, now: Time, is_claim: bool) {
        for at in 0..self.workers.len() {
            let granted = self.entry(at).map_or(0, |entry| entry.granted as usize);
            let grants = &mut self.workers[at].grants;
            if is_claim && grants.len() > granted {
                grants.remove(0);
            }
            grants.resize(granted, now);
        }
    }

    /// Writes that are bound to fail, because the record changed since their read, fail now.
    pub fn fail_doomed(&mut self, scope: &Scope, writer: Option<usize>) {
        for at in 0..self.workers.len() {
            let Some(mut task) = self.workers[at].task.take() else {
                continue;
            };
            if Some(at) != writer && matches!(task.exchange.want(), Want::Write { .. }) {
                task.exchange.wrote(false);
                if task.exchange.want() == Want::Read {
                    // The count of tries matters only at its bound, which no run here reaches.
                    task.read_at = Time(0);
                    task.exchange = self
                        .compose(scope, at, task.errand)
                        .expect("an errand begun");
                }
            }
            self.workers[at].task = Some(task);
        }
        if writer.is_some()
            && let Some(sweep) = &mut self.sweep
        {
            sweep.fail_doomed();
        }
    }

    pub fn wake(&mut self, slot: u16) {
        if let Some(seat) = self.seats.get_mut(usize::from(slot)) {
            seat.wakes += 1;
        }
    }

    fn finish(&mut self, scope: &Scope, at: usize) -> Result<(), Broken> {
        let worker = &mut self.workers[at];
        let task = worker.task.take().expect("a task in progress");
        let about = |call: usize, kind| (Key::at(scope.keys[at][call]), waiter(call, kind));
        let about = match task.errand {
            Errand::Arrive(call) => Some(about(call, Kind::Fresh)),
            Errand::Hold(call) => Some(about(call, Kind::Ready)),
            _ => None,
        };
        let settled = worker.member.settle(&task.exchange, about);
        if let Want::Done(Ok(change)) = task.exchange.want() {
            worker.next_at = change.next_at;
        }
        let mut next = task.next;
        match (task.errand, settled) {
            (Errand::Arrive(call), Settled::Started) => {
                worker.start(call, Phase::Running);
            }
            (Errand::Arrive(call), Settled::Waits(_)) => worker.calls[call] = Phase::Waiting,
            (Errand::Arrive(call), Settled::Refused(_)) => {
                worker.calls[call] = Phase::Gone;
            }
            (Errand::Hold(call), Settled::Held) => worker.calls[call] = Phase::Held,
            (Errand::Hold(call), Settled::HoldsFull) => worker.calls[call] = Phase::Gone,
            (Errand::Claim, Settled::Granted(CallId(call), kind)) => {
                let call = usize::try_from(call).expect("few calls");
                let phase = match kind {
                    Kind::Fresh => Phase::Running,
                    Kind::Ready => Phase::RunningAgain,
                };
                worker.start(call, phase);
                next = Some(Errand::Claim);
            }
            (Errand::Claim, Settled::Handed) => next = Some(Errand::Claim),
            (Errand::Claim, Settled::NoGrant) => {}
            (Errand::Report | Errand::Configure, Settled::Reported) => {}
            (errand, Settled::Failed(ExchangeError::Fenced)) => {
                self.renew(at);
                self.prepare(scope, at, errand, next);
                return Ok(());
            }
            (errand, settled) => {
                return Err(Law::Store.broken(&format!("{errand:?} settled as {settled:?}")));
            }
        }
        if let Some(next) = next {
            self.prepare(scope, at, next, None);
        }
        Ok(())
    }

    /// A number that tells this world from others, good enough that two never share one.
    pub fn fingerprint(&self) -> u128 {
        let mut hasher = Fingerprint::new();
        self.record.setting.hash(&mut hasher);
        self.record.newest_connection.hash(&mut hasher);
        self.record.entries.hash(&mut hasher);
        self.record.recovery.hash(&mut hasher);
        self.workers.hash(&mut hasher);
        (&self.seats, &self.sweep, self.now).hash(&mut hasher);
        (self.duplicates, self.jumps).hash(&mut hasher);
        (self.reaps, self.deaths, self.cuts).hash(&mut hasher);
        hasher.number()
    }

    /// Nothing is on its way and nobody has anything left to say.
    pub fn is_quiet(&self, scope: &Scope) -> bool {
        let rests = |at: usize| {
            let worker = &self.workers[at];
            let may_tick = scope.has_ticks() && self.has_work_for_tick(at);
            let is_idle = worker.task.is_none()
                && !self.is_woken(at)
                && !self.is_lost(at)
                && !self.is_due(at);
            worker.is_dead || is_idle && !may_tick
        };
        !self.is_haunted() && (0..self.workers.len()).all(rests)
    }

    /// When the gate opens if nothing happens until then; none if it is open.
    pub fn opens_at(&self) -> Option<Time> {
        let recovery = self.record.recovery.as_ref()?;
        match recovery.stage {
            Stage::Open => None,
            Stage::Shut if recovery.undecided.is_empty() => Some(recovery.until),
            Stage::Shut => Some(recovery.until.max(recovery.started + recovery.grace())),
            Stage::Probing { since, .. } => Some(since + recovery.grace()),
        }
    }

    fn is_due(&self, at: usize) -> bool {
        self.workers[at]
            .next_at
            .is_some_and(|next| next <= self.now)
    }

    pub fn is_over(&self) -> bool {
        let mut calls = self.workers.iter().flat_map(|worker| &worker.calls);
        calls.all(|phase| *phase == Phase::Gone)
    }

    /// What the record has of a worker, under whichever of its names.
    pub fn entry(&self, at: usize) -> Option<&Entry> {
        let names = &self.workers[at].names;
        let mut entries = self.record.entries.iter();
        entries.find(|entry| names.contains(&entry.owner))
    }
}

/// What an exchange that is past its write decided.
pub fn change_of(exchange: &Exchange) -> Option<Change> {
    let mut exchange = exchange.clone();
    loop {
        match exchange.want() {
            Want::Wake(_) => {}
            Want::Done(Ok(change)) => return Some(change.clone()),
            Want::Done(Err(_)) | Want::Read | Want::Write { .. } => return None,
        }
        exchange.woke();
    }
}

/// The setting of most runs.
pub fn setting(cap: u32, max_waiting: u32) -> Setting {
    Setting {
        hash: u64::from(cap),
        cap,
        max_waiting,
        pace: Pace::UNBOUND,
    }
}
