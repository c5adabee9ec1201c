//! Calls that wait, first come, first served.

use std::collections::BTreeSet;

use super::super::peer::Slot;

/// A queue in the order of tickets: a call that comes back with its old ticket gets its old place.
#[derive(Debug, Default)]
pub(crate) struct Line(BTreeSet<(u64, Slot)>);

impl Line {
    pub(crate) fn push(&mut self, ticket: u64, slot: Slot) {
        self.0.insert((ticket, slot));
    }

    pub(crate) fn pop(&mut self) -> Option<Slot> {
        self.0.pop_first().map(|(_, slot)| slot)
    }

    /// Somebody goes away, who may not have waited.
    pub(crate) fn remove(&mut self, ticket: u64, slot: Slot) {
        self.0.remove(&(ticket, slot));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
