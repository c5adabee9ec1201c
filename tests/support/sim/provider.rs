//! A provider: any list of the mock provider's limits, asked without being changed.

use std::time::Duration;

use super::model::{Concurrency, FixedWindow, Refusal, Slope, Steps, TokenBucket, WindowState};

/// One limit.
#[derive(Clone, Debug)]
pub(crate) enum Limit {
    Concurrency(Concurrency),
    Slope(Slope),
    Steps(Steps),
    Window(FixedWindow),
    /// In calls.
    Requests(TokenBucket),
    /// In the tokens that calls cost.
    Tokens(TokenBucket),
}

impl Limit {
    fn check(&self, running: usize, at: Duration, cost: f64) -> Result<(), Refusal> {
        match self {
            Limit::Concurrency(limit) => limit.check(running),
            Limit::Slope(limit) => limit.check(at),
            Limit::Steps(limit) => limit.check(at),
            Limit::Window(limit) => limit.check(at),
            Limit::Requests(limit) => limit.check(at, 1.0),
            Limit::Tokens(limit) => limit.check(at, cost),
        }
    }

    fn charge(&mut self, at: Duration, cost: f64) {
        match self {
            Limit::Concurrency(_) => {}
            Limit::Slope(limit) => limit.charge(at),
            Limit::Steps(limit) => limit.charge(at),
            Limit::Window(limit) => limit.charge(at),
            Limit::Requests(limit) => limit.charge(at, 1.0),
            Limit::Tokens(limit) => limit.charge(at, cost),
        }
    }

    fn next(&self, running: usize, after: Duration, cost: f64) -> Option<Duration> {
        match self {
            Limit::Concurrency(limit) => limit.check(running).ok().map(|()| after),
            Limit::Slope(limit) => limit.next(after),
            Limit::Steps(limit) => limit.next(after),
            Limit::Window(limit) => limit.next(after),
            Limit::Requests(limit) => limit.next(after, 1.0),
            Limit::Tokens(limit) => limit.next(after, cost),
        }
    }
}

/// A provider at work. All times are since its start.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    limits: Vec<Limit>,
    running: usize,
}

impl Provider {
    pub(crate) fn new(limits: Vec<Limit>) -> Provider {
        Provider { limits, running: 0 }
    }

    /// Whether an attempt that comes `at` this time would be accepted, if none comes before it. The
    /// first limit that would not words the refusal.
    pub(crate) fn would_accept(&self, at: Duration, cost: f64) -> Result<(), Refusal> {
        self.limits
            .iter()
            .try_for_each(|limit| limit.check(self.running, at, cost))
    }

    /// The first moment from `after` on at which an attempt would be accepted, if none comes before
    /// it and none ends. `None`: not until one ends.
    pub(crate) fn next_acceptable(&self, after: Duration, cost: f64) -> Option<Duration> {
        let mut at = after;
        loop {
            let before = at;
            for limit in &self.limits {
                at = limit.next(self.running, at, cost)?;
            }
            if at == before {
                return Some(at);
            }
        }
    }

    /// An attempt comes: it runs until [`Provider::end`], or is refused and has cost nothing.
    pub(crate) fn start(&mut self, at: Duration, cost: f64) -> Result<(), Refusal> {
        self.would_accept(at, cost)?;
        for limit in &mut self.limits {
            limit.charge(at, cost);
        }
        self.running += 1;
        Ok(())
    }

    /// An accepted attempt runs no longer.
    pub(crate) fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Where the first fixed window stands.
    pub(crate) fn window(&self, at: Duration) -> Option<WindowState> {
        self.limits.iter().find_map(|limit| match limit {
            Limit::Window(window) => Some(window.state(at)),
            _ => None,
        })
    }
}
