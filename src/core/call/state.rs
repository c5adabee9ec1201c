//! What is known of one call.

use litemap::LiteMap;
use std::rc::Rc;
use std::time::Duration;

use super::look::Look;
use super::shadow::Phantom;
use super::{Headers, StreamId};
use crate::core::classify::{Class, Stated, Verdict};
use crate::core::config::{Config, Policy};
use crate::core::gate::Key;
use crate::core::retry::Backoff;
use crate::core::time::Time;
use crate::core::wait::GateId;

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) config: Rc<Config>,
    pub(super) policy: usize,
    pub(super) policy_name: Rc<str>,
    /// Its gate; none if shared state cannot be used (law L16).
    pub(super) place: Option<GateId>,
    /// The gate's key for the log: a hash.
    pub(super) key_tag: u64,
    pub(super) key: Key,
    pub(super) arrived: Time,
    /// Attempts made before it came, when its client tried the same.
    pub(super) made_before: u32,
    /// When the budget began.
    pub(super) budget_since: Time,
    /// By what it is known when its client repeats it; none if it cannot be.
    pub(super) repeat: Option<u128>,
    /// The last moment to start an attempt: budget or the client's patience.
    pub(super) deadline: Time,
    /// Which of the two it is, by the name of the field or header.
    pub(super) deadline_field: &'static str,
    /// The downstream stream; none if only the attempt half is installed.
    pub(super) gate: Option<StreamId>,
    pub(super) stage: Stage,
    pub(super) started: Option<Time>,
    /// It has a slot that no attempt has taken up yet.
    pub(super) has_grant: bool,
    /// The gate's epoch in which it was granted that slot.
    pub(super) epoch: u32,
    /// It was answered without an attempt half, with that slot.
    pub(super) is_answered: bool,
    /// Under a policy that only watches: what the call would be doing.
    pub(super) phantom: Option<Phantom>,
    /// Attempts that are not over.
    pub(super) attempts: LiteMap<StreamId, Attempt>,
    /// The number of the latest attempt.
    pub(super) attempts_made: u32,
    /// When the route's timeout ends, by what the first attempt said of it.
    pub(super) route_ends: Option<Time>,
    /// Weir, and not the client, has asked the provider to let it wait.
    pub(super) asks_server_to_queue: bool,
    pub(super) backoff: Backoff,
    /// The refusal that is on its way to the client.
    pub(super) passed: Option<Passed>,
    /// What the attempt half changed in the answer on its way to the client.
    pub(super) undo: Undo,
    /// Its attempt has let a success go, of which the gate half has not seen anything yet.
    pub(super) has_succeeded: bool,
    /// Its attempt went away while its answer was kept back.
    pub(super) hold_broken: bool,
    /// The client's answer is an error.
    pub(super) has_failed: bool,
    /// When the clock next has something to say; mirrored in the worker's timers.
    pub(super) due: Option<Time>,
    /// For a call without a gate half: when it is given up for lost.
    pub(super) orphaned: Option<Time>,
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waiting for its first start.
    Waiting,
    /// On its way: an attempt runs or is about to.
    Going,
    /// Held between two attempts.
    Held(Hold),
    /// Weir refused it.
    Refused,
    /// The client is being answered.
    Answered,
}

/// A refusal that is kept back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    /// The attempt whose answer is kept back.
    pub(super) attempt: StreamId,
    pub(super) since: Time,
    pub(super) not_before: Time,
    /// Since when it waits for its turn; none before `not_before`.
    pub(super) ready_since: Option<Time>,
    /// The last moment to start the next attempt.
    pub(super) deadline: Time,
    pub(super) refusal: Refusal,
}

/// A refusal of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) class: Class,
    pub(super) verdict: Box<Verdict>,
    pub(super) status: u16,
    /// What the client is to get in its place if the refusal stands.
    pub(super) client_status: u16,
    pub(super) headers: Headers,
    /// Which attempt got it.
    pub(super) attempt: u32,
}

/// A refusal that is passed on to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) class: Class,
    /// The provider's minimum, if it gave one.
    pub(super) known_wait: Option<Duration>,
    pub(super) budget_spent: bool,
}

/// What the attempt half changed for the router's eyes, and the gate half changes back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    /// The provider's status.
    pub status: Option<u16>,
    /// Headers that were added.
    pub added: Vec<&'static str>,
    /// Headers that were taken out.
    pub removed: Headers,
}

/// One try of a call at the provider.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) number: u32,
    /// Whom it is sent to, by the request's authority.
    pub(super) host: Option<Vec<u8>>,
    pub(super) began: Time,
    /// It has a slot that it has not given back.
    pub(super) has_slot: bool,
    /// The gate's epoch in which it started.
    pub(super) epoch: u32,
    /// What the gate had counted of starts by then, if calls were running out.
    pub(super) counted: u32,
    /// The gate does not know yet whether it is accepted.
    pub(super) is_undecided: bool,
    /// What the gate was told of its refusal.
    pub(super) told: Option<Told>,
    /// The request went out to its end.
    pub(super) request_complete: bool,
    /// The last moment to start another attempt under the route's timeout.
    pub(super) deadline: Time,
    /// An answer whose body is being read while its headers are kept back.
    pub(super) reading: Option<Reading>,
    /// When an answer went on of whose body nothing had been seen.
    pub(super) unseen: Option<Time>,
}

/// What a gate was told of a refusal by its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) class: Class,
    /// The wait that the server asks for, as far as it is heeded.
    pub(super) least: Option<Duration>,
    /// The limit that it states.
    pub(super) stated: Option<Stated>,
    pub(super) at: Time,
}

/// A possible refusal whose body is not complete.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
    /// Whether the request was complete when the answer began. Only then may it be held.
    pub(super) request_complete: bool,
    pub(super) until: Time,
    /// For a success: how far it has been looked at.
    pub(super) look: Option<Look>,
}

impl Call {
    /// What was on its way to the client no longer is.
    pub(super) fn forget_refusal(&mut self) {
        self.passed = None;
        self.undo = Undo::default();
    }

    pub(super) fn policy(&self) -> Option<&Policy> {
        self.config.policies().get(self.policy)
    }

    /// Whether the answer of this attempt is kept back.
    pub(super) fn is_held_by(&self, attempt: StreamId) -> bool {
        matches!(&self.stage, Stage::Held(hold) if hold.attempt == attempt)
    }

    /// Whether more of this attempt's answer matters.
    pub(super) fn is_reading(&self, attempt: StreamId) -> bool {
        let attempts = self.attempts.get(&attempt);
        attempts.is_some_and(|a| a.reading.is_some() || a.unseen.is_some())
            || self.is_held_by(attempt)
    }

    /// When the clock next has something to say.
    pub(super) fn next_due(&self) -> Option<Time> {
        let stage = match &self.stage {
            Stage::Waiting => Some(self.wait_ends().0),
            Stage::Held(hold) => Some(self.hold_due(hold)),
            Stage::Going | Stage::Refused | Stage::Answered => None,
        };
        let reading = self
            .attempts
            .values()
            .filter_map(|attempt| attempt.reading.as_ref())
            .map(|reading| reading.until)
            .min();
        [stage, reading, self.orphaned, self.phantom_ends()]
            .into_iter()
            .flatten()
            .min()
    }

    /// When waiting for the first start ends, and whether the stay is the reason (else it is the
    /// deadline).
    pub(super) fn wait_ends(&self) -> (Time, bool) {
        let stay = self.arrived + self.max_wait();
        (stay.min(self.deadline), stay < self.deadline)
    }

    /// When the held call's next step is due: its turn to wait, or the end of waiting.
    pub(super) fn hold_due(&self, hold: &Hold) -> Time {
        match hold.ready_since {
            None => hold.not_before,
            // Later than `since` in any case: a slot that is free reaches it as a wake-up.
            Some(since) => self.last_start(since, hold.deadline),
        }
    }

    /// The last moment to start for a held call that waits for its turn from `ready` on.
    pub(super) fn last_start(&self, ready: Time, deadline: Time) -> Time {
        (ready + self.max_wait())
            .min(deadline)
            .max(ready + Duration::from_nanos(1))
    }

    fn max_wait(&self) -> Duration {
        self.policy()
            .map_or(Duration::ZERO, |policy| policy.queue().max_wait())
    }
}
