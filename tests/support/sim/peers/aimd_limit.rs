//! Netflix's `AIMDLimit`: one more per success, a tenth less per drop.
//!
//! Source: Netflix concurrency-limits `AIMDLimit` and its defaults: limit 20 at first, from 20 to
//! 200, back-off ratio 0.9, a call of more than 5 s counts as a drop.

use std::time::Duration;

use weir::core::time::Time;

use super::blocking::{Limit, Sample};

/// Calls at once.
const LEAST: u32 = 20;
const MOST: u32 = 200;
const BACK_OFF_RATIO: f64 = 0.9;
const TIMEOUT: Duration = Duration::from_secs(5);

/// The limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AimdLimit(u32);

impl Default for AimdLimit {
    fn default() -> AimdLimit {
        AimdLimit(LEAST)
    }
}

impl Limit for AimdLimit {
    fn limit(&self) -> u32 {
        self.0
    }

    fn sample(&mut self, _: Time, sample: Sample) {
        if sample.is_dropped || sample.rtt > TIMEOUT {
            self.0 = (f64::from(self.0) * BACK_OFF_RATIO) as u32;
        } else if sample.in_flight * 2 >= self.0 {
            self.0 += 1;
        }
        self.0 = self.0.clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_what_is_in_flight_and_drops() {
        let mut limit = AimdLimit(30);
        let mut after = |in_flight, is_dropped, millis| {
            let rtt = Duration::from_millis(millis);
            let sample = Sample {
                rtt,
                in_flight,
                is_dropped,
            };
            limit.sample(Time(0), sample);
            limit.limit()
        };
        assert_eq!(after(15, false, 600), 31);
        assert_eq!(after(15, false, 600), 31, "half of the limit is not used");
        assert_eq!(after(31, true, 20), 27);
        assert_eq!(after(27, false, 5001), 24);
        assert_eq!(after(24, true, 20), 21);
        assert_eq!(after(21, true, 20), 20, "not below the least");
    }
}
