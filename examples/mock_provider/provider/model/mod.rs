//! What a provider admits, how long a call takes, and what it counted. Knows no network and no
//! clock: the mock server, the demo's reckoning of what could be served and the simulator run this
//! same code. A limit is asked with `check`, which changes nothing, and told with `charge`.

mod concurrency;
pub(crate) mod draw;
mod limits;
mod slope;
mod steps;
mod token_bucket;
mod window;

use std::time::Duration;

pub(crate) use concurrency::Concurrency;
pub(crate) use draw::{Draws, Service};
pub(crate) use limits::{Limits, Refusal, WindowState};
pub(crate) use slope::Slope;
pub(crate) use steps::Steps;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use window::FixedWindow;

/// Starts and refusals kept one by one; beyond it they are counted only.
const MAX_LOG: usize = 100_000;

/// A provider: its limits, its draws and its count. All times are since its start.
#[derive(Debug)]
pub(crate) struct Model {
    limits: Limits,
    draws: Draws,
    count: Count,
}

/// What a provider saw so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) accepted: usize,
    pub(crate) refused: usize,
    pub(crate) running: usize,
    /// The most that ever ran at once.
    pub(crate) peak: usize,
    pub(crate) starts: Vec<Start>,
    /// When each refusal was given, and by which limit.
    pub(crate) refusals: Vec<(Duration, &'static str)>,
}

/// One accepted call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Start {
    /// Its place among the accepted calls, from 0; decides its draw.
    pub(crate) number: usize,
    pub(crate) at: Duration,
    pub(crate) service: Service,
}

impl Model {
    pub(crate) fn new(limits: Limits, seed: u64) -> Self {
        Self {
            limits,
            draws: Draws::new(seed),
            count: Count::default(),
        }
    }

    /// Would a call that comes now be accepted? Counts nothing.
    pub(crate) fn admits(&self, now: Duration) -> bool {
        self.limits.check(self.count.running, now).is_ok()
    }

    /// A call has come: it runs from now until [`Model::end`], or it is refused and has cost
    /// nothing.
    pub(crate) fn arrive(&mut self, now: Duration) -> Result<Start, Refusal> {
        if let Err(refusal) = self.limits.check(self.count.running, now) {
            self.count.refused += 1;
            if self.count.refusals.len() < MAX_LOG {
                self.count.refusals.push((now, refusal.limit()));
            }
            return Err(refusal);
        }
        self.limits.charge(now);
        let start = Start {
            number: self.count.accepted,
            at: now,
            service: self.draws.service(self.count.accepted),
        };
        self.count.accepted += 1;
        self.count.running += 1;
        self.count.peak = self.count.peak.max(self.count.running);
        if self.count.starts.len() < MAX_LOG {
            self.count.starts.push(start);
        }
        Ok(start)
    }

    /// A call that was accepted runs no longer.
    pub(crate) fn end(&mut self) {
        self.count.running = self.count.running.saturating_sub(1);
    }

    /// Where the fixed window stands, for the headers of every answer.
    pub(crate) fn window(&self, now: Duration) -> Option<WindowState> {
        self.limits.window(now)
    }

    pub(crate) fn count(&self) -> &Count {
        &self.count
    }
}
