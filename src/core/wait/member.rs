//! A worker as a member of one gate: its line, and the events it sends.
//!
//! The line is the truth and the record is told of it. If telling fails, the member stays
//! *unreported* and says it again with the next event, or on the next tick: nothing that gives
//! something back is ever dropped.

use super::line::{CallId, Kind, Line, Waiter};
use crate::core::gate::exchange::{Exchange, ExchangeError, Want};
use crate::core::gate::{Arrival, Event, Hold, Key, Outcome, Owner, Refuse, Setting, Sight};

/// A worker's side of one gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Member {
    line: Line,
    is_unreported: bool,
    /// Under which name the record knows the line, if it does.
    known_as: Option<Owner>,
    /// The gate's recovery when it was last spoken to.
    sight: Sight,
}

/// What a finished exchange means for this worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settled {
    /// The record knows the line.
    Reported,
    /// The arriving call starts now.
    Started,
    /// The arriving call waits, in this order.
    Waits(Key),
    /// The arriving call can neither start nor wait.
    Refused(Refuse),
    /// This waiter starts now.
    Granted(CallId, Kind),
    /// The grant went to somebody older; there may be another.
    Handed,
    /// Nothing was granted to this worker.
    NoGrant,
    /// The call is held.
    Held,
    /// Too many calls are held already.
    HoldsFull,
    /// The call cannot try again in time.
    HoldTooLate,
    /// No more retries are allowed for now.
    RetriesSpent,
    /// The event did not get into the record.
    Failed(ExchangeError),
}

impl Member {
    /// The worker's calls in this gate.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The worker's calls in this gate, to be changed; tell the gate with [`Member::report`].
    pub fn line_mut(&mut self) -> &mut Line {
        self.is_unreported = true;
        &mut self.line
    }

    /// Whether the record has yet to hear of the last change.
    pub fn is_unreported(&self) -> bool {
        self.is_unreported
    }

    /// The gate's recovery when it was last spoken to.
    pub fn sight(&self) -> Sight {
        self.sight
    }

    /// An attempt that started in this epoch is answered. The gate hears of it with the next event:
    /// while all is well it is of no interest.
    pub fn decide(&mut self, epoch: u32) {
        self.line.decide(epoch);
    }

    /// The record must be told again: the worker has a new slot.
    pub fn forget_reports(&mut self) {
        self.is_unreported = true;
    }

    /// Tells the gate how the line stands.
    pub fn report(&self, owner: Owner) -> Exchange {
        self.send(owner, Event::Report)
    }

    /// Asks for a slot for a new call.
    pub fn arrive(&self, owner: Owner, arrival: Arrival) -> Exchange {
        self.send(owner, Event::Arrive(arrival))
    }

    /// Asks for a slot that may have been granted to the oldest waiter; `None` if nobody waits.
    pub fn claim(&self, owner: Owner) -> Option<Exchange> {
        let then = self.line.standing_after_start();
        self.line
            .is_waiting()
            .then(|| self.send(owner, Event::Claim { then }))
    }

    /// Asks whether one more call may be held.
    pub fn hold(&self, owner: Owner, ask: Hold) -> Exchange {
        self.send(owner, Event::Hold(ask))
    }

    /// Puts a new configuration's limits in force, ahead of all connections up to `seen`.
    pub fn configure(&self, owner: Owner, setting: Setting, seen: u64) -> Exchange {
        self.send(owner, Event::Configure { setting, seen })
    }

    /// Takes in the result of an exchange. `about` is the call it was about, if it arrives or is to
    /// be held; its place in the line if it gets one.
    pub fn settle(&mut self, exchange: &Exchange, about: Option<(Key, Waiter)>) -> Settled {
        let change = match exchange.want() {
            Want::Done(Ok(change)) => change,
            Want::Done(Err(error)) => {
                self.is_unreported = true;
                return Settled::Failed(error);
            }
            Want::Read | Want::Write { .. } | Want::Wake(_) => {
                return Settled::Failed(ExchangeError::Unusable);
            }
        };
        self.is_unreported = false;
        self.known_as = exchange.owner();
        self.line.clear_tally();
        self.sight = change.sight;
        let epoch = self.sight.epoch;
        match change.outcome {
            Outcome::Noted => Settled::Reported,
            Outcome::Start => {
                self.line.run(epoch);
                Settled::Started
            }
            Outcome::Wait { key } => {
                if let Some((_, waiter)) = about {
                    self.line.wait(key, waiter);
                }
                Settled::Waits(key)
            }
            Outcome::Refuse(refuse) => Settled::Refused(refuse),
            Outcome::Claimed => match self.line.start_first(epoch) {
                Some((call, kind)) => Settled::Granted(call, kind),
                None => Settled::NoGrant,
            },
            Outcome::Handed => Settled::Handed,
            Outcome::NoGrant => Settled::NoGrant,
            Outcome::Held => {
                if let Some((key, waiter)) = about {
                    self.line.hold(key, waiter);
                }
                Settled::Held
            }
            Outcome::HoldsFull => Settled::HoldsFull,
            Outcome::HoldTooLate => Settled::HoldTooLate,
            Outcome::RetriesSpent => Settled::RetriesSpent,
        }
    }

    fn send(&self, owner: Owner, event: Event) -> Exchange {
        let exchange = Exchange::new(owner, self.line.statement(), event);
        match self.known_as {
            Some(last) => exchange.after(last),
            None => exchange,
        }
    }
}
