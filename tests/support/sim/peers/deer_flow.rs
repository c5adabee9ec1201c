//! deer-flow's cap on calls at once and its retries with decorrelated jitter.
//!
//! Source: bytedance/deer-flow `llm_error_handling_middleware.py` (its PR 4294): one limiter around
//! each attempt, given back during the back-off; 3 attempts, 2 after a refusal by burst rate. The
//! server's wait is kept exactly; else a draw from `base` to `min(8 s, max(base, 3 x the last))`,
//! base 1 s, or 5 s after burst rate. Its circuit breaker is left out: it opens for a minute after
//! five calls that used up their attempts. The cap is off unless it is set: it is tuned here.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Orders, Peer, Slot};
use super::super::words::Answer;
use super::Timer;
use super::headers::retry_after;
use super::line::Line;

/// In milliseconds.
const BASE: u64 = 1000;
const BURST_BASE: u64 = 5000;
const CAP: u64 = 8000;
const ATTEMPTS: u32 = 3;
const BURST_ATTEMPTS: u32 = 2;

/// From where to where a wait is drawn, in milliseconds; `last` is the one before it.
fn window(base: u64, last: Option<u64>) -> (u64, u64) {
    let last = last.unwrap_or(base);
    (base, CAP.min(base.max(3 * last)))
}

/// A process with its middleware.
#[derive(Debug)]
pub(crate) struct DeerFlow {
    /// Calls at once.
    cap: u32,
    in_flight: u32,
    waiting: Line,
    tickets: u64,
    calls: BTreeMap<Slot, Call>,
    chance: Draw,
}

#[derive(Debug)]
struct Call {
    number: u64,
    ticket: u64,
    attempts: u32,
    /// The last wait that was drawn, in milliseconds.
    last: Option<u64>,
    is_in_flight: bool,
}

impl DeerFlow {
    pub(crate) fn new(cap: u32, seed: u64) -> DeerFlow {
        DeerFlow {
            cap,
            in_flight: 0,
            waiting: Line::default(),
            tickets: 0,
            calls: BTreeMap::new(),
            chance: Draw::new(seed, For::Network),
        }
    }

    fn queue(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.tickets += 1;
        if let Some(call) = self.calls.get_mut(&slot) {
            call.ticket = self.tickets;
            self.waiting.push(self.tickets, slot);
        }
        self.start_some(orders);
    }

    fn start_some(&mut self, orders: &mut Orders<Timer>) {
        while self.in_flight < self.cap {
            let Some(slot) = self.waiting.pop() else {
                return;
            };
            self.in_flight += 1;
            if let Some(call) = self.calls.get_mut(&slot) {
                call.attempts += 1;
                call.is_in_flight = true;
            }
            orders.attempt(slot);
        }
    }

    /// Gives back what an attempt holds.
    fn release(&mut self, slot: Slot) {
        if let Some(call) = self.calls.get_mut(&slot)
            && std::mem::take(&mut call.is_in_flight)
        {
            self.in_flight -= 1;
        }
    }

    fn refused(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        let Some(call) = self.calls.get_mut(&slot) else {
            return;
        };
        let is_burst = answer
            .body
            .windows(BURST_CODE.len())
            .any(|part| part == BURST_CODE);
        let (base, attempts) = match is_burst {
            true => (BURST_BASE, BURST_ATTEMPTS),
            false => (BASE, ATTEMPTS),
        };
        if call.attempts >= attempts {
            self.calls.remove(&slot);
            return orders.fail(slot);
        }
        let asked = retry_after(&answer.headers).map(|seconds| (seconds * 1e3).max(0.0) as u64);
        let millis = asked.unwrap_or_else(|| {
            let (least, most) = window(base, call.last);
            let drawn = least + self.chance.below(most - least + 1);
            call.last = Some(drawn);
            drawn
        });
        let number = call.number;
        orders.after(Duration::from_millis(millis), Timer::Call(slot, number));
    }
}

const BURST_CODE: &[u8] = b"limit_burst_rate";

impl Peer for DeerFlow {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
        let (slot, number) = (call.slot, call.number);
        let call = Call {
            number,
            ticket: 0,
            attempts: 0,
            last: None,
            is_in_flight: false,
        };
        self.calls.insert(slot, call);
        self.queue(slot, orders);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        if answer.is_refusal() {
            self.release(slot);
            self.refused(slot, answer, orders);
            self.start_some(orders);
        }
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.leave(slot, orders);
    }

    fn leave(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.release(slot);
        if let Some(call) = self.calls.remove(&slot) {
            self.waiting.remove(call.ticket, slot);
        }
        self.start_some(orders);
    }

    fn timer(&mut self, timer: Timer, orders: &mut Orders<Timer>) {
        let Timer::Call(slot, number) = timer else {
            return;
        };
        if self.calls.get(&slot).is_some_and(|c| c.number == number) {
            self.queue(slot, orders);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_cut_before_the_draw() {
        assert_eq!(window(BASE, None), (1000, 3000));
        assert_eq!(window(BASE, Some(1500)), (1000, 4500));
        assert_eq!(window(BASE, Some(3000)), (1000, 8000));
        assert_eq!(window(BASE, Some(100)), (1000, 1000));
        assert_eq!(window(BURST_BASE, None), (5000, 8000));
        assert_eq!(window(BURST_BASE, Some(8000)), (5000, 8000));
    }

    #[test]
    fn no_draws_pile_up_at_the_cap() {
        let mut chance = Draw::new(1, For::Test);
        let mut last = None;
        let at_cap = (0..10_000).filter(|_| {
            let (least, most) = window(BURST_BASE, last);
            let drawn = least + chance.below(most - least + 1);
            last = Some(drawn);
            drawn == CAP
        });
        // Where the draw is cut, 83 % are at the cap.
        assert!(at_cap.count() < 20);
    }
}
