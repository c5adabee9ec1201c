//! AIMD on calls at once, one decrease per cascade of refusals; refused calls wait for their next
//! start.
//!
//! Source: NVIDIA DataDesigner `request_admission/controller.py` (x 0.75 once per cascade, a pause or
//! the server's wait, +1 per 25 successes above where the last cascade began), palantir/dialogue (+1/L
//! per success while nine tenths of L are in flight, below it). The pause is 0.4 s, and 2 s there, with
//! which it serves a fifth less; with a probe before it goes on, as TCP NewReno has, it serves less
//! too. First come, first served; a refused call keeps its place. No call gives up before its client
//! does.

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::time::Time;

use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::line::Line;

/// Calls at once at the start.
const START: f64 = 64.0;
const DECREASE: f64 = 0.75;
const PAUSE: Duration = Duration::from_millis(400);
/// Successes for one more call at once, above the ceiling.
const SLOW: f64 = 25.0;
/// The share of the limit that has to be in use for it to grow.
const BUSY: f64 = 0.9;

/// The limit alone.
#[derive(Debug)]
struct Controller {
    limit: f64,
    /// Where the last cascade began.
    ceiling: f64,
    /// Rises by one with each cascade.
    epoch: u64,
    blocked_until: Time,
    in_flight: u32,
}

impl Controller {
    fn new(limit: f64) -> Controller {
        Controller {
            limit,
            ceiling: f64::INFINITY,
            epoch: 0,
            blocked_until: Time(0),
            in_flight: 0,
        }
    }

    /// An attempt starts in the epoch that is returned, if it may.
    fn start(&mut self, now: Time) -> Option<u64> {
        if now < self.blocked_until || self.in_flight >= self.limit as u32 {
            return None;
        }
        self.in_flight += 1;
        Some(self.epoch)
    }

    /// An attempt is over, whatever came of it.
    fn over(&mut self) {
        self.in_flight -= 1;
    }

    fn throttled(&mut self, epoch: u64, now: Time, asked: Option<Duration>) {
        self.over();
        if epoch < self.epoch {
            // Its cascade was paid for.
            let until = asked.map_or(Time(0), |wait| now + wait);
            self.blocked_until = self.blocked_until.max(until);
            return;
        }
        self.ceiling = self.limit;
        self.limit = (self.limit * DECREASE).floor().max(1.0);
        self.epoch += 1;
        self.blocked_until = self.blocked_until.max(now + asked.unwrap_or(PAUSE));
    }

    fn succeeded(&mut self) {
        if f64::from(self.in_flight) >= BUSY * self.limit.floor() {
            self.limit += match self.limit < self.ceiling {
                true => 1.0 / self.limit,
                false => (1.0 / self.limit).min(1.0 / SLOW),
            };
        }
        self.over();
    }
}

/// A client side limiter.
#[derive(Debug)]
pub(crate) struct Aimd {
    limit: Controller,
    waiting: Line,
    calls: BTreeMap<Slot, Call>,
    /// The wake-up that was asked for.
    wake: Time,
}

#[derive(Debug)]
struct Call {
    number: u64,
    /// Of its attempt.
    epoch: Option<u64>,
}

impl Default for Aimd {
    fn default() -> Aimd {
        Aimd {
            limit: Controller::new(START),
            waiting: Line::default(),
            calls: BTreeMap::new(),
            wake: Time(0),
        }
    }
}

impl Aimd {
    fn start_some(&mut self, orders: &mut Orders<Timer>) {
        while !self.waiting.is_empty() {
            let Some(epoch) = self.limit.start(orders.now) else {
                break;
            };
            if let Some(slot) = self.waiting.pop() {
                if let Some(call) = self.calls.get_mut(&slot) {
                    call.epoch = Some(epoch);
                }
                orders.attempt(slot);
            }
        }
        let until = self.limit.blocked_until;
        if until > orders.now && until != self.wake {
            self.wake = until;
            orders.after(until.since(orders.now), Timer::Clock(until.0));
        }
    }
}

impl Peer for Aimd {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (slot, number) = (call.slot, call.number);
        let call = Call {
            number,
            epoch: None,
        };
        self.calls.insert(slot, call);
        self.waiting.push(number, slot);
        self.start_some(orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        let Some(call) = self.calls.get_mut(&slot).filter(|_| answer.is_refusal()) else {
            return;
        };
        if let Some(epoch) = call.epoch.take() {
            self.limit.throttled(epoch, orders.now, answer.min);
        }
        self.waiting.push(call.number, slot);
        self.start_some(orders);
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        if self.calls.remove(&slot).is_some() {
            self.limit.succeeded();
        }
        self.start_some(orders);
    }

    fn leave(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        if let Some(call) = self.calls.remove(&slot) {
            self.waiting.remove(call.number, slot);
            if call.epoch.is_some() {
                self.limit.over();
            }
        }
        self.start_some(orders);
    }

    fn timer(&mut self, _: Timer, orders: &mut Orders<Timer>) {
        self.start_some(orders);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000_000);

    fn started(limit: f64, count: u32) -> Controller {
        let mut controller = Controller::new(limit);
        for _ in 0..count {
            assert_eq!(controller.start(Time(0)), Some(0));
        }
        controller
    }

    #[test]
    fn a_cascade_of_refusals_takes_a_quarter_once() {
        let mut controller = started(64.0, 64);
        assert_eq!(controller.start(Time(0)), None);
        for _ in 0..64 {
            controller.throttled(0, NOW, None);
        }
        // Without episodes it would be 1.
        assert_eq!(controller.limit, 48.0);
        assert_eq!(controller.ceiling, 64.0);
    }

    #[test]
    fn a_refusal_after_the_pause_is_the_next_cascade() {
        let mut controller = started(8.0, 2);
        controller.throttled(0, NOW, Some(Duration::from_secs(1)));
        assert_eq!(controller.start(NOW), None, "blocked");
        let later = NOW + Duration::from_secs(1);
        assert_eq!(controller.start(later), Some(1));
        controller.throttled(0, later, None);
        assert_eq!(controller.limit, 6.0, "paid for");
        controller.throttled(1, later, None);
        assert_eq!(controller.limit, 4.0);
        assert_eq!(controller.blocked_until, later + PAUSE);
    }

    #[test]
    fn it_grows_by_one_per_limit_and_slowly_above_the_ceiling() {
        let mut controller = started(10.0, 9);
        controller.succeeded();
        assert!((controller.limit - 10.1).abs() < 1e-9);
        controller.ceiling = 10.1;
        controller.start(NOW);
        controller.succeeded();
        assert!((controller.limit - 10.14).abs() < 1e-9);
        controller.succeeded();
        assert!((controller.limit - 10.14).abs() < 1e-9, "not in use");
    }
}
