//! Numbers that look random and follow from a seed.

use std::time::Duration;

use super::model::draw::{mix, unit};

/// The increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

/// What a stream is for: streams of one seed have nothing to do with each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum For {
    Arrivals,
    Service,
    Cost,
    Abort,
    Place,
    Host,
    Network,
    Faults,
    Test,
    Think,
    Tenant,
    Clients,
}

impl Draw {
    /// The stream `what` of a seed.
    pub(crate) fn new(seed: u64, what: For) -> Draw {
        Draw(mix(seed).wrapping_add(mix(!(what as u64))))
    }

    /// The stream `what` of one call, so that every peer meets the same calls.
    pub(crate) fn of_call(seed: u64, what: For, number: u64) -> Draw {
        Draw(mix(Draw::new(seed, what).0.wrapping_add(mix(number))))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        bits
    }

    /// In (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// From `least` to `most`.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_nanos() as u64;
        least + Duration::from_nanos(self.below(span.saturating_add(1)))
    }

    pub(crate) fn is_true(&mut self, share: f64) -> bool {
        self.unit() <= share
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// Log-normal with this mean and this standard deviation of the logarithm.
    pub(crate) fn log_normal(&mut self, mean: f64, sigma: f64) -> f64 {
        let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        (mean.ln() - sigma * sigma / 2.0 + sigma * normal).exp()
    }
}
