//! Netflix's `Gradient2Limit` in a `WindowedLimit`.
//!
//! Source: Netflix concurrency-limits and its defaults. Long RTT: the mean of the first 10 samples,
//! then an exponential average of weight 2 / 601, and 5 % less where it is more than twice the short
//! one. Limit: 20 at first, from 20 to 200; no change below half of it in flight; else 80 % of it
//! and 20 % of `limit x clamp(1.5 x long / short, 0.5, 1) + 4`. A window is at least a second and
//! 10 samples; what counts is its mean RTT and the most in flight. Drops have no RTT and change
//! nothing.

use std::time::Duration;

use weir::core::time::Time;

use super::blocking::{Limit, Sample};

/// Calls at once.
const LEAST: f64 = 20.0;
const MOST: f64 = 200.0;
const SMOOTHING: f64 = 0.2;
const QUEUE: f64 = 4.0;
const TOLERANCE: f64 = 1.5;
/// In samples.
const LONG_WINDOW: f64 = 600.0;
const WARM_UP: u32 = 10;

/// The limit alone.
#[derive(Clone, Copy, Debug)]
struct Gradient2 {
    limit: f64,
    /// In seconds.
    long: f64,
    samples: u32,
    sum: f64,
}

impl Gradient2 {
    fn new(limit: f64) -> Gradient2 {
        Gradient2 {
            limit,
            long: 0.0,
            samples: 0,
            sum: 0.0,
        }
    }

    /// `short` is in seconds and above 0.
    fn update(&mut self, short: f64, in_flight: u32) {
        if self.samples < WARM_UP {
            self.samples += 1;
            self.sum += short;
            self.long = self.sum / f64::from(self.samples);
        } else {
            let weight = 2.0 / (LONG_WINDOW + 1.0);
            self.long = self.long * (1.0 - weight) + short * weight;
        }
        let long = self.long;
        if long / short > 2.0 {
            self.long *= 0.95;
        }
        if f64::from(in_flight) < self.limit / 2.0 {
            return;
        }
        self.limit = next(self.limit, long / short).clamp(LEAST, MOST);
    }
}

/// The limit that follows on one, before its bounds; `ratio` is the long RTT over the short.
fn next(limit: f64, ratio: f64) -> f64 {
    let gradient = (TOLERANCE * ratio).clamp(0.5, 1.0);
    let wanted = limit * gradient + QUEUE;
    limit * (1.0 - SMOOTHING) + wanted * SMOOTHING
}

/// The shortest window, and the fewest samples in one.
const WINDOW: Duration = Duration::from_secs(1);
const WINDOW_SAMPLES: u32 = 10;

/// The limit, told of windows.
#[derive(Debug)]
pub(crate) struct WindowedGradient2 {
    limit: Gradient2,
    window_ends: Time,
    /// Of the samples of the window.
    sum: Duration,
    count: u32,
    in_flight: u32,
}

impl Default for WindowedGradient2 {
    fn default() -> WindowedGradient2 {
        WindowedGradient2 {
            limit: Gradient2::new(LEAST),
            window_ends: Time(0),
            sum: Duration::ZERO,
            count: 0,
            in_flight: 0,
        }
    }
}

impl Limit for WindowedGradient2 {
    fn limit(&self) -> u32 {
        self.limit.limit as u32
    }

    fn sample(&mut self, now: Time, sample: Sample) {
        self.in_flight = self.in_flight.max(sample.in_flight);
        if !sample.is_dropped {
            self.sum += sample.rtt;
            self.count += 1;
        }
        if now <= self.window_ends || self.count < WINDOW_SAMPLES {
            return;
        }
        let mean = self.sum.as_secs_f64() / f64::from(self.count);
        if mean > 0.0 {
            self.limit.update(mean, self.in_flight);
        }
        self.window_ends = now + WINDOW;
        self.sum = Duration::ZERO;
        self.count = 0;
        self.in_flight = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit that has a long RTT of a second.
    fn settled(limit: f64) -> Gradient2 {
        Gradient2 {
            limit,
            long: 1.0,
            samples: WARM_UP,
            sum: 10.0,
        }
    }

    #[test]
    fn twice_the_long_rtt_takes_20_to_19_8() {
        assert!((next(20.0, 0.5) - 19.8).abs() < 1e-9);
        let mut limit = settled(20.0);
        limit.update(2.0, 20);
        assert!((limit.limit - LEAST).abs() < 1e-9, "not below the least");
    }

    #[test]
    fn it_grows_while_rtts_are_even_and_half_of_it_is_used() {
        let mut limit = settled(40.0);
        limit.update(1.0, 19);
        assert!((limit.limit - 40.0).abs() < 1e-9);
        limit.update(1.0, 20);
        assert!((limit.limit - 40.8).abs() < 1e-9);
        limit.update(1000.0, 40);
        assert!((limit.limit - (0.8 * 40.8 + 0.2 * (20.4 + 4.0))).abs() < 1e-9);
    }

    #[test]
    fn a_long_rtt_that_is_too_long_shrinks_by_a_twentieth() {
        let mut limit = settled(40.0);
        limit.update(0.1, 1);
        let long = 1.0 * (1.0 - 2.0 / 601.0) + 0.1 * 2.0 / 601.0;
        assert!((limit.long - 0.95 * long).abs() < 1e-9);
    }
}
