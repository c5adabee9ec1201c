//! How long a call takes at the provider, and what it costs there.

use std::time::Duration;

use super::draw::{Draw, For};

/// How service times are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    Fixed,
    Exponential,
    /// The standard deviation of the logarithm.
    LogNormal(f64),
}

/// Service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Service {
    pub(crate) spread: Spread,
    /// Before the bound.
    pub(crate) mean: Duration,
    pub(crate) max: Duration,
    /// The share of a service time before the first byte, from 0 to 1.
    pub(crate) first_byte: f64,
}

impl Default for Service {
    /// As the mock provider: log-normal, mean 0.6 s, at most 5 s, the first byte at 30 %.
    fn default() -> Service {
        Service {
            spread: Spread::LogNormal(0.6),
            mean: Duration::from_millis(600),
            max: Duration::from_secs(5),
            first_byte: 0.3,
        }
    }
}

/// How long one call takes: to its first byte and to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) first_byte: Duration,
    pub(crate) whole: Duration,
}

impl Service {
    /// The service time of call `number`, whenever it starts.
    pub(crate) fn of(&self, seed: u64, number: u64) -> Served {
        let mut draw = Draw::of_call(seed, For::Service, number);
        let mean = self.mean.as_secs_f64();
        let seconds = match self.spread {
            Spread::Fixed => mean,
            Spread::Exponential => mean * draw.exponential(),
            Spread::LogNormal(sigma) => draw.log_normal(mean, sigma),
        };
        let seconds = seconds.min(self.max.as_secs_f64());
        Served {
            first_byte: Duration::from_secs_f64(seconds * self.first_byte),
            whole: Duration::from_secs_f64(seconds),
        }
    }
}

/// What calls cost where tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) mean: f64,
    /// Standard deviation of the logarithm.
    pub(crate) sigma: f64,
}

impl Cost {
    /// The tokens that call `number` costs; 1 where none are counted.
    pub(crate) fn of(cost: Option<Cost>, seed: u64, number: u64) -> f64 {
        cost.map_or(1.0, |cost| {
            let tokens = Draw::of_call(seed, For::Cost, number).log_normal(cost.mean, cost.sigma);
            tokens.ceil().max(1.0)
        })
    }
}
