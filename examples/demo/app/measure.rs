//! What a run amounts to: one row of the table, and calls per second over time.

use std::time::Duration;

use serde::Serialize;

use super::client::{End, Outcome};
use super::path::Path;
use super::provider::model::Count;

/// One path against one provider.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) path: Path,
    pub(crate) outcomes: Vec<Outcome>,
    /// What the provider saw.
    pub(crate) count: Count,
    /// The provider's time when the load started.
    pub(crate) start: Duration,
}

/// One row of `result.json`. Waits go from sending to the first byte of the answer, over the
/// calls that succeeded; null if none did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) provider: &'static str,
    pub(crate) path: &'static str,
    pub(crate) offered: usize,
    pub(crate) could_serve: usize,
    pub(crate) succeeded: usize,
    /// Refusals by the provider; a call that is retried may be refused more than once.
    pub(crate) refused_upstream: usize,
    /// The most calls that ran at the provider at once.
    pub(crate) peak: usize,
    pub(crate) wait_p50_ms: Option<u64>,
    pub(crate) wait_p95_ms: Option<u64>,
}

/// Calls per second; the n-th value counts second n to n + 1 of the load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) offered: Vec<usize>,
    pub(crate) succeeded: Vec<usize>,
    pub(crate) refused: Vec<usize>,
}

impl Run {
    pub(crate) fn row(&self, provider: &'static str, could_serve: usize) -> Row {
        let waits = waits(&self.outcomes);
        Row {
            provider,
            path: self.path.id(),
            offered: self.outcomes.len(),
            could_serve,
            succeeded: waits.len(),
            refused_upstream: self.count.refused,
            peak: self.count.peak,
            wait_p50_ms: percentile(&waits, 50),
            wait_p95_ms: percentile(&waits, 95),
        }
    }

    pub(crate) fn series(&self) -> Series {
        let succeeded = self.outcomes.iter().filter(|o| o.end == End::Succeeded);
        let refusals = self.count.refusals.iter();
        Series {
            offered: per_second(self.outcomes.iter().map(|o| o.sent)),
            succeeded: per_second(succeeded.map(|o| o.ended)),
            refused: per_second(refusals.map(|(at, _)| at.saturating_sub(self.start))),
        }
    }
}

/// The waits of the calls that succeeded, in milliseconds, in rising order.
pub(crate) fn waits(outcomes: &[Outcome]) -> Vec<u64> {
    let mut waits: Vec<u64> = outcomes
        .iter()
        .filter_map(|o| o.wait)
        .map(|w| u64::try_from(w.as_millis()).unwrap_or(u64::MAX))
        .collect();
    waits.sort_unstable();
    waits
}

/// Nearest rank: the smallest value that `percent` of all are at or below.
pub(crate) fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

fn per_second(times: impl Iterator<Item = Duration>) -> Vec<usize> {
    per(Duration::from_secs(1), times)
}

/// The n-th value counts the times from n to n + 1 `step`s.
pub(crate) fn per(step: Duration, times: impl Iterator<Item = Duration>) -> Vec<usize> {
    let mut counts = vec![];
    for time in times {
        let place = time.as_nanos() / step.as_nanos().max(1);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place >= MAX_PLACES {
            continue;
        }
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
}

const MAX_PLACES: usize = 3600;
