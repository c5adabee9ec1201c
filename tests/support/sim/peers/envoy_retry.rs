//! Envoy's router retries: `retry_policy` with `rate_limited_retry_back_off`.
//!
//! Source: Envoy `RetryStateImpl`, `backoff_strategy.cc`, and the reference of
//! `config.route.v3.RetryPolicy`. The n-th retry comes after a uniform draw from 0 to
//! `min(base_interval x 2^(n-1), max_interval)`; defaults 25 ms and ten times that. A `Retry-After`
//! of R whole seconds, R at most `max_interval` (300 s), is followed by a draw from R to 1.5 R in
//! its place, and does not move n. The breaker for retries (3 at once) is lifted.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::headers::number;

/// A route's `retry_policy`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) num_retries: u32,
    pub(crate) base: Duration,
    pub(crate) max: Duration,
}

impl Policy {
    /// Three retries and the default back-off.
    pub(crate) const DOCUMENTED: Policy = Policy {
        num_retries: 3,
        base: Duration::from_millis(25),
        max: Duration::from_millis(250),
    };

    /// As long as a client has patience: what retries alone can do.
    pub(crate) const HARD: Policy = Policy {
        num_retries: 100,
        base: Duration::from_millis(250),
        max: Duration::from_millis(2500),
    };

    /// Before the `n`-th retry by back-off, from 1. `unit` is from 0 to 1.
    fn back_off(&self, n: u32, unit: f64) -> Duration {
        let doubled = self.base.saturating_mul(1 << (n - 1).min(20));
        doubled.min(self.max).mul_f64(unit)
    }
}

/// The longest `Retry-After` that is followed, in seconds.
const MAX_INTERVAL: f64 = 300.0;

/// The wait that `Retry-After` makes.
fn rate_limited(seconds: f64, unit: f64) -> Option<Duration> {
    let is_fine = seconds.fract() == 0.0 && (1.0..=MAX_INTERVAL).contains(&seconds);
    is_fine.then(|| Duration::from_secs_f64(seconds * (1.0 + unit / 2.0)))
}

/// Envoy's router.
#[derive(Debug)]
pub(crate) struct EnvoyRetry {
    policy: Policy,
    calls: BTreeMap<Slot, Call>,
    chance: Draw,
}

#[derive(Debug)]
struct Call {
    number: u64,
    retries: u32,
    /// Retries by back-off.
    back_offs: u32,
}

impl EnvoyRetry {
    pub(crate) fn new(policy: Policy, seed: u64) -> EnvoyRetry {
        EnvoyRetry {
            policy,
            calls: BTreeMap::new(),
            chance: Draw::new(seed, For::Network),
        }
    }
}

impl Peer for EnvoyRetry {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (slot, number) = (call.slot, call.number);
        let call = Call {
            number,
            retries: 0,
            back_offs: 0,
        };
        self.calls.insert(slot, call);
        orders.attempt(slot);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        let Some(call) = self.calls.get_mut(&slot).filter(|_| answer.is_refusal()) else {
            return;
        };
        if call.retries >= self.policy.num_retries {
            self.calls.remove(&slot);
            return orders.fail(slot);
        }
        call.retries += 1;
        let unit = self.chance.unit();
        let asked = number(&answer.headers, "retry-after").and_then(|r| rate_limited(r, unit));
        let delay = asked.unwrap_or_else(|| {
            call.back_offs += 1;
            self.policy.back_off(call.back_offs, unit)
        });
        orders.after(delay, Timer::Call(slot, call.number));
    }

    fn end(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        self.calls.remove(&slot);
    }

    fn leave(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        self.calls.remove(&slot);
    }

    fn timer(&mut self, timer: Timer, orders: &mut Orders<Timer>) {
        let Timer::Call(slot, number) = timer else {
            return;
        };
        if self.calls.get(&slot).is_some_and(|c| c.number == number) {
            orders.attempt(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_up_to_its_maximum() {
        let most = |n| Policy::DOCUMENTED.back_off(n, 1.0).as_millis();
        assert_eq!([1, 2, 3, 4, 5, 60].map(most), [25, 50, 100, 200, 250, 250]);
        assert_eq!(Policy::DOCUMENTED.back_off(3, 0.0), Duration::ZERO);
    }

    #[test]
    fn retry_after_is_a_lower_bound_and_half_as_much_the_jitter() {
        let secs = |r, unit| rate_limited(r, unit).map(|d| d.as_secs_f64());
        assert_eq!(secs(2.0, 0.0), Some(2.0));
        assert_eq!(secs(2.0, 1.0), Some(3.0));
        assert_eq!(secs(300.0, 0.0), Some(300.0));
        // Too long or no whole number: skipped, and the back-off is used.
        assert_eq!([301.0, 0.0, 1.5].map(|r| secs(r, 0.0)), [None; 3]);
    }
}
