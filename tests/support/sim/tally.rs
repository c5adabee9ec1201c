//! What is counted in one run.

use std::time::Duration;

use weir::core::time::Time;

use super::crowd::{Counted, Whose};
use super::timeline::Timeline;

/// Waits of calls, to a microsecond.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits(Vec<u32>);

impl Waits {
    pub(crate) fn add(&mut self, wait: Duration) {
        self.0
            .push(u32::try_from(wait.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest wait that at least `percent` % of the waits do not exceed, in milliseconds.
    pub(crate) fn percentile_ms(&self, percent: usize) -> Option<f64> {
        let mut waits = self.0.clone();
        let rank = (waits.len() * percent).div_ceil(100).max(1);
        let at = waits.len().min(rank).checked_sub(1)?;
        let (_, wait, _) = waits.select_nth_unstable(at);
        Some(f64::from(*wait) / 1000.0)
    }
}

/// Counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) offered: u64,
    /// To the start of the attempt that was accepted.
    pub(crate) waits: Waits,
    /// Accepted, and lost after that: their client got no whole answer.
    pub(crate) lost: u64,
    /// Calls that ended without an accepted attempt, by the peer or by their client.
    pub(crate) failed: u64,
    pub(crate) left: u64,
    pub(crate) attempts: u64,
    pub(crate) refused: u64,
    /// When the head of the first refusal came back.
    pub(crate) first_refusal_seen: Option<Time>,
    /// Attempts started from then on, and how many of them were refused.
    pub(crate) attempts_after: u64,
    pub(crate) refused_after: u64,
    /// When accepted attempts started, in order, where calls wait for others.
    pub(crate) starts: Vec<Time>,
    /// Tasks of agents that were done, and that were given up.
    pub(crate) tasks_done: u64,
    pub(crate) tasks_lost: u64,
    /// By tenant and by class, where calls are told apart.
    pub(crate) tenants: Vec<Counted>,
    pub(crate) classes: Vec<Counted>,
    /// What happened when, if somebody wants to know.
    pub(crate) timeline: Option<Timeline>,
}

impl Tally {
    /// Calls whose accepted attempt started in time, less those lost after it.
    pub(crate) fn served(&self) -> u64 {
        (self.waits.len() as u64).saturating_sub(self.lost)
    }

    /// The same of those that started until `horizon`, where calls wait for others.
    pub(crate) fn served_by(&self, horizon: Time) -> u64 {
        let in_time = self.starts.partition_point(|start| *start <= horizon);
        (in_time as u64).saturating_sub(self.lost)
    }

    /// Of the attempts that started after the first refusal was seen, the share that was refused.
    pub(crate) fn refused_share(&self) -> f64 {
        match self.attempts_after {
            0 => 0.0,
            attempts => self.refused_after as f64 / attempts as f64,
        }
    }

    /// Counts for those whose call it is.
    pub(crate) fn for_each(&mut self, whose: Whose, mut what: impl FnMut(&mut Counted)) {
        for (counted, at) in [
            (&mut self.tenants, whose.tenant),
            (&mut self.classes, whose.class),
        ] {
            if counted.len() <= at {
                counted.resize_with(at + 1, Counted::default);
            }
            what(&mut counted[at]);
        }
    }

    /// An attempt started.
    pub(crate) fn attempt(&mut self, now: Time, is_refused: bool) {
        self.attempts += 1;
        self.refused += u64::from(is_refused);
        if self.first_refusal_seen.is_some_and(|seen| seen <= now) {
            self.attempts_after += 1;
            self.refused_after += u64::from(is_refused);
        }
    }
}
