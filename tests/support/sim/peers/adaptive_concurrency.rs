//! Envoy's adaptive concurrency filter.
//!
//! Source: Envoy `gradient_controller.cc` and the configuration in the filter's documentation: the
//! 90th percentile of samples, a new limit each 100 ms, minRTT from 50 calls every 60 s and up to
//! 10 % later; the reference's defaults for the rest: at least 3 and at most 1000 calls at once, 3
//! while minRTT is measured, a buffer of 25 %. Every answer that ends is a sample, refusals too.
//! What does not fit gets 503 at once. The percentile is exact here, a histogram's there.

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::time::Time;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;

const PERCENTILE: usize = 90;
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
const MIN_RTT_INTERVAL: Duration = Duration::from_secs(60);
const MIN_RTT_JITTER: f64 = 0.1;
const MIN_RTT_SAMPLES: usize = 50;
/// Calls at once.
const LEAST: u32 = 3;
const MOST: u32 = 1000;
const BUFFER: f64 = 0.25;
/// Windows in a row at the least after which minRTT is measured again.
const AT_LEAST: u32 = 5;

/// `GradientController`: the limit alone.
#[derive(Debug)]
struct Gradient {
    limit: u32,
    /// The limit to go back to: minRTT is being measured.
    deferred: Option<u32>,
    /// In seconds.
    min_rtt: f64,
    samples: Vec<f64>,
    /// Calls that began before it are no samples.
    epoch: Time,
    at_least: u32,
}

/// What follows from a sample or a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    /// minRTT is known: it is measured again after a while, and windows go on.
    Measured,
    /// minRTT is to be measured now.
    Measure,
}

impl Gradient {
    fn new() -> Gradient {
        let mut gradient = Gradient {
            limit: LEAST,
            deferred: None,
            min_rtt: 0.0,
            samples: Vec::new(),
            epoch: Time(0),
            at_least: 0,
        };
        gradient.measure(Time(0));
        gradient
    }

    /// minRTT is measured from now on.
    fn measure(&mut self, now: Time) {
        if self.deferred.is_some() {
            return;
        }
        self.deferred = Some(self.limit);
        self.set(LEAST);
        self.samples.clear();
        self.epoch = now;
    }

    fn sample(&mut self, began: Time, now: Time) -> Then {
        if began < self.epoch {
            return Then::Nothing;
        }
        self.samples.push(now.since(began).as_secs_f64());
        if self.samples.len() < MIN_RTT_SAMPLES {
            return Then::Nothing;
        }
        let Some(limit) = self.deferred else {
            return Then::Nothing;
        };
        self.min_rtt = self.percentile();
        self.set(limit);
        self.deferred = None;
        Then::Measured
    }

    /// A window of samples ends.
    fn window(&mut self) -> Then {
        if self.deferred.is_some() || self.samples.is_empty() {
            return Then::Nothing;
        }
        let sample = self.percentile();
        let limit = self.next(sample);
        self.set(limit)
    }

    fn next(&self, sample: f64) -> u32 {
        let gradient = (self.min_rtt * (1.0 + BUFFER) / sample).clamp(0.5, 2.0);
        let limit = f64::from(self.limit) * gradient;
        ((limit + limit.sqrt()) as u32).clamp(LEAST, MOST)
    }

    fn set(&mut self, limit: u32) -> Then {
        let stays = self.deferred.is_none() && self.limit == LEAST && limit == LEAST;
        self.at_least = match stays {
            true => self.at_least + 1,
            false => 0,
        };
        self.limit = limit;
        match self.at_least >= AT_LEAST {
            true => Then::Measure,
            false => Then::Nothing,
        }
    }

    fn percentile(&mut self) -> f64 {
        let rank = (self.samples.len() * PERCENTILE).div_ceil(100).max(1) - 1;
        let (_, value, _) = self.samples.select_nth_unstable_by(rank, f64::total_cmp);
        let value = value.max(1e-6);
        self.samples.clear();
        value
    }
}

/// The filter.
#[derive(Debug)]
pub(crate) struct AdaptiveConcurrency {
    gradient: Gradient,
    /// When calls in flight began.
    calls: BTreeMap<Slot, Time>,
    chance: Draw,
    /// The timers that count are those set last.
    min_rtt_timer: u64,
    window_timer: u64,
    timers: u64,
}

impl AdaptiveConcurrency {
    pub(crate) fn new(seed: u64) -> AdaptiveConcurrency {
        AdaptiveConcurrency {
            gradient: Gradient::new(),
            calls: BTreeMap::new(),
            chance: Draw::new(seed, For::Network),
            min_rtt_timer: 0,
            window_timer: 0,
            timers: 0,
        }
    }

    fn next_timer(&mut self) -> u64 {
        self.timers += 1;
        self.timers
    }

    fn set_window_timer(&mut self, orders: &mut Orders<Timer>) {
        self.window_timer = self.next_timer();
        orders.after(UPDATE_INTERVAL, Timer::Clock(self.window_timer));
    }

    fn ended(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        if let Some(began) = self.calls.remove(&slot) {
            let then = self.gradient.sample(began, orders.now);
            self.follow(then, orders);
        }
    }

    fn follow(&mut self, then: Then, orders: &mut Orders<Timer>) {
        match then {
            Then::Nothing => {}
            Then::Measured => {
                self.min_rtt_timer = self.next_timer();
                let jitter = self.chance.unit() * MIN_RTT_JITTER;
                let delay = MIN_RTT_INTERVAL.mul_f64(1.0 + jitter);
                orders.after(delay, Timer::Clock(self.min_rtt_timer));
                self.set_window_timer(orders);
            }
            Then::Measure => {
                self.min_rtt_timer = 0;
                self.gradient.measure(orders.now);
            }
        }
    }
}

impl Peer for AdaptiveConcurrency {
    type Timer = Timer;

    fn begin(&mut self, orders: &mut Orders<Timer>) {
        self.set_window_timer(orders);
    }

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        if self.calls.len() >= self.gradient.limit as usize {
            return orders.fail(call.slot);
        }
        self.calls.insert(call.slot, orders.now);
        orders.attempt(call.slot);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        if answer.is_refusal() {
            orders.fail(slot);
            self.ended(slot, orders);
        }
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.ended(slot, orders);
    }

    fn leave(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        self.calls.remove(&slot);
    }

    fn timer(&mut self, timer: Timer, orders: &mut Orders<Timer>) {
        let Timer::Clock(number) = timer else {
            return;
        };
        if number == self.min_rtt_timer {
            self.gradient.measure(orders.now);
        } else if number == self.window_timer && self.gradient.deferred.is_none() {
            let then = self.gradient.window();
            self.follow(then, orders);
            self.set_window_timer(orders);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(limit: u32) -> Gradient {
        Gradient {
            limit,
            deferred: None,
            min_rtt: 0.1,
            ..Gradient::new()
        }
    }

    #[test]
    fn the_next_limit_is_the_gradients_and_a_root_of_headroom() {
        // 100 x 0.125 / 0.125, and 10.
        assert_eq!(at(100).next(0.125), 110);
        // The gradient is at most 2 and at least a half.
        assert_eq!(at(100).next(0.01), 214);
        assert_eq!(at(100).next(10.0), 57);
        assert_eq!(at(3).next(10.0), LEAST);
        assert_eq!(at(900).next(0.01), MOST);
    }

    #[test]
    fn min_rtt_is_measured_by_50_calls_at_3_at_once() {
        let mut gradient = at(40);
        gradient.measure(Time(7));
        assert_eq!(gradient.limit, LEAST);
        assert_eq!(gradient.sample(Time(6), Time(9)), Then::Nothing);
        let ended = |n: u64| Time(7 + n * 1_000_000);
        for n in 1..50 {
            assert_eq!(gradient.sample(Time(7), ended(n)), Then::Nothing);
            assert_eq!(gradient.window(), Then::Nothing);
        }
        assert_eq!(gradient.sample(Time(7), ended(50)), Then::Measured);
        assert_eq!(gradient.limit, 40);
        assert!((gradient.min_rtt - 0.045).abs() < 1e-9, "{gradient:?}");
    }

    #[test]
    fn five_windows_at_the_least_ask_for_another_measurement() {
        let mut gradient = at(LEAST);
        for n in 1..=5 {
            gradient.samples.push(9.0);
            let expected = match n {
                5 => Then::Measure,
                _ => Then::Nothing,
            };
            assert_eq!(gradient.window(), expected, "window {n}");
        }
    }
}
