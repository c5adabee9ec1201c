//! A token bucket: full at first, one token a call.

use std::time::Duration;

use super::Refusal;

/// Holds `burst` tokens and fills at `per_second`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    filled: Duration,
}

/// Sums of small times are not exact in floating point.
const EPSILON: f64 = 1e-9;

impl TokenBucket {
    /// `per_second` is above 0, `burst` at least 1.
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self {
            burst,
            per_second,
            tokens: burst,
            filled: Duration::ZERO,
        }
    }

    pub(super) fn check(&mut self, now: Duration) -> Result<(), Refusal> {
        let passed = now.saturating_sub(self.filled).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        self.filled = self.filled.max(now);
        if self.tokens + EPSILON >= 1.0 {
            return Ok(());
        }
        Err(Refusal::TokenBucket {
            wait: Duration::try_from_secs_f64((1.0 - self.tokens) / self.per_second)
                .unwrap_or(Duration::MAX),
            burst: self.burst,
            per_second: self.per_second,
        })
    }

    pub(super) fn charge(&mut self) {
        self.tokens = (self.tokens - 1.0).max(0.0);
    }
}
