//! A worker's calls in one gate: who waits, in which order, and how many run or are held.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::gate::{Key, Standing, Statement, Tally};

/// A call, by a number that this VM never uses twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// What a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its first start.
    Fresh,
    /// A retry; its not-before has passed.
    Ready,
}

/// One worker's calls in one gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Line {
    waiters: BTreeMap<Key, (CallId, Kind)>,
    fresh: u32,
    running: u32,
    held: u32,
    tally: Tally,
}

impl Line {
    /// All that the gate's record wants to hear.
    pub fn statement(&self) -> Statement {
        Statement {
            standing: self.standing(),
            tally: self.tally,
        }
    }

    /// The gate has heard what happened.
    pub fn clear_tally(&mut self) {
        self.tally = Tally::default();
    }

    /// The counts, as the gate's record wants them.
    pub fn standing(&self) -> Standing {
        let waiting = u32::try_from(self.waiters.len()).unwrap_or(u32::MAX);
        Standing {
            running: self.running,
            fresh: self.fresh,
            ready: waiting.saturating_sub(self.fresh),
            held: self.held,
            head: self.head().unwrap_or(Key::LAST),
        }
    }

    /// The oldest waiter's order.
    pub fn head(&self) -> Option<Key> {
        self.waiters.first_key_value().map(|(key, _)| *key)
    }

    /// The youngest waiter's order.
    pub fn last(&self) -> Option<Key> {
        self.waiters.last_key_value().map(|(key, _)| *key)
    }

    /// Whether anybody waits.
    pub fn is_waiting(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.running == 0 && self.held == 0
    }

    /// What the standing would be if the oldest waiter started.
    pub fn standing_after_start(&self) -> Standing {
        let mut standing = self.standing();
        if let Some((_, (_, kind))) = self.waiters.first_key_value() {
            match kind {
                Kind::Fresh => standing.fresh = standing.fresh.saturating_sub(1),
                Kind::Ready => {
                    standing.ready = standing.ready.saturating_sub(1);
                    standing.held = standing.held.saturating_sub(1);
                }
            }
            standing.running = standing.running.saturating_add(1);
            standing.head = self.waiters.keys().nth(1).copied().unwrap_or(Key::LAST);
        }
        standing
    }

    /// A call waits. Its key must not be in use; keys of one worker never repeat.
    pub fn wait(&mut self, key: Key, call: CallId, kind: Kind) {
        if self.waiters.insert(key, (call, kind)).is_none() && kind == Kind::Fresh {
            self.fresh += 1;
        }
    }

    /// The oldest waiter starts.
    pub fn start_first(&mut self) -> Option<(CallId, Kind)> {
        let (_, (call, kind)) = self.waiters.pop_first()?;
        self.forget(kind);
        self.running += 1;
        Some((call, kind))
    }

    /// A waiter leaves without a start. False if it did not wait.
    pub fn leave(&mut self, key: Key) -> bool {
        match self.waiters.remove(&key) {
            Some((_, kind)) => {
                self.forget(kind);
                true
            }
            None => false,
        }
    }

    /// The attempt of a call that started at once runs.
    pub fn run(&mut self) {
        self.running += 1;
    }

    /// An attempt runs that Envoy started on its own.
    pub fn run_unplanned(&mut self) {
        self.run();
        self.tally.unplanned = self.tally.unplanned.saturating_add(1);
    }

    /// A call came that no gate half has seen.
    pub fn come_unannounced(&mut self) {
        self.tally.unannounced = self.tally.unannounced.saturating_add(1);
    }

    /// An attempt ended that kept its slot for this long.
    pub fn finish(&mut self, held_for: Duration) {
        self.running = self.running.saturating_sub(1);
        self.tally.held_for = Some(held_for);
    }

    /// What was granted will not start.
    pub fn return_grant(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.tally.unstarted = self.tally.unstarted.saturating_add(1);
    }

    /// A call is held.
    pub fn hold(&mut self) {
        self.held += 1;
    }

    /// A held call that did not wait yet is let go.
    pub fn let_go(&mut self) {
        self.held = self.held.saturating_sub(1);
    }

    fn forget(&mut self, kind: Kind) {
        match kind {
            Kind::Fresh => self.fresh = self.fresh.saturating_sub(1),
            Kind::Ready => self.let_go(),
        }
    }
}
