//! For how long a refusal shuts its gate.
//!
//! Never for less than the server asks for; a share of that above it, drawn once for a gate and an
//! episode, keeps gates that were refused together from coming back together.

use std::time::Duration;

use crate::core::classify::{Class, Stated};
use crate::core::retry::uniform;
use crate::core::time::Time;

/// The first back-off where the server names no wait; it doubles with every probe refused.
pub const FIRST: Duration = Duration::from_millis(80);

/// The longest back-off.
pub const LONGEST: Duration = Duration::from_secs(15);

/// How long an exhausted quota is left alone whose reset is not stated.
pub const QUOTA: Duration = Duration::from_secs(15 * 60);

/// No quota lasts longer; what says so is not believed, and probed.
const LAST_RESET: Duration = Duration::from_secs(31 * 24 * 3600);

/// The least range of a draw above the server's minimum, and the widest: a quota that comes back in
/// hours must not lie idle for one, and a rate not for long beyond the second that most waits are
/// rounded up to.
const RANGE: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(300)];
const QUOTA_RANGE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(75)];

/// How far apart the probes of several Envoys are on average, and over how long a time they are
/// spread at most where the pause itself is short, and where it is long.
const APART: Duration = Duration::from_millis(100);
const SPREAD: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// A refusal, as its gate hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The gate's epoch in which the refused attempt started.
    pub epoch: u32,
    /// What ran out.
    pub class: Class,
    /// The shortest wait that the server asked for, as far as it is to be heeded.
    pub least: Option<Duration>,
    /// When it came.
    pub at: Time,
    /// How long after the start of its attempt.
    pub took: Duration,
    /// A random number for the gate's draw.
    pub random: u64,
    /// How many Envoys, this one included, have a gate before the same limit.
    pub envoys: u32,
    /// The limit that it states, over all of them.
    pub stated: Option<Stated>,
    /// The gate has heard of it before, by what its headers said.
    pub is_told: bool,
}

impl Refusal {
    /// When the pause that it asks for ends, `misses` probes having been refused in a row.
    pub(super) fn pause_ends(&self, misses: u32, draw: u64) -> Time {
        self.at + length(self.class, self.least, misses, self.envoys, draw)
    }

    /// Whether it prolongs a pause that another refusal began: if it says how long.
    pub(super) fn prolongs(&self) -> bool {
        self.least.is_some() || self.class == Class::QuotaExhausted
    }

    /// This Envoy's part of the limit that it states.
    pub(super) fn limit(&self) -> Option<Stated> {
        self.stated.map(|stated| match stated {
            Stated::PerSecond(rate) => {
                Stated::PerSecond((rate / u64::from(self.envoys.max(1))).max(1))
            }
            Stated::AtOnce(calls) => Stated::AtOnce((calls / self.envoys.max(1)).max(1)),
        })
    }

    /// Whether it says when calls may start again.
    pub(super) fn is_stated(&self) -> bool {
        self.least.is_some()
    }
}

/// How long a gate is shut by a refusal of this class, in each of so many Envoys.
pub fn length(
    class: Class,
    least: Option<Duration>,
    misses: u32,
    envoys: u32,
    draw: u64,
) -> Duration {
    match least {
        Some(least) => {
            let least = least.min(LAST_RESET);
            let [narrow, wide] = match class {
                Class::QuotaExhausted => QUOTA_RANGE,
                _ => RANGE,
            };
            let range = (least / 8).clamp(narrow, wide);
            least + uniform(range.max(spread(least, envoys)), draw)
        }
        None if class == Class::QuotaExhausted => QUOTA,
        None => {
            let doubled = FIRST.saturating_mul(1 << misses.min(16));
            let backoff = doubled.min(LONGEST);
            backoff + uniform((backoff / 2).max(spread(backoff, envoys)), draw)
        }
    }
}

/// The range in which the probes of all Envoys are far enough apart, who know nothing of each other.
fn spread(pause: Duration, envoys: u32) -> Duration {
    let [short, long] = SPREAD;
    let wanted = APART.saturating_mul(envoys.saturating_sub(1));
    wanted.min((pause / 2).clamp(short, long))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn ends(class: Class, least: Option<u64>, misses: u32) -> [u128; 2] {
        let least = least.map(Duration::from_millis);
        [0, u64::MAX].map(|draw| length(class, least, misses, 1, draw).as_millis())
    }

    #[test]
    fn l9_pauses_lie_in_their_stated_ranges() {
        let rate = |least, misses| ends(Class::Rate, least, misses);
        assert_eq!(rate(Some(5000), 0), [5000, 5300]);
        assert_eq!(rate(Some(5000), 9), [5000, 5300]);
        assert_eq!(rate(Some(100), 0), [100, 150]);
        assert_eq!(rate(None, 0), [80, 120]);
        assert_eq!(rate(None, 1), [160, 240]);
        assert_eq!(rate(None, 5), [2560, 3840]);
        assert_eq!(rate(None, 8), [15_000, 22_500]);
        assert_eq!(rate(None, u32::MAX), [15_000, 22_500]);
    }

    #[test]
    fn l9_the_probes_of_several_envoys_are_spread_over_more_time() {
        let last = |least, envoys| {
            let least = Duration::from_millis(least);
            length(Class::Rate, Some(least), 0, envoys, u64::MAX).as_millis()
        };
        assert_eq!(
            [1, 2, 4, 5].map(|n| last(5000, n)),
            [5300, 5300, 5300, 5400]
        );
        assert_eq!([26, 27, 100_000].map(|n| last(5000, n)), [7500; 3]);
        assert_eq!([3, 11, 100_000].map(|n| last(100, n)), [300, 1100, 1100]);
        assert_eq!(last(60_000, 100_000), 70_000);
        // Without a word of the server's.
        let own = length(Class::Rate, None, 0, 5, u64::MAX).as_millis();
        assert_eq!(own, 480);
    }

    #[test]
    fn an_exhausted_quota_is_left_alone_until_its_reset_or_for_a_quarter_of_an_hour() {
        let quota = |least| ends(Class::QuotaExhausted, least, 3);
        assert_eq!(quota(None), [900_000, 900_000]);
        assert_eq!(quota(Some(3_600_000)), [3_600_000, 3_675_000]);
        let day = 24 * 3600 * 1000;
        assert_eq!(quota(Some(365 * day))[0], u128::from(31 * day));
    }
}
