//! A gentle prober: paces from the first refusal on, a little faster each second.
//!
//! Source: a baseline of our own. Off until the first refusal. A refusal that starts an episode: the
//! rate becomes 0.85 x min(rate, accepted in the last second), with a pause of 0.4 s or what the
//! server asks for. While calls wait the rate grows by 7 % and 1 a second each second; without, it is
//! at most 1.5 x what was accepted in the last second and 3. First come, first served; a refused
//! call keeps its place.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weir::core::time::Time;

use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::line::Line;

const DECREASE: f64 = 0.85;
const PAUSE: Duration = Duration::from_millis(400);
/// A second.
const GROWTH: f64 = 0.07;
const STEP: f64 = 1.0;
/// In calls a second, so that it starts again from nothing.
const LEAST: f64 = 0.5;
const SPARE: f64 = 1.5;
const SPARE_STEP: f64 = 3.0;
const SECOND: Duration = Duration::from_secs(1);
/// Between two looks at the rate.
const TICK: Duration = Duration::from_millis(20);

/// The rate alone.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Calls a second.
    rate: f64,
    at: Time,
    /// Starts that may be made; at most one.
    credit: f64,
}

impl Pace {
    /// Time passes, with calls waiting or not.
    fn pass(&mut self, now: Time, is_waited_for: bool, accepted: f64) {
        let seconds = now.since(self.at).as_secs_f64();
        self.at = self.at.max(now);
        if is_waited_for {
            self.rate += (self.rate * GROWTH + STEP) * seconds;
        } else {
            self.rate = self.rate.min(SPARE * accepted + SPARE_STEP);
        }
        self.credit = (self.credit + self.rate * seconds).min(1.0);
    }
}

/// The prober.
#[derive(Debug, Default)]
pub(crate) struct GentleProber {
    /// From the first refusal on.
    pace: Option<Pace>,
    episode: Time,
    paused_until: Time,
    /// When answers to what was accepted began, in the last second.
    accepted: VecDeque<Time>,
    waiting: Line,
    calls: BTreeMap<Slot, Call>,
    /// Calls waited when it last looked.
    is_backlogged: bool,
    is_awake: bool,
}

#[derive(Debug)]
struct Call {
    number: u64,
    /// Its last attempt.
    began: Time,
}

impl GentleProber {
    fn accepted(&mut self, now: Time) -> f64 {
        while self.accepted.front().is_some_and(|at| *at + SECOND <= now) {
            self.accepted.pop_front();
        }
        self.accepted.len() as f64
    }

    fn start_some(&mut self, orders: &mut Orders<Timer>) {
        let now = orders.now;
        let accepted = self.accepted(now);
        if let Some(pace) = &mut self.pace {
            pace.pass(now, self.is_backlogged, accepted);
        }
        while !self.waiting.is_empty() {
            if now < self.paused_until || self.pace.is_some_and(|pace| pace.credit < 1.0) {
                break;
            }
            if let Some(pace) = &mut self.pace {
                pace.credit -= 1.0;
            }
            if let Some(slot) = self.waiting.pop() {
                if let Some(call) = self.calls.get_mut(&slot) {
                    call.began = now;
                }
                orders.attempt(slot);
            }
        }
        self.is_backlogged = !self.waiting.is_empty();
        if self.is_backlogged && !self.is_awake {
            self.is_awake = true;
            let left = self.pace.map_or(0.0, |p| (1.0 - p.credit) / p.rate);
            let next = Duration::from_secs_f64(left.clamp(1e-6, TICK.as_secs_f64()));
            orders.after(next.max(self.paused_until.since(now)), Timer::Clock(0));
        }
    }

    fn refused(&mut self, began: Time, asked: Option<Duration>, now: Time) {
        let pause = now + asked.unwrap_or(PAUSE);
        if self.pace.is_some() && began < self.episode {
            // Of an episode that was paid for.
            let asked = asked.map_or(Time(0), |wait| now + wait);
            self.paused_until = self.paused_until.max(asked);
            return;
        }
        let accepted = self.accepted(now);
        let rate = self.pace.map_or(f64::INFINITY, |pace| pace.rate);
        self.pace = Some(Pace {
            rate: (DECREASE * rate.min(accepted)).max(LEAST),
            at: pause,
            credit: 0.0,
        });
        self.episode = now;
        self.paused_until = self.paused_until.max(pause);
    }
}

impl Peer for GentleProber {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (slot, number) = (call.slot, call.number);
        let began = orders.now;
        self.calls.insert(slot, Call { number, began });
        self.waiting.push(number, slot);
        self.start_some(orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        let Some(Call { number, began }) = self.calls.get(&slot) else {
            return;
        };
        if answer.is_refusal() {
            self.waiting.push(*number, slot);
            self.refused(*began, answer.min, orders.now);
        } else {
            self.accepted.push_back(orders.now);
        }
        self.start_some(orders);
    }

    fn end(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        self.calls.remove(&slot);
    }

    fn leave(&mut self, slot: Slot, _: &mut Orders<Timer>) {
        if let Some(call) = self.calls.remove(&slot) {
            self.waiting.remove(call.number, slot);
        }
    }

    fn timer(&mut self, _: Timer, orders: &mut Orders<Timer>) {
        self.is_awake = false;
        self.start_some(orders);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_costs_once() {
        let mut prober = GentleProber::default();
        let now = Time(5_000_000_000);
        prober.accepted.extend([now; 20]);
        prober.refused(now, None, now);
        let rate = |prober: &GentleProber| prober.pace.unwrap().rate;
        assert!((rate(&prober) - 17.0).abs() < 1e-9);
        assert_eq!(prober.paused_until, now + PAUSE);
        let before = Time(now.0 - 1);
        prober.refused(before, Some(SECOND), now);
        assert!((rate(&prober) - 17.0).abs() < 1e-9);
        assert_eq!(prober.paused_until, now + SECOND);
    }

    #[test]
    fn it_grows_while_calls_wait_and_stays_near_what_is_used_without() {
        let mut pace = Pace {
            rate: 10.0,
            at: Time(0),
            credit: 0.0,
        };
        pace.pass(Time(1_000_000_000), true, 10.0);
        assert!((pace.rate - 11.7).abs() < 1e-9);
        pace.pass(Time(1_000_000_000), false, 4.0);
        assert!((pace.rate - 9.0).abs() < 1e-9);
    }
}
