//! No protection: each call is one attempt, at once.

use super::peer::{Arrival, Orders, Peer, Slot};
use super::words::Answer;

#[derive(Debug)]
pub(crate) struct NoProtection;

impl Peer for NoProtection {
    type Timer = ();

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<()>) {
        orders.attempt(call.slot);
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<()>) {
        if answer.is_refusal() {
            orders.fail(slot);
        }
    }

    fn end(&mut self, _: Slot, _: &mut Orders<()>) {}

    fn leave(&mut self, _: Slot, _: &mut Orders<()>) {}

    fn timer(&mut self, (): (), _: &mut Orders<()>) {}
}
