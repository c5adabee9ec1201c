//! How long a call takes: log-normal, drawn per call number, so that every path in front of the
//! same seed meets the same calls.

use std::time::Duration;

/// Mean of the service time in seconds, before the bound.
const MEAN_S: f64 = 0.6;
/// Standard deviation of its logarithm.
const SIGMA: f64 = 0.6;
const MAX_S: f64 = 5.0;
/// The share of the service time before the first byte.
const FIRST_BYTE: f64 = 0.3;

/// The service times of one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    seed: u64,
}

/// How long one call takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Service {
    /// From the start to the last byte.
    pub(crate) whole: Duration,
    /// From the start to the first byte.
    pub(crate) first_byte: Duration,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The service time of call `number`. Box-Muller: G. E. P. Box, M. E. Muller, "A Note on the
    /// Generation of Random Normal Deviates", 1958.
    pub(crate) fn service(self, number: usize) -> Service {
        let stream = self.seed.wrapping_add(2 * number as u64);
        let (u, v) = (unit(mix(stream)), unit(mix(stream.wrapping_add(1))));
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let mu = MEAN_S.ln() - SIGMA * SIGMA / 2.0;
        let seconds = (mu + SIGMA * normal).exp().min(MAX_S);
        Service {
            whole: Duration::from_secs_f64(seconds),
            first_byte: Duration::from_secs_f64(seconds * FIRST_BYTE),
        }
    }
}

/// A number in (0, 1]: its logarithm is finite.
pub(crate) fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014.
pub(crate) fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
