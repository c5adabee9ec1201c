//! AWS SDKs in adaptive retry mode: a token bucket whose rate is CUBIC's, and their retries.
//!
//! Source: botocore `retries/{adaptive,bucket,standard,quota}.py`. The bucket is in use from the
//! first throttle on; its rate is at most twice the measured one and at least 0.5 a second, and it
//! holds a second of it, at least one. Each attempt takes a token. Three attempts; before the n-th
//! retry a uniform draw up to `min(2^(n-1), 20)` s; a retry takes 5 of 500 of the client's quota,
//! which its success gives back, and any other success 1. `Retry-After` is not read. All calls share
//! one client, and wait for tokens first come, first served (its threads race for them).

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::time::Time;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::cubic::{Clocker, Cubic};
use super::line::Line;

/// In calls a second.
const LEAST_RATE: f64 = 0.5;
const MOST_SCALE: f64 = 2.0;
const MAX_ATTEMPTS: u32 = 3;
/// In seconds.
const MAX_BACK_OFF: f64 = 20.0;
const QUOTA: u32 = 500;
const RETRY_COST: u32 = 5;
const NO_RETRY_INCREMENT: u32 = 1;
/// Less of a token is missing than a clock can tell.
const EPSILON: f64 = 1e-9;

/// `TokenBucket`.
#[derive(Debug)]
struct Bucket {
    rate: f64,
    most: f64,
    tokens: f64,
    /// In seconds.
    filled: f64,
}

impl Bucket {
    fn refill(&mut self, now: f64) {
        let more = (now - self.filled) * self.rate;
        self.tokens = (self.tokens + more).min(self.most);
        self.filled = now;
    }

    fn set_rate(&mut self, rate: f64, now: f64) {
        self.refill(now);
        self.rate = rate.max(LEAST_RATE);
        self.most = rate.max(1.0);
        self.tokens = self.tokens.min(self.most);
    }

    /// Takes a token, or tells after how many seconds there is one.
    fn take(&mut self, now: f64) -> Result<(), f64> {
        self.refill(now);
        if self.tokens >= 1.0 - EPSILON {
            self.tokens = (self.tokens - 1.0).max(0.0);
            return Ok(());
        }
        Err((1.0 - self.tokens) / self.rate)
    }
}

/// A client in adaptive mode.
#[derive(Debug)]
pub(crate) struct AwsAdaptive {
    cubic: Cubic,
    clocker: Clocker,
    /// Used once there was a throttle.
    bucket: Bucket,
    is_enabled: bool,
    quota: u32,
    calls: BTreeMap<Slot, Call>,
    waiting: Line,
    tickets: u64,
    /// The last wake-up that was asked for.
    wake: u64,
    chance: Draw,
}

#[derive(Debug)]
struct Call {
    number: u64,
    ticket: u64,
    attempts: u32,
}

impl AwsAdaptive {
    pub(crate) fn new(seed: u64) -> AwsAdaptive {
        AwsAdaptive {
            cubic: Cubic::default(),
            clocker: Clocker::default(),
            bucket: Bucket {
                rate: 1.0,
                most: 1.0,
                tokens: 0.0,
                filled: 0.0,
            },
            is_enabled: false,
            quota: QUOTA,
            calls: BTreeMap::new(),
            waiting: Line::default(),
            tickets: 0,
            wake: 0,
            chance: Draw::new(seed, For::Network),
        }
    }

    /// A call waits for a token.
    fn queue(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.tickets += 1;
        if let Some(call) = self.calls.get_mut(&slot) {
            call.ticket = self.tickets;
            self.waiting.push(self.tickets, slot);
        }
        self.start_some(orders);
    }

    fn start_some(&mut self, orders: &mut Orders<Timer>) {
        while !self.waiting.is_empty() {
            if self.is_enabled
                && let Err(seconds) = self.bucket.take(seconds(orders.now))
            {
                // A nanosecond more, so that it is there.
                let wait = Duration::from_secs_f64(seconds) + Duration::from_nanos(1);
                self.wake += 1;
                orders.after(wait, Timer::Clock(self.wake));
                return;
            }
            if let Some(slot) = self.waiting.pop() {
                if let Some(call) = self.calls.get_mut(&slot) {
                    call.attempts += 1;
                }
                orders.attempt(slot);
            }
        }
    }

    fn learn(&mut self, is_throttle: bool, now: f64) {
        let measured = self.clocker.record(now);
        let rate = if is_throttle {
            let rate = match self.is_enabled {
                true => measured.min(self.bucket.rate),
                false => measured,
            };
            self.is_enabled = true;
            self.cubic.throttled(rate, now)
        } else {
            self.cubic.succeeded(now)
        };
        self.bucket.set_rate(rate.min(MOST_SCALE * measured), now);
    }
}

fn seconds(now: Time) -> f64 {
    now.since(Time(0)).as_secs_f64()
}

impl Peer for AwsAdaptive {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (slot, number) = (call.slot, call.number);
        let call = Call {
            number,
            ticket: 0,
            attempts: 0,
        };
        self.calls.insert(slot, call);
        self.queue(slot, orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        self.learn(answer.is_refusal(), seconds(orders.now));
        let Some(call) = self.calls.get(&slot) else {
            return;
        };
        if !answer.is_refusal() {
            let back = match call.attempts {
                1 => NO_RETRY_INCREMENT,
                _ => RETRY_COST,
            };
            self.quota = QUOTA.min(self.quota + back);
        } else if call.attempts < MAX_ATTEMPTS && self.quota >= RETRY_COST {
            self.quota -= RETRY_COST;
            let most = 2.0_f64.powi(call.attempts as i32 - 1).min(MAX_BACK_OFF);
            let delay = Duration::from_secs_f64(most * self.chance.unit());
            orders.after(delay, Timer::Call(slot, call.number));
        } else {
            self.calls.remove(&slot);
            orders.fail(slot);
        }
        // The rate has changed.
        self.start_some(orders);
    }

    fn end(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        self.calls.remove(&slot);
    }

    fn leave(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        if let Some(call) = self.calls.remove(&slot) {
            self.waiting.remove(call.ticket, slot);
        }
    }

    fn timer(&mut self, timer: Timer, orders: &mut Orders<Timer>) {
        match timer {
            Timer::Call(slot, number) => {
                if self.calls.get(&slot).is_some_and(|c| c.number == number) {
                    self.queue(slot, orders);
                }
            }
            Timer::Clock(wake) if wake == self.wake => self.start_some(orders),
            Timer::Clock(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_a_second_of_its_rate() {
        let mut bucket = Bucket {
            rate: 1.0,
            most: 1.0,
            tokens: 0.0,
            filled: 0.0,
        };
        bucket.set_rate(4.0, 0.0);
        assert!((bucket.take(0.0).unwrap_err() - 0.25).abs() < 1e-12);
        assert!(bucket.take(0.25).is_ok());
        for _ in 0..4 {
            assert!(bucket.take(60.0).is_ok());
        }
        assert!(bucket.take(60.0).is_err());
        bucket.set_rate(0.1, 60.0);
        // Not below one call in two seconds.
        assert!((bucket.take(60.0).unwrap_err() - 2.0).abs() < 1e-12);
    }
}
