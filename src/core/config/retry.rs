//! How often and with which delays refused calls are tried again.

use std::time::Duration;

/// When a refused call is tried again, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub(super) max_attempts: Attempts,
    pub(super) burst_max_attempts: Attempts,
    pub(super) window: Window,
    pub(super) burst_window: Window,
    pub(super) retry_after_cap: Duration,
    pub(super) budget: Duration,
    pub(super) ratio_percent: u32,
    pub(super) ratio_min_per_second: u32,
}

impl Retry {
    /// The largest floor of the retry ratio.
    pub const MAX_RATIO_MIN_PER_SECOND: u32 = 1000;

    /// Attempts of a call in all, for refusals of class rate, concurrency and overloaded.
    pub fn max_attempts(&self) -> Attempts {
        self.max_attempts
    }

    /// Attempts of a call in all, for refusals of class burst_rate.
    pub fn burst_max_attempts(&self) -> Attempts {
        self.burst_max_attempts
    }

    /// Delays after refusals of class rate, concurrency and overloaded.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Delays after refusals of class burst_rate.
    pub fn burst_window(&self) -> Window {
        self.burst_window
    }

    /// The longest wait asked by a provider that is still waited for, at most an hour.
    pub fn retry_after_cap(&self) -> Duration {
        self.retry_after_cap
    }

    /// From a call's arrival to the start of its last attempt, at most an hour.
    pub fn budget(&self) -> Duration {
        self.budget
    }

    /// Retries of a gate per hundred of its recent calls, at most 100.
    pub fn ratio_percent(&self) -> u32 {
        self.ratio_percent
    }

    /// Retries of a gate per second that are allowed besides, at most
    /// [`Retry::MAX_RATIO_MIN_PER_SECOND`].
    pub fn ratio_min_per_second(&self) -> u32 {
        self.ratio_min_per_second
    }
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            max_attempts: Attempts(3),
            burst_max_attempts: Attempts(2),
            window: Window {
                base_ms: 1000,
                cap_ms: 8000,
            },
            burst_window: Window {
                base_ms: 5000,
                cap_ms: 15_000,
            },
            retry_after_cap: Duration::from_secs(600),
            budget: Duration::from_secs(120),
            // As in Finagle's RetryBudget.
            ratio_percent: 20,
            ratio_min_per_second: 10,
        }
    }
}

/// A number of attempts from 1 to 10, the first one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempts(u8);

impl Attempts {
    /// The largest number of attempts.
    pub const MAX: u8 = 10;

    /// None unless `count` is 1 to 10.
    pub fn new(count: u8) -> Option<Attempts> {
        (1..=Attempts::MAX)
            .contains(&count)
            .then_some(Attempts(count))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// The range in which delays are drawn: at least 1 ms, at most an hour, and wide enough
/// (`cap >= 1.2 * base`) that calls refused together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    base_ms: u32,
    cap_ms: u32,
}

impl Window {
    /// The largest cap: an hour.
    pub const MAX_MS: u32 = 3_600_000;

    /// None unless `1 <= base_ms`, `1.2 * base_ms <= cap_ms` and `cap_ms <= MAX_MS`.
    pub fn from_millis(base_ms: u32, cap_ms: u32) -> Option<Window> {
        let wide = cap_ms >= Window::least_cap_ms(base_ms);
        (base_ms >= 1 && wide && cap_ms <= Window::MAX_MS).then_some(Window { base_ms, cap_ms })
    }

    /// The smallest cap that goes with `base_ms`.
    pub fn least_cap_ms(base_ms: u32) -> u32 {
        base_ms.saturating_add(base_ms.div_ceil(5))
    }

    /// The smallest delay.
    pub fn base(self) -> Duration {
        Duration::from_millis(u64::from(self.base_ms))
    }

    /// The largest delay.
    pub fn cap(self) -> Duration {
        Duration::from_millis(u64::from(self.cap_ms))
    }

    pub(super) fn millis(self) -> (u32, u32) {
        (self.base_ms, self.cap_ms)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn windows_are_at_least_a_fifth_wide() {
        let right = [(1, 2), (5, 6), (1000, 1200), (3_000_000, 3_600_000)];
        for (base, cap) in right {
            let window = Window::from_millis(base, cap).unwrap();
            assert_eq!(window.millis(), (base, cap));
            assert_eq!(Window::from_millis(base, cap - 1), None, "{base} {cap}");
        }
        let wrong = [
            (0, 1),
            (1, 3_600_001),
            (3_000_001, 3_600_000),
            (u32::MAX, u32::MAX),
        ];
        for (base, cap) in wrong {
            assert_eq!(Window::from_millis(base, cap), None, "{base} {cap}");
        }
    }

    #[test]
    fn attempts_are_one_to_ten() {
        assert_eq!(Attempts::new(0), None);
        assert_eq!(Attempts::new(1).map(Attempts::get), Some(1));
        assert_eq!(Attempts::new(10).map(Attempts::get), Some(10));
        assert_eq!(Attempts::new(11), None);
    }
}
