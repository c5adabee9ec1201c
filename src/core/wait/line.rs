//! A worker's calls in one gate: who waits, in which order, and how many run or are held.

use std::time::Duration;

use super::undecided::Attempts;
use crate::core::gate::headroom::Told;
use crate::core::gate::{Key, Refusal, Standing, Statement, Tally};
use crate::core::ordered::OrderedMap;
use crate::core::time::Time;

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

/// A call that waits for its turn, or is held until it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waiter {
    /// Which call.
    pub call: CallId,
    /// What for.
    pub kind: Kind,
    /// The last moment at which a start is of use to it.
    pub until: Time,
}

/// One worker's calls in one gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Line {
    waiters: OrderedMap<Key, Waiter>,
    fresh: u32,
    running: u32,
    /// Held calls whose not-before has not passed.
    held: OrderedMap<Key, Waiter>,
    undecided: Attempts,
    tally: Tally,
}

impl Line {
    /// All that the gate's record wants to hear.
    pub fn statement(&self) -> Statement {
        Statement {
            standing: self.standing(),
            undecided: self.undecided.span(),
            tally: self.tally,
        }
    }

    /// The gate has heard what happened.
    pub fn clear_tally(&mut self) {
        self.tally = Tally::default();
    }

    /// The counts, as the gate's record wants them.
    pub fn standing(&self) -> Standing {
        let count = |of: &OrderedMap<Key, Waiter>| u32::try_from(of.len()).unwrap_or(u32::MAX);
        let ready = count(&self.waiters).saturating_sub(self.fresh);
        Standing {
            running: self.running,
            fresh: self.fresh,
            ready,
            held: count(&self.held).saturating_add(ready),
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
        self.waiters.is_empty() && self.running == 0 && self.held.is_empty()
    }

    /// What the standing would be if the oldest waiter started.
    pub fn standing_after_start(&self) -> Standing {
        let mut standing = self.standing();
        if let Some((_, first)) = self.waiters.first_key_value() {
            match first.kind {
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

    /// A call waits; if it was held, no longer. Its key must not be in use; keys of one worker never
    /// repeat.
    pub fn wait(&mut self, key: Key, waiter: Waiter) {
        self.held.remove(&key);
        if self.waiters.insert(key, waiter).is_none() && waiter.kind == Kind::Fresh {
            self.fresh += 1;
        }
    }

    /// The oldest waiter starts, in this epoch.
    pub fn start_first(&mut self, epoch: u32) -> Option<(CallId, Kind)> {
        let (_, first) = self.waiters.pop_first()?;
        self.forget(first.kind);
        self.run(epoch);
        Some((first.call, first.kind))
    }

    /// A waiter leaves without a start. False if it did not wait.
    pub fn leave(&mut self, key: Key) -> bool {
        let left = self.waiters.remove(&key);
        if let Some(left) = left {
            self.forget(left.kind);
        }
        left.is_some()
    }

    /// Calls, waiting or held, for which a start at `start` comes too late; at most so many.
    pub fn too_late(&self, start: Time, most: usize) -> Vec<CallId> {
        let all = self.waiters.values().chain(self.held.values());
        let late = all.filter(|waiter| waiter.until < start);
        late.map(|waiter| waiter.call).take(most).collect()
    }

    /// The attempt of a call that started at once runs, in this epoch.
    pub fn run(&mut self, epoch: u32) {
        self.running += 1;
        self.undecided.add(epoch);
    }

    /// An attempt runs that Envoy started on its own.
    pub fn run_unplanned(&mut self, epoch: u32) {
        self.run(epoch);
        self.tally.unplanned = self.tally.unplanned.saturating_add(1);
    }

    /// A call came that no gate half has seen.
    pub fn come_unannounced(&mut self) {
        self.tally.unannounced = self.tally.unannounced.saturating_add(1);
    }

    /// An attempt that started in this epoch is answered, or over.
    pub fn decide(&mut self, epoch: u32) {
        self.undecided.remove(epoch);
    }

    /// An attempt that started in this epoch is over, and nobody knows whether it was accepted.
    pub fn lose(&mut self, epoch: u32) {
        self.decide(epoch);
        self.tally.unheard = self.tally.unheard.saturating_add(1);
    }

    /// An attempt that started in this epoch was accepted.
    pub fn accept(&mut self, epoch: u32) {
        self.tally.accepted = self.tally.accepted.max(Some(epoch));
    }

    /// An attempt was refused.
    pub fn refuse(&mut self, refusal: Refusal) {
        let untold = self.tally.refused;
        // What the gate has not heard yet is heard as one.
        self.tally.refused = Some(match untold {
            Some(untold) if untold.epoch > refusal.epoch => untold,
            Some(untold) => Refusal {
                least: refusal.least.max(untold.least),
                is_told: refusal.is_told && untold.is_told,
                ..refusal
            },
            None => refusal,
        });
    }

    /// What was said to be the refusal of an attempt of this epoch was none.
    pub fn take_back(&mut self, epoch: u32) {
        self.tally.taken_back = Some(epoch);
    }

    /// A success said what is left. The newest word counts.
    pub fn tell_headroom(&mut self, told: Told) {
        let untold = self.tally.told.filter(|untold| untold.began > told.began);
        self.tally.told = Some(untold.unwrap_or(told));
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
    pub fn hold(&mut self, key: Key, waiter: Waiter) {
        self.held.insert(key, waiter);
    }

    /// A held call that did not wait yet is let go.
    pub fn let_go(&mut self, key: Key) {
        self.held.remove(&key);
    }

    fn forget(&mut self, kind: Kind) {
        self.fresh = self.fresh.saturating_sub(u32::from(kind == Kind::Fresh));
    }
}
