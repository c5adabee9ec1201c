//! A limiter of calls at once that makes callers wait: Netflix's `BlockingLimiter` around any limit.
//!
//! Source: Netflix concurrency-limits `BlockingLimiter`, `AbstractLimiter`. Waiting calls go first
//! come, first served (its threads race for it). A refusal is passed on, and told to the limit as a
//! drop.

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::time::Time;

use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::line::Line;

/// What became of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// To its last byte.
    pub(crate) rtt: Duration,
    /// Calls in flight when it began, itself included.
    pub(crate) in_flight: u32,
    pub(crate) is_dropped: bool,
}

/// A limit that learns.
pub(crate) trait Limit: std::fmt::Debug {
    /// Calls at once.
    fn limit(&self) -> u32;

    fn sample(&mut self, now: Time, sample: Sample);
}

/// The limiter.
#[derive(Debug)]
pub(crate) struct Blocking<L> {
    limit: L,
    in_flight: u32,
    waiting: Line,
    calls: BTreeMap<Slot, Call>,
}

#[derive(Debug)]
struct Call {
    number: u64,
    /// When it began, and how many were in flight.
    began: Option<(Time, u32)>,
}

impl<L: Limit> Blocking<L> {
    pub(crate) fn new(limit: L) -> Blocking<L> {
        Blocking {
            limit,
            in_flight: 0,
            waiting: Line::default(),
            calls: BTreeMap::new(),
        }
    }

    fn start_some(&mut self, orders: &mut Orders<Timer>) {
        while self.in_flight < self.limit.limit() {
            let Some(slot) = self.waiting.pop() else {
                return;
            };
            self.in_flight += 1;
            if let Some(call) = self.calls.get_mut(&slot) {
                call.began = Some((orders.now, self.in_flight));
            }
            orders.attempt(slot);
        }
    }

    /// A call is over; `is_dropped` is `None` if that says nothing of the provider.
    fn over(&mut self, slot: Slot, is_dropped: Option<bool>, orders: &mut Orders<Timer>) {
        let Some(call) = self.calls.remove(&slot) else {
            return;
        };
        self.waiting.remove(call.number, slot);
        if let Some((began, in_flight)) = call.began {
            self.in_flight -= 1;
            if let Some(is_dropped) = is_dropped {
                let sample = Sample {
                    rtt: orders.now.since(began),
                    in_flight,
                    is_dropped,
                };
                self.limit.sample(orders.now, sample);
            }
        }
        self.start_some(orders);
    }
}

impl<L: Limit> Peer for Blocking<L> {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (slot, number) = (call.slot, call.number);
        let call = Call {
            number,
            began: None,
        };
        self.calls.insert(slot, call);
        self.waiting.push(number, slot);
        self.start_some(orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        if answer.is_refusal() {
            orders.fail(slot);
            self.over(slot, Some(true), orders);
        }
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.over(slot, Some(false), orders);
    }

    fn leave(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.over(slot, None, orders);
    }

    fn timer(&mut self, _: Timer, _: &mut Orders<Timer>) {}
}
