//! Many processes of one peer, which know nothing of each other; calls are spread over them.

use std::collections::BTreeMap;

use super::super::draw::{Draw, For};
use super::super::peer::{Arrival, Order, Orders, Peer, Slot};
use super::super::words::Answer;
use super::{AnyPeer, Timer};

/// The processes.
pub(crate) struct Envoys {
    processes: Vec<AnyPeer>,
    /// Which has a call.
    place: BTreeMap<Slot, u32>,
    seed: u64,
    /// Emptied and filled again and again.
    orders: Vec<Order<Timer>>,
}

impl Envoys {
    /// At least one process.
    pub(crate) fn new(processes: Vec<AnyPeer>, seed: u64) -> Envoys {
        Envoys {
            processes,
            place: BTreeMap::new(),
            seed,
            orders: Vec::new(),
        }
    }

    fn ask(
        &mut self,
        process: u32,
        orders: &mut Orders<(u32, Timer)>,
        what: impl FnOnce(&mut AnyPeer, &mut Orders<Timer>),
    ) {
        let mut inner = Orders {
            now: orders.now,
            list: std::mem::take(&mut self.orders),
        };
        what(&mut self.processes[process as usize], &mut inner);
        orders
            .list
            .extend(inner.list.drain(..).map(|order| match order {
                Order::Attempt(slot) => Order::Attempt(slot),
                Order::Fail(slot) => Order::Fail(slot),
                Order::Refuse(slot, headers) => Order::Refuse(slot, headers),
                Order::At(at, timer) => Order::At(at, (process, timer)),
            }));
        self.orders = inner.list;
    }
}

impl Peer for Envoys {
    type Timer = (u32, Timer);

    fn begin(&mut self, orders: &mut Orders<Self::Timer>) {
        for process in 0..self.processes.len() as u32 {
            self.ask(process, orders, |peer, orders| peer.begin(orders));
        }
    }

    fn arrive(&mut self, call: Arrival, orders: &mut Orders<Self::Timer>) {
        let mut draw = Draw::of_call(self.seed, For::Place, call.number);
        let process = draw.below(self.processes.len() as u64) as u32;
        self.place.insert(call.slot, process);
        self.ask(process, orders, |peer, orders| peer.arrive(call, orders));
    }

    fn head(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Self::Timer>) {
        if let Some(process) = self.place.get(&slot).copied() {
            self.ask(process, orders, |peer, orders| {
                peer.head(slot, answer, orders);
            });
        }
    }

    fn end(&mut self, slot: Slot, orders: &mut Orders<Self::Timer>) {
        if let Some(process) = self.place.remove(&slot) {
            self.ask(process, orders, |peer, orders| peer.end(slot, orders));
        }
    }

    fn leave(&mut self, slot: Slot, orders: &mut Orders<Self::Timer>) {
        if let Some(process) = self.place.remove(&slot) {
            self.ask(process, orders, |peer, orders| peer.leave(slot, orders));
        }
    }

    fn timer(&mut self, (process, timer): Self::Timer, orders: &mut Orders<Self::Timer>) {
        self.ask(process, orders, |peer, orders| peer.timer(timer, orders));
    }
}
