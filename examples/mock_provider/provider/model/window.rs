//! Fixed windows: so many calls, then none until the next window begins.

use std::time::Duration;

use super::{Refusal, WindowState};

/// At most `limit` starts in each window of `length`, counted from the provider's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindow {
    limit: usize,
    length: Duration,
    index: u128,
    used: usize,
}

impl FixedWindow {
    /// A `length` below a millisecond is taken as one.
    pub(crate) fn new(limit: usize, length: Duration) -> Self {
        Self {
            limit,
            length: length.max(Duration::from_millis(1)),
            index: 0,
            used: 0,
        }
    }

    pub(super) fn check(&mut self, now: Duration) -> Result<(), Refusal> {
        let state = self.state(now);
        if state.remaining > 0 {
            Ok(())
        } else {
            Err(Refusal::Window(state))
        }
    }

    pub(super) fn charge(&mut self) {
        self.used += 1;
    }

    pub(super) fn state(&mut self, now: Duration) -> WindowState {
        let index = now.as_nanos() / self.length.as_nanos();
        if index != self.index {
            (self.index, self.used) = (index, 0);
        }
        WindowState {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.used),
            reset: to_next(now, self.length),
            length: self.length,
        }
    }
}

/// From `now` to the next boundary of windows of `length`.
pub(super) fn to_next(now: Duration, length: Duration) -> Duration {
    let into = now.as_nanos() % length.as_nanos().max(1);
    length.saturating_sub(Duration::from_nanos(
        u64::try_from(into).unwrap_or(u64::MAX),
    ))
}
