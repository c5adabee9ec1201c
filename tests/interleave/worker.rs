//! One worker: its calls, its member of the gate, and what it is in the middle of.

use std::time::Duration;

use weir::core::classify::Class;
use weir::core::gate::exchange::Exchange;
use weir::core::gate::{Key, Owner, Refusal, Standing};
use weir::core::time::Time;
use weir::core::wait::{CallId, Kind, Member, Waiter};

use crate::world::Step;

/// Where a call is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    New,
    Waiting,
    Running,
    Refused,
    Held,
    WaitingAgain,
    RunningAgain,
    Gone,
}

impl Phase {
    pub fn waits(self) -> bool {
        matches!(self, Phase::Waiting | Phase::WaitingAgain)
    }

    pub fn runs(self) -> bool {
        matches!(self, Phase::Running | Phase::RunningAgain)
    }
}

/// What an exchange in progress is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Errand {
    Report,
    Arrive(usize),
    Claim,
    Hold(usize),
    Configure,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    pub errand: Errand,
    pub exchange: Exchange,
    /// When the record was read.
    pub read_at: Time,
    /// What to do when it is done.
    pub next: Option<Errand>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    /// All names it ever had, the present one last; none before its first call if it is late.
    pub names: Vec<Owner>,
    pub member: Member,
    pub calls: Vec<Phase>,
    /// The gate's epoch in which each of them last started.
    pub epochs: Vec<u32>,
    /// Calls whose last attempt has not been answered, one bit each.
    pub undecided: u32,
    /// When the gate must be looked at next.
    pub next_at: Option<Time>,
    pub task: Option<Task>,
    /// Its waiters as the record knows them, one bit per call.
    pub known: u32,
    /// When each of its unclaimed grants was made.
    pub grants: Vec<Time>,
    /// It came under the new configuration.
    pub is_configured: bool,
    /// Nothing is heard of it any more.
    pub is_dead: bool,
}

impl Worker {
    fn count(&self, is: impl Fn(Phase) -> bool) -> u32 {
        self.calls.iter().map(|phase| u32::from(is(*phase))).sum()
    }

    pub fn running(&self) -> u32 {
        self.count(Phase::runs)
    }

    pub fn waiting(&self) -> u32 {
        self.count(Phase::waits)
    }

    /// What its line must say.
    pub fn standing(&self, keys: &[u64]) -> Standing {
        let waiters = self
            .calls
            .iter()
            .zip(keys)
            .filter(|(phase, _)| phase.waits());
        Standing {
            running: self.running(),
            fresh: self.count(|phase| phase == Phase::Waiting),
            ready: self.count(|phase| phase == Phase::WaitingAgain),
            held: self.count(|phase| matches!(phase, Phase::Held | Phase::WaitingAgain)),
            head: waiters
                .map(|(_, key)| Key::at(*key))
                .min()
                .unwrap_or(Key::LAST),
        }
    }

    pub fn waiters(&self) -> u32 {
        let bits = self.calls.iter().enumerate();
        bits.map(|(call, phase)| u32::from(phase.waits()) << call)
            .sum()
    }
}

impl Worker {
    /// A call ends, leaves, or becomes ready. False if the gate need not know.
    pub fn change_line(&mut self, key: u64, call: usize, step: Step) -> bool {
        let phase = self.calls[call];
        if phase.runs() {
            self.answer(call);
        }
        self.calls[call] = match step {
            Step::Refuse(_) => Phase::Refused,
            Step::Ready(_) => Phase::WaitingAgain,
            _ => Phase::Gone,
        };
        match (step, phase) {
            (Step::Ready(_), _) => self
                .member
                .line_mut()
                .wait(Key::at(key), waiter(call, Kind::Ready)),
            (_, Phase::Running | Phase::RunningAgain) => {
                self.member.line_mut().finish(Duration::ZERO);
            }
            (_, Phase::Held) => self.member.line_mut().let_go(Key::at(key)),
            (_, Phase::Waiting | Phase::WaitingAgain) => {
                self.member.line_mut().leave(Key::at(key));
            }
            _ => return false,
        }
        true
    }

    /// A call starts, in the epoch that the gate is in.
    pub fn start(&mut self, call: usize, phase: Phase) {
        self.calls[call] = phase;
        self.epochs[call] = self.member.sight().epoch;
        self.undecided |= 1 << call;
    }

    pub fn is_undecided(&self, call: usize) -> bool {
        self.undecided >> call & 1 == 1
    }

    /// The provider answers a call.
    fn answer(&mut self, call: usize) {
        if self.is_undecided(call) {
            self.undecided &= !(1 << call);
            self.member.line_mut().decide(self.epochs[call]);
        }
    }

    /// A call is accepted.
    pub fn accept(&mut self, call: usize) {
        self.answer(call);
        self.member.line_mut().accept(self.epochs[call]);
    }

    /// A call is refused, and the gate is to hear of it with the next report.
    pub fn refuse(&mut self, call: usize, now: Time) {
        self.member.line_mut().refuse(Refusal {
            epoch: self.epochs[call],
            class: Class::Rate,
            least: None,
            at: now,
            took: Duration::ZERO,
            random: 0,
            envoys: 1,
            stated: None,
            is_told: false,
        });
    }

    pub fn owner(&self) -> Option<Owner> {
        self.names.last().copied()
    }

    /// It never lost a name.
    pub fn is_settled(&self) -> bool {
        self.names.len() <= 1
    }

    pub fn die(&mut self) {
        self.is_dead = true;
        self.task = None;
        self.calls.fill(Phase::Gone);
    }
}

pub fn id(call: usize) -> CallId {
    CallId(u64::try_from(call).expect("few calls"))
}

/// A call's place in a line.
pub fn waiter(call: usize, kind: Kind) -> Waiter {
    Waiter {
        call: id(call),
        kind,
        until: Time::NEVER,
    }
}

pub fn oldest(worker: &Worker, keys: &[u64]) -> usize {
    let waiters = (0..keys.len()).filter(|call| worker.calls[*call].waits());
    waiters
        .min_by_key(|call| keys[*call])
        .expect("a claim is for a waiter")
}
