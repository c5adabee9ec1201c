//! Envoy's local rate limit filter: a token bucket that refuses.
//!
//! Source: Envoy `extensions.filters.http.local_ratelimit`, `type.v3.TokenBucket` and
//! `AtomicTokenBucketImpl`: it begins full, fills without steps, and a call that finds no token gets
//! 429 at once. Its rate and size are tuned: [`super::tuning`].

use weir::core::time::Time;

use super::super::model::TokenBucket;
use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::tuning::Rate;

/// The filter.
#[derive(Debug)]
pub(crate) struct LocalRatelimit(TokenBucket);

impl LocalRatelimit {
    pub(crate) fn new(rate: Rate) -> LocalRatelimit {
        LocalRatelimit(TokenBucket::new(rate.per_second, rate.burst))
    }
}

impl Peer for LocalRatelimit {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let now = orders.now.since(Time(0));
        if self.0.check(now, 1.0).is_err() {
            return orders.fail(call.slot);
        }
        self.0.charge(now, 1.0);
        orders.attempt(call.slot);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        if answer.is_refusal() {
            orders.fail(slot);
        }
    }

    fn end(&mut self, _: Slot, _: &mut Orders<Timer>) {}

    fn leave(&mut self, _: Slot, _: &mut Orders<Timer>) {}

    fn timer(&mut self, _: Timer, _: &mut Orders<Timer>) {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::peer::Order;
    use super::*;

    #[test]
    fn a_full_bucket_then_its_rate_and_the_rest_is_refused() {
        let mut filter = LocalRatelimit::new(Rate {
            per_second: 2.0,
            burst: 3.0,
        });
        let mut passed_at = |millis| {
            let mut orders = Orders {
                now: Time(0) + Duration::from_millis(millis),
                list: Vec::new(),
            };
            let call = Arrival { slot: 0, number: 0 };
            filter.arrive(call, &mut orders);
            matches!(orders.list[..], [Order::Attempt(0)])
        };
        let passed: Vec<bool> = [0, 0, 0, 0, 499, 500, 600, 1000].map(&mut passed_at).into();
        assert_eq!(passed, [true, true, true, false, false, true, false, true]);
    }
}
