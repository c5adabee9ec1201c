//! Acceleration in steps: what a window allows follows from what the one before it used, and
//! changes only at the boundary.

use std::time::Duration;

use super::Refusal;
use super::window::{index, to_next};

/// Each window of `length` allows more starts than the one before it had, and at least `floor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    floor: usize,
    growth: Growth,
    length: Duration,
    index: u128,
    used: usize,
    limit: usize,
}

/// How much more.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    By(usize),
    /// Rounded up, so that a small number grows too.
    Percent(f64),
}

impl Steps {
    /// `step` starts more. A `length` below a millisecond is taken as one.
    pub(crate) fn new(floor: usize, step: usize, length: Duration) -> Self {
        Self::growing(floor, Growth::By(step), length)
    }

    /// `percent` % more starts, rounded up.
    pub(crate) fn percent(floor: usize, percent: f64, length: Duration) -> Self {
        Self::growing(floor, Growth::Percent(percent), length)
    }

    fn growing(floor: usize, growth: Growth, length: Duration) -> Self {
        Self {
            floor,
            growth,
            length: length.max(Duration::from_millis(1)),
            index: 0,
            used: 0,
            limit: floor,
        }
    }

    pub(crate) fn check(&self, now: Duration) -> Result<(), Refusal> {
        let (used, limit) = self.at(now);
        if used < limit {
            return Ok(());
        }
        Err(Refusal::Steps {
            now: limit,
            next: self.after(used),
            wait: to_next(now, self.length),
        })
    }

    pub(crate) fn charge(&mut self, now: Duration) {
        (self.used, self.limit) = self.at(now);
        self.index = index(now, self.length);
        self.used += 1;
    }

    /// The first moment from `now` on at which a call is accepted, if none is before it; none if
    /// the floor is 0.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        let boundary = now + to_next(now, self.length);
        let empty = boundary + self.length;
        [now, boundary, empty]
            .into_iter()
            .find(|at| self.check(*at).is_ok())
    }

    /// What the window of `now` has used, and what it allows.
    fn at(&self, now: Duration) -> (usize, usize) {
        match index(now, self.length).saturating_sub(self.index) {
            0 => (self.used, self.limit),
            1 => (0, self.after(self.used)),
            // Windows that passed without a call used nothing.
            _ => (0, self.after(0)),
        }
    }

    fn after(&self, used: usize) -> usize {
        let grown = match self.growth {
            Growth::By(step) => used.saturating_add(step),
            Growth::Percent(percent) => (used as f64 * (1.0 + percent / 100.0)).ceil() as usize,
        };
        self.floor.max(grown)
    }
}
