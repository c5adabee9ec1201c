//! No protection: each call is one attempt, at once.

use super::peer::{Arrival, Orders, Peer, Slot};
use super::peers::Timer;
use super::words::Answer;

#[derive(Debug)]
pub(crate) struct NoProtection;

impl Peer for NoProtection {
    type Timer = Timer;

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Timer>) {
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
