//! How many retries a gate allows: a share of its recent calls, and a floor.
//!
//! Waiting and jitter spread retries out, they do not make them fewer. When a provider refuses all it
//! gets, each call becomes as many attempts as it may make, and the more so the longer it lasts. The
//! budget bounds that: in ten seconds at most `percent` of the calls that came in them, and at most
//! ten times `per_second` more (Finagle's `RetryBudget`; Envoy's `retry_budget` is its kin).

use crate::core::time::Time;

/// Over how many seconds calls and retries are counted.
pub const SECONDS: usize = 10;

/// What a policy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allowance {
    /// Retries per hundred recent calls.
    pub percent: u32,
    /// Retries per second, whatever the calls.
    pub per_second: u32,
}

/// The calls and retries of the last ten seconds, by the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Recent {
    /// The latest second that is counted.
    pub second: u64,
    /// Calls that came, each second in the place of its number modulo ten.
    pub calls: [u32; SECONDS],
    /// Retries that were allowed.
    pub retries: [u32; SECONDS],
}

impl Recent {
    /// Calls came that did not have to go again.
    pub fn add_calls(&mut self, calls: u32, now: Time) {
        if calls == 0 {
            return;
        }
        let at = self.turn_to(now);
        if let Some(count) = self.calls.get_mut(at) {
            *count = count.saturating_add(calls);
        }
    }

    /// Takes one retry. False if there is none left.
    pub fn take_retry(&mut self, allowance: Allowance, now: Time) -> bool {
        let at = self.turn_to(now);
        let sum = |counts: &[u32]| counts.iter().map(|n| u64::from(*n)).sum::<u64>();
        let floor = u64::from(allowance.per_second) * SECONDS as u64;
        let share = sum(&self.calls) * u64::from(allowance.percent) / 100;
        let is_left = sum(&self.retries) < share + floor;
        if is_left && let Some(count) = self.retries.get_mut(at) {
            *count = count.saturating_add(1);
        }
        is_left
    }

    /// Forgets what is ten seconds old. Returns the place of the present second.
    fn turn_to(&mut self, now: Time) -> usize {
        const LAST: u64 = SECONDS as u64;
        let second = now.0 / 1_000_000_000;
        // Another worker may have read its clock a moment later.
        while self.second < second {
            // What lies further back than all places is gone with the last of them.
            self.second = (self.second + 1).max(second.saturating_sub(LAST - 1));
            let at = (self.second % LAST) as usize;
            for counts in [&mut self.calls, &mut self.retries] {
                if let Some(count) = counts.get_mut(at) {
                    *count = 0;
                }
            }
        }
        (self.second % LAST) as usize
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000 + 999_999_999)
    }

    fn allowance(percent: u32, per_second: u32) -> Allowance {
        Allowance {
            percent,
            per_second,
        }
    }

    fn taken(recent: &mut Recent, allowance: Allowance, now: Time) -> usize {
        (0..10_000)
            .take_while(|_| recent.take_retry(allowance, now))
            .count()
    }

    #[test]
    fn a_share_of_recent_calls_and_a_floor_are_allowed() {
        for (calls, percent, per_second, expected) in [
            (0, 20, 0, 0),
            (4, 20, 0, 0),
            (5, 20, 0, 1),
            (100, 20, 0, 20),
            (100, 20, 3, 50),
            (0, 0, 3, 30),
            (100, 100, 0, 100),
            (100, 0, 0, 0),
        ] {
            let mut recent = Recent::default();
            recent.add_calls(calls, at(7));
            let allowance = allowance(percent, per_second);
            let taken = taken(&mut recent, allowance, at(7));
            assert_eq!(taken, expected, "{calls} {allowance:?}");
        }
    }

    #[test]
    fn calls_count_for_ten_seconds() {
        for (later, expected) in [(0, 20), (9, 20), (10, 0), (11, 0), (1_000_000, 0)] {
            let mut recent = Recent::default();
            recent.add_calls(100, at(7));
            let taken = taken(&mut recent, allowance(20, 0), at(7 + later));
            assert_eq!(taken, expected, "{later}");
        }
    }

    #[test]
    fn a_retry_is_paid_for_ten_seconds() {
        let mut recent = Recent::default();
        for (second, expected) in [(3, 30), (12, 0), (13, 30), (22, 0), (24, 30)] {
            assert_eq!(taken(&mut recent, allowance(0, 3), at(second)), expected);
        }
    }

    #[test]
    fn a_clock_that_is_behind_counts_as_the_latest_second() {
        let mut recent = Recent::default();
        recent.add_calls(10, at(20));
        recent.add_calls(10, at(5));
        assert_eq!(taken(&mut recent, allowance(50, 0), at(29)), 10);
        assert_eq!(taken(&mut recent, allowance(50, 0), at(0)), 0);
    }

    #[cfg(not(target_family = "wasm"))]
    mod laws {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            /// In every ten seconds no more retries than the share of their calls and the floor.
            #[test]
            fn no_ten_seconds_hold_more_retries_than_allowed(
                steps in proptest::collection::vec((0_u64..4_000, any::<bool>()), 1..400),
                percent in 0_u32..=100, per_second in 0_u32..4,
            ) {
                let allowance = allowance(percent, per_second);
                let mut recent = Recent::default();
                let mut now = Time(0);
                let mut events = Vec::new();
                for (millis, is_call) in steps {
                    now = Time(now.0 + millis * 1_000_000);
                    let second = now.0 / 1_000_000_000;
                    if is_call {
                        recent.add_calls(1, now);
                        events.push((second, true));
                    } else if recent.take_retry(allowance, now) {
                        events.push((second, false));
                        let within = events.iter().filter(|(at, _)| at + 10 > second);
                        let all = within.clone().count() as u64;
                        let calls = within.filter(|(_, is_call)| *is_call).count() as u64;
                        let most = calls * u64::from(percent) / 100 + 10 * u64::from(per_second);
                        prop_assert!(all - calls <= most);
                    }
                }
            }
        }
    }
}
