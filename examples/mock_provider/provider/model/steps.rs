//! Acceleration in steps: what a window allows follows from what the one before it used, and
//! changes only at the boundary.

use std::time::Duration;

use super::Refusal;
use super::window::to_next;

/// Each window of `length` allows `step` more starts than the one before it had, and at least
/// `floor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    floor: usize,
    step: usize,
    length: Duration,
    index: u128,
    used: usize,
    limit: usize,
}

impl Steps {
    /// A `length` below a millisecond is taken as one.
    pub(crate) fn new(floor: usize, step: usize, length: Duration) -> Self {
        Self {
            floor,
            step,
            length: length.max(Duration::from_millis(1)),
            index: 0,
            used: 0,
            limit: floor,
        }
    }

    pub(super) fn check(&mut self, now: Duration) -> Result<(), Refusal> {
        let index = now.as_nanos() / self.length.as_nanos();
        if index != self.index {
            // Windows that passed without a call used nothing.
            let before = if index == self.index + 1 {
                self.used
            } else {
                0
            };
            self.limit = self.after(before);
            (self.index, self.used) = (index, 0);
        }
        if self.used < self.limit {
            return Ok(());
        }
        Err(Refusal::Steps {
            now: self.limit,
            next: self.after(self.used),
            wait: to_next(now, self.length),
        })
    }

    pub(super) fn charge(&mut self) {
        self.used += 1;
    }

    fn after(&self, used: usize) -> usize {
        self.floor.max(used.saturating_add(self.step))
    }
}
