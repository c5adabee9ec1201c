//! The rate of AWS's adaptive retry mode: CUBIC after a throttle, and how it is measured.
//!
//! Source: botocore `retries/throttling.py` and `retries/adaptive.py`: scale 0.4, beta 0.7, half a
//! second between measurements, smoothing 0.8. Times are in seconds, rates in calls a second.

const SCALE: f64 = 0.4;
const BETA: f64 = 0.7;
const BUCKET: f64 = 0.5;
const SMOOTHING: f64 = 0.8;

/// `CubicCalculator`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cubic {
    /// The rate at the last throttle.
    most: f64,
    /// From the last throttle to that rate.
    back_in: f64,
    throttled_at: f64,
}

impl Cubic {
    /// The rate after a throttle at `rate`.
    pub(crate) fn throttled(&mut self, rate: f64, now: f64) -> f64 {
        self.most = rate;
        self.back_in = (rate * (1.0 - BETA) / SCALE).cbrt();
        self.throttled_at = now;
        rate * BETA
    }

    /// The rate after a success.
    pub(crate) fn succeeded(&self, now: f64) -> f64 {
        SCALE * (now - self.throttled_at - self.back_in).powi(3) + self.most
    }
}

/// `RateClocker`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocker {
    rate: f64,
    bucket: f64,
    count: f64,
}

impl Clocker {
    /// An answer came; returns the measured rate.
    pub(crate) fn record(&mut self, now: f64) -> f64 {
        let bucket = (now / BUCKET).floor() * BUCKET;
        self.count += 1.0;
        if bucket > self.bucket {
            let current = self.count / (bucket - self.bucket);
            self.rate = current * SMOOTHING + self.rate * (1.0 - SMOOTHING);
            self.count = 0.0;
            self.bucket = bucket;
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-6
    }

    #[test]
    fn after_a_throttle_at_10_the_rate_comes_back_as_published() {
        let mut cubic = Cubic::default();
        assert!(is_near(cubic.throttled(10.0, 5.0), 7.0));
        let published = [
            7.0, 9.648936, 10.000031, 10.453285, 13.408697, 21.266268, 36.425999,
        ];
        for (after, expected) in published.into_iter().enumerate() {
            let found = cubic.succeeded(5.0 + after as f64);
            assert!(is_near(found, expected), "{after} s: {found}");
        }
    }

    #[test]
    fn the_rate_is_measured_each_half_second() {
        let mut clocker = Clocker::default();
        assert!(is_near(clocker.record(0.1), 0.0));
        assert!(is_near(clocker.record(0.4), 0.0));
        // 3 in half a second, smoothed from nothing.
        assert!(is_near(clocker.record(0.6), 4.8));
        assert!(is_near(clocker.record(0.9), 4.8));
        // 2 in the next.
        assert!(is_near(clocker.record(1.0), 0.8 * 4.0 + 0.2 * 4.8));
    }
}
