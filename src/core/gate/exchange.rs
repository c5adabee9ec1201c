//! One event, carried through shared data: read, apply, write if nobody wrote in between, wake.
//!
//! A step machine, so that whoever drives it decides what happens between two steps: a worker in
//! Envoy runs straight through, the interleaving tests let other workers in everywhere.

use super::apply::{Change, Event, Fenced, apply};
use super::codec::DecodeError;
use super::owner::Owner;
use super::record::{Record, Statement};
use crate::core::time::Time;

/// How often an event tries to write before it gives up. A conflict means that another worker got
/// through, so this many in a row are all but impossible with [`super::owner::SLOTS`] workers.
pub const TRIES: u32 = 64;

/// An event on its way into a gate's record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exchange {
    owner: Owner,
    mine: Statement,
    event: Event,
    tries: u32,
    stage: Stage,
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
        Exchange {
            owner,
            mine: mine.into(),
            event,
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

    /// Whose event this is.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    fn decide(&self, stored: Option<(&[u8], u32)>, now: Time) -> Result<Stage, ExchangeError> {
        let (bytes, cas) = stored.ok_or(ExchangeError::Unusable)?;
        let mut record = Record::decode(bytes)?;
        let change = apply(&mut record, self.owner, self.mine, self.event, now)?;
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
