//! The virtual clock: what will happen, in order of time and, at the same time, in the order in
//! which it was planned.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use weir::core::time::Time;

/// Everything that is planned.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    planned: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    order: u64,
    event: E,
}

impl<E> Default for Agenda<E> {
    fn default() -> Agenda<E> {
        Agenda {
            heap: BinaryHeap::new(),
            planned: 0,
        }
    }
}

impl<E> Agenda<E> {
    pub(crate) fn plan(&mut self, at: Time, event: E) {
        let order = self.planned;
        self.planned += 1;
        self.heap.push(Reverse(Entry { at, order, event }));
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    pub(crate) fn take(&mut self) -> Option<(Time, E)> {
        let Reverse(entry) = self.heap.pop()?;
        Some((entry.at, entry.event))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Entry<E>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Entry<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Entry<E>) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
