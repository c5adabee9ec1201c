//! The limits of a provider together: all are asked before any is charged.

use std::time::Duration;

use super::{Concurrency, FixedWindow, Slope, Steps, TokenBucket};

/// Any combination of limits. The first that refuses, in this order, words the refusal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) concurrency: Option<Concurrency>,
    pub(crate) slope: Option<Slope>,
    pub(crate) token_bucket: Option<TokenBucket>,
    pub(crate) window: Option<FixedWindow>,
    pub(crate) steps: Option<Steps>,
}

/// Why a call was refused, with the numbers its answer needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// `limit` calls run already.
    Concurrency { limit: usize },
    /// Traffic grew too fast.
    Slope,
    /// The bucket is empty for `wait`; it holds `burst` and fills at `per_second`.
    TokenBucket {
        wait: Duration,
        burst: f64,
        per_second: f64,
    },
    /// The window is used up.
    Window(WindowState),
    /// The step of this window is used up; the next is in `wait` and allows `next`.
    Steps {
        now: usize,
        next: usize,
        wait: Duration,
    },
}

/// Where a fixed window stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WindowState {
    pub(crate) limit: usize,
    pub(crate) remaining: usize,
    /// To the next window.
    pub(crate) reset: Duration,
    pub(crate) length: Duration,
}

impl Refusal {
    /// The name of the limit, as the log has it.
    pub(crate) fn limit(&self) -> &'static str {
        match self {
            Self::Concurrency { .. } => "concurrency",
            Self::Slope => "slope",
            Self::TokenBucket { .. } => "token_bucket",
            Self::Window(_) => "window",
            Self::Steps { .. } => "steps",
        }
    }
}

impl Limits {
    pub(super) fn check(&self, running: usize, now: Duration) -> Result<(), Refusal> {
        if let Some(limit) = &self.concurrency {
            limit.check(running)?;
        }
        if let Some(limit) = &self.slope {
            limit.check(now)?;
        }
        if let Some(limit) = &self.token_bucket {
            limit.check(now, 1.0)?;
        }
        if let Some(limit) = &self.window {
            limit.check(now)?;
        }
        if let Some(limit) = &self.steps {
            limit.check(now)?;
        }
        Ok(())
    }

    pub(super) fn charge(&mut self, now: Duration) {
        if let Some(limit) = &mut self.slope {
            limit.charge(now);
        }
        if let Some(limit) = &mut self.token_bucket {
            limit.charge(now, 1.0);
        }
        if let Some(limit) = &mut self.window {
            limit.charge(now);
        }
        if let Some(limit) = &mut self.steps {
            limit.charge(now);
        }
    }

    pub(super) fn window(&self, now: Duration) -> Option<WindowState> {
        self.window.as_ref().map(|w| w.state(now))
    }
}
