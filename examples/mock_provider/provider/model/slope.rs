//! Traffic may grow only so fast: the limit of each second follows the recent past.

use std::collections::VecDeque;
use std::time::Duration;

use super::Refusal;

const SECOND: Duration = Duration::from_secs(1);

/// In any second at most `floor + growth * (starts of the last past / past in s)` starts. A start
/// is in the last second until exactly one second later.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    floor: f64,
    growth: f64,
    past: Duration,
    starts: VecDeque<Duration>,
}

impl Default for Slope {
    /// At most `4 + 1.25 * (starts of the last 4 s / 4)`.
    fn default() -> Self {
        Self::new(4.0, 1.25, Duration::from_secs(4))
    }
}

impl Slope {
    /// `floor` starts a second are always allowed; on top come `growth` times the starts a second
    /// of the last `past`.
    pub(crate) fn new(floor: f64, growth: f64, past: Duration) -> Self {
        Self {
            floor,
            growth,
            past,
            starts: VecDeque::new(),
        }
    }

    pub(crate) fn check(&self, now: Duration) -> Result<(), Refusal> {
        let recent = self.within(self.past, now) as f64 / self.past.as_secs_f64();
        let limit = self.floor + self.growth * recent;
        if (self.within(SECOND, now) + 1) as f64 <= limit {
            Ok(())
        } else {
            Err(Refusal::Slope)
        }
    }

    pub(crate) fn charge(&mut self, now: Duration) {
        let kept = self.past.max(SECOND);
        while self.starts.front().is_some_and(|s| *s + kept <= now) {
            self.starts.pop_front();
        }
        self.starts.push_back(now);
    }

    /// The first moment from `now` on at which a call is accepted, if none is before it; none if
    /// the floor is below 1.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        // Between two such moments only the past gets emptier, and with it the limit.
        let leave = self.starts.iter().map(|s| *s + SECOND);
        std::iter::once(now)
            .chain(leave.filter(|at| *at > now))
            .find(|at| self.check(*at).is_ok())
    }

    /// Starts in the `span` that ends at `now`.
    fn within(&self, span: Duration, now: Duration) -> usize {
        let before = self.starts.partition_point(|s| *s + span <= now);
        self.starts.len() - before
    }
}
