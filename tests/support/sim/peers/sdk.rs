//! The retries of an OpenAI SDK, on top of any peer.
//!
//! Source: openai-python `_base_client.py` (`_should_retry`, `_calculate_retry_timeout`) and
//! `_constants.py`: 2 retries of 408, 409, 429 and 5xx; the server's wait if it is above 0 and at
//! most 120 s, no retry if it is longer (until 2025 60 s, and a back-off beyond); else 0.5 s x 2^n,
//! at most 8 s, times 0.75 to 1.

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::call::Headers;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Order, Orders, Peer, Slot};
use super::super::words::Answer;
use super::headers::retry_after;

/// Retries of a call.
const MAX_RETRIES: u32 = 2;
/// In seconds.
const INITIAL_DELAY: f64 = 0.5;
const MAX_DELAY: f64 = 8.0;
const MAX_RETRY_AFTER: f64 = 120.0;

/// The wait before retry number `retry`, from 0; `None`: no more. `unit` is from 0 to 1.
fn delay(retry: u32, headers: Option<&Headers>, unit: f64) -> Option<Duration> {
    if retry >= MAX_RETRIES {
        return None;
    }
    let asked = headers.and_then(retry_after);
    let seconds = match asked.filter(|seconds| *seconds > 0.0) {
        Some(seconds) if seconds > MAX_RETRY_AFTER => return None,
        Some(seconds) => seconds,
        None => (INITIAL_DELAY * 2.0_f64.powi(retry as i32)).min(MAX_DELAY) * (1.0 - 0.25 * unit),
    };
    Some(Duration::from_secs_f64(seconds))
}

/// Clients that retry, and a peer between them and the provider.
#[derive(Debug)]
pub(crate) struct Sdk<P: Peer> {
    inner: P,
    calls: BTreeMap<Slot, Call>,
    chance: Draw,
    /// Emptied and filled again and again.
    orders: Vec<Order<P::Timer>>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    arrival: Arrival,
    retries: u32,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The peer has it.
    Asked,
    /// The provider has it, or the client an answer: too late for a retry.
    Out,
    /// The SDK sleeps.
    Asleep,
}

/// What the SDK or its peer want to be reminded of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer<T> {
    Peer(T),
    /// The call of this slot and number is sent again.
    Retry(Slot, u64),
}

impl<P: Peer> Sdk<P> {
    pub(crate) fn new(inner: P, seed: u64) -> Sdk<P> {
        Sdk {
            inner,
            calls: BTreeMap::new(),
            chance: Draw::new(seed, For::Clients),
            orders: Vec::new(),
        }
    }

    /// Has the peer do something, and carries out its orders; `answer` is what it was told.
    fn ask(
        &mut self,
        orders: &mut Orders<Timer<P::Timer>>,
        answer: Option<(Slot, &Answer)>,
        what: impl FnOnce(&mut P, &mut Orders<P::Timer>),
    ) {
        let mut inner = Orders {
            now: orders.now,
            list: std::mem::take(&mut self.orders),
        };
        what(&mut self.inner, &mut inner);
        for order in inner.list.drain(..) {
            match order {
                Order::Attempt(slot) => {
                    self.set(slot, Stage::Out);
                    orders.attempt(slot);
                }
                Order::Fail(slot) => {
                    let answer = answer.filter(|(of, _)| *of == slot);
                    self.failed(slot, answer.map(|(_, answer)| answer), orders);
                }
                Order::At(at, timer) => orders.list.push(Order::At(at, Timer::Peer(timer))),
            }
        }
        self.orders = inner.list;
    }

    fn set(&mut self, slot: Slot, stage: Stage) {
        if let Some(call) = self.calls.get_mut(&slot) {
            call.stage = stage;
        }
    }

    /// The client gets a refusal, the provider's or the peer's own.
    fn failed(
        &mut self,
        slot: Slot,
        answer: Option<&Answer>,
        orders: &mut Orders<Timer<P::Timer>>,
    ) {
        let Some(call) = self.calls.get_mut(&slot) else {
            return;
        };
        let headers = answer.map(|answer| &answer.headers);
        let delay = match call.stage {
            Stage::Asked => delay(call.retries, headers, self.chance.unit()),
            Stage::Out | Stage::Asleep => None,
        };
        let Some(delay) = delay else {
            self.calls.remove(&slot);
            orders.fail(slot);
            return;
        };
        call.retries += 1;
        call.stage = Stage::Asleep;
        orders.after(delay, Timer::Retry(slot, call.arrival.number));
    }
}

impl<P: Peer> Peer for Sdk<P> {
    type Timer = Timer<P::Timer>;

    fn begin(&mut self, orders: &mut Orders<Self::Timer>) {
        self.ask(orders, None, |peer, orders| peer.begin(orders));
    }

    fn arrive(&mut self, arrival: Arrival, orders: &mut Orders<Self::Timer>) {
        let call = Call {
            arrival,
            retries: 0,
            stage: Stage::Asked,
        };
        self.calls.insert(arrival.slot, call);
        self.ask(orders, None, |peer, orders| peer.arrive(arrival, orders));
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Self::Timer>) {
        if answer.is_refusal() {
            self.set(slot, Stage::Asked);
        }
        self.ask(orders, Some((slot, answer)), |peer, orders| {
            peer.head(slot, answer, orders);
        });
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Self::Timer>) {
        self.ask(orders, None, |peer, orders| peer.end(slot, orders));
        self.calls.remove(&slot);
    }

    fn leave(&mut self, slot: Slot, orders: &mut Orders<Self::Timer>) {
        let call = self.calls.remove(&slot);
        if call.is_some_and(|call| call.stage != Stage::Asleep) {
            self.ask(orders, None, |peer, orders| peer.leave(slot, orders));
        }
    }

    fn timer(&mut self, timer: Self::Timer, orders: &mut Orders<Self::Timer>) {
        match timer {
            Timer::Peer(timer) => {
                self.ask(orders, None, |peer, orders| peer.timer(timer, orders));
            }
            Timer::Retry(slot, number) => {
                let call = self.calls.get_mut(&slot);
                let is_due =
                    |call: &&mut Call| call.arrival.number == number && call.stage == Stage::Asleep;
                if let Some(call) = call.filter(is_due) {
                    call.stage = Stage::Asked;
                    // To the peer it is a new call, and no call before it has its number.
                    let number = number | u64::from(call.retries) << 48;
                    let arrival = Arrival {
                        number,
                        ..call.arrival
                    };
                    self.ask(orders, None, |peer, orders| peer.arrive(arrival, orders));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &str, value: &str) -> Headers {
        vec![(name.as_bytes().to_vec(), value.as_bytes().to_vec())]
    }

    #[test]
    fn the_schedule_is_the_sdks() {
        let millis = |retry, headers: Option<&Headers>, unit| {
            delay(retry, headers, unit).map(|delay| delay.as_millis())
        };
        assert_eq!(millis(0, None, 0.0), Some(500));
        assert_eq!(millis(0, None, 1.0), Some(375));
        assert_eq!(millis(1, None, 0.0), Some(1000));
        assert_eq!(millis(1, None, 1.0), Some(750));
        assert_eq!(millis(2, None, 0.0), None);
        for (name, value, expected) in [
            ("retry-after", "7", Some(7000)),
            ("retry-after", "0.25", Some(250)),
            ("retry-after", "120", Some(120_000)),
            ("retry-after", "121", None),
            ("retry-after", "0", Some(500)),
            ("retry-after", "-1", Some(500)),
            ("retry-after", "soon", Some(500)),
            ("retry-after-ms", "1500", Some(1500)),
        ] {
            let headers = headers(name, value);
            assert_eq!(millis(0, Some(&headers), 0.0), expected, "{name} {value}");
        }
        let mut both = headers("retry-after", "2");
        both.extend(headers("retry-after-ms", "1100"));
        assert_eq!(millis(0, Some(&both), 0.0), Some(1100));
    }
}
