//! The retries of an OpenAI SDK, on top of any peer.
//!
//! Source: openai-python `_base_client.py` (`_should_retry`, `_calculate_retry_timeout`) and
//! `_constants.py`: 2 retries of 408, 409, 429 and 5xx; the server's wait if it is above 0 and at
//! most 120 s, no retry if it is longer or after `x-should-retry: false`; else 0.5 s x 2^n, at most
//! 8 s, times 0.75 to 1.

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::call::Headers;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Order, Orders, Peer, Slot, TRY};
use super::super::words::Answer;
use super::headers::{retry_after, text};

/// Retries of a call.
const MAX_RETRIES: u32 = 2;
/// In seconds.
const INITIAL_DELAY: f64 = 0.5;
const MAX_DELAY: f64 = 8.0;
const MAX_RETRY_AFTER: f64 = 120.0;

/// The wait before retry number `retry`, from 0; `None`: no more. `unit` is from 0 to 1.
fn delay(retry: u32, headers: Option<&Headers>, unit: f64) -> Option<Duration> {
    let is_told_not_to = |headers: &Headers| text(headers, "x-should-retry") == Some("false");
    if retry >= MAX_RETRIES || headers.is_some_and(is_told_not_to) {
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
                    self.failed(slot, answer.map(|(_, answer)| &answer.headers), orders);
                }
                Order::Refuse(slot, headers) => self.failed(slot, Some(&headers), orders),
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
        headers: Option<&Headers>,
        orders: &mut Orders<Timer<P::Timer>>,
    ) {
        let Some(call) = self.calls.get_mut(&slot) else {
            return;
        };
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
                    // To the peer it is a new call.
                    let number = number + u64::from(call.retries) * TRY;
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
    use weir::core::time::Time;

    use super::super::super::clients::{Clients, Habits};
    use super::super::super::load::Load;
    use super::super::super::models;
    use super::super::super::world::{Seen, What, World};
    use super::*;

    /// Refuses a call twice, with a wait, and keeps count of the calls it has.
    #[derive(Debug)]
    struct Twice {
        has: i32,
        asked: u32,
    }

    impl Peer for Twice {
        type Timer = ();

        fn arrive(&mut self, call: Arrival, orders: &mut Orders<()>) {
            self.asked += 1;
            match self.asked {
                1 | 2 => orders.refuse(call.slot, headers("retry-after-ms", "700")),
                _ => {
                    self.has += 1;
                    orders.attempt(call.slot);
                }
            }
        }

        fn head(&mut self, _: Slot, _: &Answer, _: &mut Orders<()>) {}

        fn end(&mut self, _: Slot, _: &mut Orders<()>) {
            self.has -= 1;
        }

        fn leave(&mut self, _: Slot, _: &mut Orders<()>) {
            self.has -= 1;
        }

        fn timer(&mut self, (): (), _: &mut Orders<()>) {}
    }

    /// The moments of one call's attempts after it came, and what it was in the end.
    fn one_call(patience: Duration) -> (Vec<Duration>, Option<What>) {
        let json = r#"[{"name":"m","kind":"concurrency","limit":1}]"#;
        let model = models::parse("m.json", json).unwrap().remove(0);
        let habits = Habits {
            patience,
            ..Habits::default()
        };
        let seed = (0..).find(|seed| Load::of(&[(1.0, 1.0, 1.0)]).arrivals(*seed).count() == 1);
        let load = Load::of(&[(1.0, 1.0, 1.0)]);
        let clients = Clients::new(&load, &model, habits, seed.unwrap());
        let peer = Sdk::new(Twice { has: 0, asked: 0 }, 1);
        let mut world = World::new(peer, clients, &model);
        world.watch();
        world.run();
        assert_eq!(
            world.peer.inner.has, 0,
            "it was told of no end that was none"
        );
        let seen: Vec<Seen> = world.seen.take().unwrap();
        let came: Time = seen[0].at;
        let attempts = seen
            .iter()
            .filter(|seen| matches!(seen.what, What::Attempt { .. }));
        let attempts = attempts.map(|seen| seen.at.since(came)).collect();
        (attempts, seen.last().map(|seen| seen.what))
    }

    #[test]
    fn a_peers_own_refusals_are_retried_when_they_say() {
        let (attempts, last) = one_call(Duration::from_secs(30));
        assert_eq!(attempts, [Duration::from_millis(1400)]);
        assert_eq!(last, Some(What::Ended));
    }

    #[test]
    fn the_peer_has_nothing_of_a_client_that_leaves_between_two_tries() {
        let (attempts, last) = one_call(Duration::from_millis(1000));
        assert!(attempts.is_empty());
        assert_eq!(last, Some(What::Left));
    }

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
            ("x-should-retry", "false", None),
        ] {
            let headers = headers(name, value);
            assert_eq!(millis(0, Some(&headers), 0.0), expected, "{name} {value}");
        }
        let mut both = headers("retry-after", "2");
        both.extend(headers("retry-after-ms", "1100"));
        assert_eq!(millis(0, Some(&both), 0.0), Some(1100));
    }
}
