//! Monotonic time, as one number that all workers of a process agree on.

use std::ops::Add;
use std::time::Duration;

/// A point in monotonic time, in nanoseconds since a start that only this process knows.
///
/// Every VM of one Envoy process reads the same clock, so values may be compared across workers
/// and stored in shared state. Arithmetic saturates: the clock of a host is not ours to trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The time after which nothing happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// How long ago `earlier` was; zero if it lies in the future.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This time less `span`, not below the start of time.
    pub fn before(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(nanos(span)))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(nanos(span)))
    }
}

/// A span in whole milliseconds, rounded up, so that a promise made in milliseconds is kept.
pub fn millis_up(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time(5).since(Time(9)), Duration::ZERO);
        assert_eq!(Time(5).before(Duration::from_nanos(9)), Time(0));
        assert_eq!(Time(u64::MAX - 1) + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Time(0) + Duration::MAX, Time::NEVER);
    }

    #[test]
    fn milliseconds_round_up() {
        assert_eq!(millis_up(Duration::from_nanos(1)), 1);
        assert_eq!(millis_up(Duration::from_millis(7)), 7);
        assert_eq!(millis_up(Duration::MAX), u64::MAX);
    }
}
