//! How many attempts may be in flight, learned from refusals that say it were too many.
//!
//! Such a refusal lowers the cap to what was in flight without it. While the cap is all that keeps a
//! waiter, it grows by one now and then; the time between doubles with each refusal.

use std::time::Duration;

use crate::core::time::Time;

/// A cap that was learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdaptiveCap {
    /// Most attempts in flight; at least 1.
    pub limit: u32,
    /// When it last changed.
    pub since: Time,
    /// How long it stays as it is at least, in milliseconds; `u32::MAX` for a cap that the provider
    /// states, which never grows.
    pub keeps_ms: u32,
    /// When it was last refused.
    pub fell: Time,
}

const FIRST_MS: u32 = 3_800;
const LONGEST_MS: u32 = 60_000;

impl AdaptiveCap {
    /// After the first refusal, `in_flight` others being under way.
    pub(super) fn first(in_flight: u64, now: Time) -> AdaptiveCap {
        AdaptiveCap {
            limit: limit(in_flight),
            since: now,
            keeps_ms: FIRST_MS,
            fell: now,
        }
    }

    /// The provider states its cap.
    pub(super) fn stated(calls: u32, now: Time) -> AdaptiveCap {
        AdaptiveCap {
            limit: calls.max(1),
            since: now,
            keeps_ms: u32::MAX,
            fell: now,
        }
    }

    /// After another.
    pub(super) fn fall(&mut self, in_flight: u64, now: Time) {
        let below = self.limit.saturating_sub(1).max(1);
        self.limit = limit(in_flight).min(below);
        self.since = now;
        self.fell = now;
        if self.keeps_ms != u32::MAX {
            self.keeps_ms = self.keeps_ms.saturating_mul(2).min(LONGEST_MS);
        }
    }

    /// It is all that keeps a waiter. True if it gave way.
    pub(super) fn press(&mut self, now: Time) -> bool {
        let is_due = self.keeps_ms != u32::MAX
            && now.since(self.since) >= Duration::from_millis(self.keeps_ms.into());
        if is_due {
            self.limit = self.limit.saturating_add(1);
            self.since = now;
        }
        is_due
    }
}

fn limit(in_flight: u64) -> u32 {
    u32::try_from(in_flight).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn at(seconds: u64) -> Time {
        Time(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn it_falls_to_what_was_accepted_and_never_below_one() {
        let mut cap = AdaptiveCap::first(12, at(0));
        assert_eq!(cap.limit, 12);
        cap.fall(40, at(1));
        assert_eq!(cap.limit, 11);
        cap.fall(0, at(2));
        cap.fall(0, at(3));
        assert_eq!(cap.limit, 1);
    }

    #[test]
    fn it_grows_by_one_and_the_more_rarely_the_more_often_it_was_wrong() {
        let mut cap = AdaptiveCap::first(5, at(0));
        assert!(!cap.press(at(3)));
        assert!(cap.press(at(4)));
        assert_eq!(cap.limit, 6);
        cap.fall(5, at(5));
        assert!(!cap.press(at(12)));
        assert!(cap.press(at(13)));
        for _ in 0..20 {
            cap.fall(5, at(20));
        }
        assert!(!cap.press(at(79)));
        assert!(cap.press(at(80)));
    }
}
