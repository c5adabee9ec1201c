//! A static leaky bucket that queues, as nginx's `limit_req` with a burst that is never full.
//!
//! Calls go out first come, first served, at a fixed rate, `burst` of them at once after a pause.
//! Those whose client has gone take no place (in nginx they do). A refusal is passed on. The rate
//! and the burst are tuned: [`super::tuning`].

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::time::Time;

use super::super::model::TokenBucket;
use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::line::Line;
use super::tuning::Rate;

/// The bucket and its queue.
#[derive(Debug)]
pub(crate) struct LeakyBucket {
    bucket: TokenBucket,
    waiting: Line,
    /// The numbers of calls that wait.
    numbers: BTreeMap<Slot, u64>,
    is_awake: bool,
}

impl LeakyBucket {
    pub(crate) fn new(rate: Rate) -> LeakyBucket {
        LeakyBucket {
            bucket: TokenBucket::new(rate.per_second, rate.burst),
            waiting: Line::default(),
            numbers: BTreeMap::new(),
            is_awake: false,
        }
    }

    fn start_some(&mut self, orders: &mut Orders<Timer>) {
        let now = orders.now.since(Time(0));
        while !self.waiting.is_empty() {
            match self.bucket.next(now, 1.0) {
                Some(at) if at <= now => {}
                at => {
                    if !std::mem::replace(&mut self.is_awake, true) {
                        let wait = at.map_or(Duration::from_secs(1), |at| at - now);
                        orders.after(wait, Timer::Clock(0));
                    }
                    return;
                }
            }
            if let Some(slot) = self.waiting.pop() {
                self.bucket.charge(now, 1.0);
                self.numbers.remove(&slot);
                orders.attempt(slot);
            }
        }
    }
}

impl Peer for LeakyBucket {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        self.numbers.insert(call.slot, call.number);
        self.waiting.push(call.number, call.slot);
        self.start_some(orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        if answer.is_refusal() {
            orders.fail(slot);
        }
    }

    fn end(&mut self, _: Slot, _: &mut Orders<Timer>) {}

    fn leave(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        if let Some(number) = self.numbers.remove(&slot) {
            self.waiting.remove(number, slot);
        }
    }

    fn timer(&mut self, _: Timer, orders: &mut Orders<Timer>) {
        self.is_awake = false;
        self.start_some(orders);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::peer::Order;
    use super::*;

    /// The published vector of GCRA: T = 0.5 s, B = 3, six at once.
    #[test]
    fn six_at_once_start_as_published() {
        let mut bucket = LeakyBucket::new(Rate {
            per_second: 2.0,
            burst: 3.0,
        });
        let mut started = Vec::new();
        let mut wakes = vec![(Time(0), None)];
        wakes.extend((0..6).map(|slot| (Time(0), Some(slot))));
        while !wakes.is_empty() {
            let (now, slot) = wakes.remove(0);
            let list = Vec::new();
            let mut orders = Orders { now, list };
            match slot {
                Some(slot) => bucket.arrive(
                    Arrival {
                        slot,
                        number: u64::from(slot),
                    },
                    &mut orders,
                ),
                None => bucket.timer(Timer::Clock(0), &mut orders),
            }
            for order in orders.list {
                match order {
                    Order::Attempt(slot) => started.push((slot, now.0 / 1_000_000)),
                    Order::At(at, _) => wakes.push((at, None)),
                    Order::Fail(slot) | Order::Refuse(slot, _) => panic!("call {slot} fails"),
                }
            }
        }
        let expected = [0, 0, 0, 500, 1000, 1500].into_iter().enumerate();
        let expected: Vec<_> = expected.map(|(slot, at)| (slot as Slot, at)).collect();
        assert_eq!(started, expected);
    }
}
