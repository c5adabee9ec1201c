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

    pub(crate) fn check(&self, now: Duration) -> Result<(), Refusal> {
        let state = self.state(now);
        if state.remaining > 0 {
            Ok(())
        } else {
            Err(Refusal::Window(state))
        }
    }

    pub(crate) fn charge(&mut self, now: Duration) {
        self.used = self.used(now) + 1;
        self.index = index(now, self.length);
    }

    /// The first moment from `now` on at which a call is accepted, if none is before it; none if
    /// the limit is 0.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        [now, now + to_next(now, self.length)]
            .into_iter()
            .find(|at| self.check(*at).is_ok())
    }

    pub(crate) fn state(&self, now: Duration) -> WindowState {
        WindowState {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.used(now)),
            reset: to_next(now, self.length),
            length: self.length,
        }
    }

    fn used(&self, now: Duration) -> usize {
        match index(now, self.length) == self.index {
            true => self.used,
            false => 0,
        }
    }
}

/// Which window of `length` holds `now`.
pub(super) fn index(now: Duration, length: Duration) -> u128 {
    now.as_nanos() / length.as_nanos().max(1)
}

/// From `now` to the next boundary of windows of `length`.
pub(super) fn to_next(now: Duration, length: Duration) -> Duration {
    let into = now.as_nanos() % length.as_nanos().max(1);
    length.saturating_sub(Duration::from_nanos(
        u64::try_from(into).unwrap_or(u64::MAX),
    ))
}
