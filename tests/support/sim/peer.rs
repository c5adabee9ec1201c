//! What stands between clients and provider.
//!
//! A peer is told what happens to calls and answers with [`Order`]s. It sees what a proxy can see:
//! no model, no service time, no patience. To add one, implement [`Peer`] and name it in
//! [`super::cell`].

use std::time::Duration;

use weir::core::call::Headers;
use weir::core::time::Time;

use super::words::Answer;

/// A call that is not over; used again for a later one.
pub(crate) type Slot = u32;

/// A call that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) slot: Slot,
    /// Rises by one with each call; another try of a client's SDK adds [`TRY`].
    pub(crate) number: u64,
}

/// More than there are calls.
pub(crate) const TRY: u64 = 1 << 48;

/// What a peer wants done.
#[derive(Clone, Debug)]
pub(crate) enum Order<T> {
    /// An attempt of the call goes out. It has none that is not over.
    Attempt(Slot),
    /// The client gets an error, or the provider's refusal: the call is over.
    Fail(Slot),
    /// The same, and the client reads these headers.
    Refuse(Slot, Headers),
    /// The peer wants to be asked again.
    At(Time, T),
}

/// What a peer wants done, in order.
#[derive(Debug)]
pub(crate) struct Orders<T> {
    pub(crate) now: Time,
    pub(crate) list: Vec<Order<T>>,
}

impl<T> Orders<T> {
    pub(crate) fn attempt(&mut self, slot: Slot) {
        self.list.push(Order::Attempt(slot));
    }

    pub(crate) fn fail(&mut self, slot: Slot) {
        self.list.push(Order::Fail(slot));
    }

    pub(crate) fn refuse(&mut self, slot: Slot, headers: Headers) {
        self.list.push(Order::Refuse(slot, headers));
    }

    pub(crate) fn after(&mut self, span: Duration, timer: T) {
        self.list.push(Order::At(self.now + span, timer));
    }
}

/// A peer. After [`Peer::end`], [`Peer::leave`] and an order to fail, the call is over.
pub(crate) trait Peer {
    /// What it wants to be reminded of.
    type Timer: Copy + std::fmt::Debug;

    /// The run begins.
    fn begin(&mut self, _: &mut Orders<Self::Timer>) {}

    /// A call arrives.
    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Self::Timer>);

    /// The answer to a call's attempt begins. A success ends with [`Peer::end`]; a refusal is all
    /// there.
    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Self::Timer>);

    /// The last byte of a success.
    fn end(&mut self, slot: Slot, orders: &mut Orders<Self::Timer>);

    /// The client goes away.
    fn leave(&mut self, slot: Slot, orders: &mut Orders<Self::Timer>);

    /// A time it asked for has come.
    fn timer(&mut self, timer: Self::Timer, orders: &mut Orders<Self::Timer>);
}
