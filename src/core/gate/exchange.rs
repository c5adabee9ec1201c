//! One event, carried through shared data: read, apply, write if nobody wrote in between, wake.
//!
//! A step machine, so that whoever drives it decides what happens between two steps: a worker in
//! Envoy runs straight through, the interleaving tests let other workers in everywhere.

use std::rc::Rc;

use super::apply::{Change, Event, Fenced, apply};
use super::codec::DecodeError;
use super::owner::Owner;
use super::reap::{Fences, move_entry, reap};
use super::record::{Record, Statement};
use super::table::VACANT;
use crate::core::time::Time;

/// How often an event tries to write before it gives up. A conflict means that another worker got
/// through, so this many in a row are all but impossible with [`super::owner::SLOTS`] workers.
pub const TRIES: u32 = 64;

/// A change on its way into a gate's record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exchange {
    errand: Errand,
    /// The gate that must lie there, if it matters.
    gate: Option<u128>,
    tries: u32,
    stage: Stage,
}

/// What is to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Errand {
    Tell {
        owner: Owner,
        /// The name under which the owner last spoke to this gate, if it was another.
        formerly: Option<Owner>,
        mine: Box<Statement>,
        event: Event,
    },
    Reap(Rc<Fences>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Read,
    Write {
        bytes: Vec<u8>,
        cas: u32,
        change: Change,
    },
    Wake {
        change: Change,
        sent: usize,
    },
    Failed(ExchangeError),
}

/// What the driver has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want<'a> {
    /// Read the record and call [`Exchange::read`].
    Read,
    /// Write these bytes if the record's number is still `cas`, and call [`Exchange::wrote`].
    Write {
        /// The new record.
        bytes: &'a [u8],
        /// The number the record had when it was read.
        cas: u32,
    },
    /// Wake the worker in this slot and call [`Exchange::woke`].
    Wake(u16),
    /// Nothing: it is done.
    Done(Result<&'a Change, ExchangeError>),
}

/// Why an event did not get into the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ExchangeError {
    /// There is no record, or none that this code can read.
    #[error("the gate's record cannot be used")]
    Unusable,
    /// The gate gave way to another, and lies elsewhere if anywhere.
    #[error("the gate has moved")]
    Moved,
    /// Others kept writing first.
    #[error("gave up after {TRIES} write conflicts")]
    Conflicts,
    /// The worker lost its slot.
    #[error("the worker's slot was given to another worker")]
    Fenced,
}

impl From<Fenced> for ExchangeError {
    fn from(_: Fenced) -> Self {
        ExchangeError::Fenced
    }
}

impl From<DecodeError> for ExchangeError {
    fn from(_: DecodeError) -> Self {
        ExchangeError::Unusable
    }
}

impl Exchange {
    /// Sends `event` of `owner`, who before the event states `mine`.
    pub fn new(owner: Owner, mine: impl Into<Statement>, event: Event) -> Exchange {
        Exchange::begin(Errand::Tell {
            owner,
            formerly: None,
            mine: Box::new(mine.into()),
            event,
        })
    }

    /// Takes out what owners have that were given up.
    pub fn reap(fences: Rc<Fences>) -> Exchange {
        Exchange::begin(Errand::Reap(fences))
    }

    /// The owner last spoke to this gate under the name `last`: what it has there moves with it.
    #[must_use]
    pub fn after(mut self, last: Owner) -> Exchange {
        if let Errand::Tell {
            owner, formerly, ..
        } = &mut self.errand
        {
            *formerly = (last != *owner).then_some(last);
        }
        self
    }

    /// The event is for this gate and no other.
    #[must_use]
    pub fn within(mut self, identity: u128) -> Exchange {
        self.gate = Some(identity);
        self
    }

    fn begin(errand: Errand) -> Exchange {
        Exchange {
            errand,
            gate: None,
            tries: 0,
            stage: Stage::Read,
        }
    }

    /// What to do next.
    pub fn want(&self) -> Want<'_> {
        match &self.stage {
            Stage::Read => Want::Read,
            Stage::Write { bytes, cas, .. } => Want::Write { bytes, cas: *cas },
            Stage::Wake { change, sent } => match change.wake.get(*sent) {
                Some(slot) => Want::Wake(*slot),
                None => Want::Done(Ok(change)),
            },
            Stage::Failed(error) => Want::Done(Err(*error)),
        }
    }

    /// The record as it was read at `now`, with its number; `None` if there is none.
    pub fn read(&mut self, stored: Option<(&[u8], u32)>, now: Time) {
        self.stage = match self.decide(stored, now) {
            Ok(stage) => stage,
            Err(error) => Stage::Failed(error),
        };
    }

    /// Whether the write went through.
    pub fn wrote(&mut self, is_written: bool) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Read) {
            Stage::Write { change, .. } if is_written => Stage::Wake { change, sent: 0 },
            _ => {
                self.tries += 1;
                if self.tries >= TRIES {
                    Stage::Failed(ExchangeError::Conflicts)
                } else {
                    Stage::Read
                }
            }
        };
    }

    /// The wake-up was sent, or could not be: the worker's next tick finds its grant.
    pub fn woke(&mut self) {
        if let Stage::Wake { sent, .. } = &mut self.stage {
            *sent += 1;
        }
    }

    /// How many writes were refused because another worker wrote first.
    pub fn conflicts(&self) -> u32 {
        self.tries
    }

    /// Whose event this is, if it is anybody's.
    pub fn owner(&self) -> Option<Owner> {
        match &self.errand {
            Errand::Tell { owner, .. } => Some(*owner),
            Errand::Reap(_) => None,
        }
    }

    fn decide(&self, stored: Option<(&[u8], u32)>, now: Time) -> Result<Stage, ExchangeError> {
        let (bytes, cas) = stored.ok_or(ExchangeError::Unusable)?;
        if self.gate.is_some() && bytes == VACANT {
            return Err(ExchangeError::Moved);
        }
        let mut record = Record::decode(bytes)?;
        if self.gate.is_some_and(|gate| gate != record.identity) {
            return Err(ExchangeError::Moved);
        }
        let change = match &self.errand {
            Errand::Tell {
                owner,
                formerly,
                mine,
                event,
            } => {
                if let Some(formerly) = formerly {
                    move_entry(&mut record, *formerly, *owner, now);
                }
                apply(&mut record, *owner, **mine, *event, now)?
            }
            Errand::Reap(fences) => reap(&mut record, fences, now),
        };
        let after = record.encode();
        if after == bytes {
            // Nothing to write, so nobody to wake either.
            return Ok(Stage::Wake { change, sent: 0 });
        }
        Ok(Stage::Write {
            bytes: after,
            cas,
            change,
        })
    }
}
