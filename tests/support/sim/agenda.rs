//! The virtual clock: what will happen, in order of time and, at the same time, in the order in
//! which it was planned.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use weir::core::time::Time;

/// Everything that is planned.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    /// What was planned in order: there is much of it, and hardly any of it comes to pass.
    lane: VecDeque<Entry<E>>,
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
            lane: VecDeque::new(),
            planned: 0,
        }
    }
}

impl<E> Agenda<E> {
    pub(crate) fn plan(&mut self, at: Time, event: E) {
        let entry = self.entry(at, event);
        self.heap.push(Reverse(entry));
    }

    /// Plans what usually comes after everything planned in this way before: cheaper then.
    pub(crate) fn plan_in_order(&mut self, at: Time, event: E) {
        let entry = self.entry(at, event);
        if self.lane.back().is_none_or(|last| last.at <= at) {
            self.lane.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        let next = [
            self.heap.peek().map(|e| e.0.at),
            self.lane.front().map(|e| e.at),
        ];
        next.into_iter().flatten().min()
    }

    pub(crate) fn take(&mut self) -> Option<(Time, E)> {
        let entry = match (self.heap.peek(), self.lane.front()) {
            (Some(Reverse(first)), Some(other)) if other < first => self.lane.pop_front(),
            (None, _) => self.lane.pop_front(),
            _ => self.heap.pop().map(|entry| entry.0),
        }?;
        Some((entry.at, entry.event))
    }

    fn entry(&mut self, at: Time, event: E) -> Entry<E> {
        let order = self.planned;
        self.planned += 1;
        Entry { at, order, event }
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
