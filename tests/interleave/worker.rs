//! One worker: its calls, its member of the gate, and what it is in the middle of.

use std::time::Duration;

use weir::core::gate::exchange::Exchange;
use weir::core::gate::{Key, Owner, Standing};
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
                let line = self.member.line_mut();
                line.finish(Duration::ZERO);
                line.decide(self.epochs[call]);
            }
            (_, Phase::Held) => self.member.line_mut().let_go(Key::at(key)),
            (_, Phase::Waiting | Phase::WaitingAgain) => {
                self.member.line_mut().leave(Key::at(key));
            }
            _ => return false,
        }
        true
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
