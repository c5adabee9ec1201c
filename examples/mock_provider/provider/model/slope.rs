//! Traffic may grow only so fast: the limit of each second follows the recent past.

use std::collections::VecDeque;
use std::time::Duration;

use super::Refusal;

/// Starts per second that are always allowed.
const FLOOR: f64 = 4.0;
/// What is allowed on top, as a multiple of the recent rate.
const GROWTH: f64 = 1.25;
const SECOND: Duration = Duration::from_secs(1);
/// The recent past.
const PAST: Duration = Duration::from_secs(4);

/// In any second at most `4 + 1.25 * (starts of the last 4 s / 4)` starts. A start is in the last
/// second until exactly one second later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slope {
    starts: VecDeque<Duration>,
}

impl Slope {
    pub(super) fn check(&mut self, now: Duration) -> Result<(), Refusal> {
        while self.starts.front().is_some_and(|s| *s + PAST <= now) {
            self.starts.pop_front();
        }
        let recent = self.starts.len() as f64 / PAST.as_secs_f64();
        let limit = FLOOR + GROWTH * recent;
        let second = self.starts.iter().filter(|s| **s + SECOND > now).count();
        if (second + 1) as f64 <= limit {
            Ok(())
        } else {
            Err(Refusal::Slope)
        }
    }

    pub(super) fn charge(&mut self, now: Duration) {
        self.starts.push_back(now);
    }
}
