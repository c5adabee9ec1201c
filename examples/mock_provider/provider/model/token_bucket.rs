//! A token bucket: full at first; a call takes one token, or as many as it costs.

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

    /// A call that costs more than the bucket holds costs all of it.
    pub(crate) fn check(&self, now: Duration, cost: f64) -> Result<(), Refusal> {
        let (tokens, cost) = (self.tokens(now), cost.min(self.burst));
        if tokens + EPSILON * cost.max(1.0) >= cost {
            return Ok(());
        }
        Err(Refusal::TokenBucket {
            wait: Duration::try_from_secs_f64((cost - tokens) / self.per_second)
                .unwrap_or(Duration::MAX),
            burst: self.burst,
            per_second: self.per_second,
        })
    }

    pub(crate) fn charge(&mut self, now: Duration, cost: f64) {
        self.tokens = (self.tokens(now) - cost.min(self.burst)).max(0.0);
        self.filled = self.filled.max(now);
    }

    /// The first moment from `now` on at which a call is accepted, if none is before it.
    pub(crate) fn next(&self, now: Duration, cost: f64) -> Option<Duration> {
        let mut at = now;
        // Again and again for what rounding left.
        for _ in 0..8 {
            match self.check(at, cost) {
                Ok(()) => return Some(at),
                Err(Refusal::TokenBucket { wait, .. }) => {
                    at = at.checked_add(wait.max(Duration::from_nanos(1)))?;
                }
                Err(_) => return None,
            }
        }
        None
    }

    fn tokens(&self, now: Duration) -> f64 {
        let passed = now.saturating_sub(self.filled).as_secs_f64();
        (self.tokens + passed * self.per_second).min(self.burst)
    }
}
