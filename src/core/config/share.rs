//! Several Envoys in front of one account: each keeps its part of every limit.
//!
//! Envoys know nothing of each other, so the limits of the account are divided once and for all. Caps
//! and bursts are rounded down, so that all parts together are no more than the whole, but to no less
//! than one: an Envoy that may start nothing is none. A limit below the number of Envoys is therefore
//! exceeded, and [`Share::exceeds`] tells so.

use std::num::NonZeroU32;

use super::limits::{Growth, Ramp, Rate, Step};

/// How many Envoys share the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(NonZeroU32);

impl Share {
    /// The most Envoys.
    pub const MAX: u32 = 100_000;

    /// One Envoy has it all.
    pub const WHOLE: Share = Share(NonZeroU32::MIN);

    /// None unless `envoys` is 1 to [`Share::MAX`].
    pub fn of(envoys: u32) -> Option<Share> {
        let envoys = NonZeroU32::new(envoys)?;
        (envoys.get() <= Share::MAX).then_some(Share(envoys))
    }

    /// How many they are.
    pub fn envoys(self) -> u32 {
        self.0.get()
    }

    /// Whether one call for each Envoy is more than `cap` allows.
    pub fn exceeds(self, cap: NonZeroU32) -> bool {
        cap < self.0
    }

    /// This Envoy's part of a cap or a burst.
    pub(super) fn calls(self, whole: NonZeroU32) -> NonZeroU32 {
        NonZeroU32::new(whole.get() / self.envoys()).unwrap_or(NonZeroU32::MIN)
    }

    pub(super) fn rate(self, whole: Rate) -> Rate {
        let burst = NonZeroU32::new(whole.burst()).map_or(1, |burst| self.calls(burst).get());
        // A part of what is within bounds is within them.
        Rate::new(self.nano(whole.per_second_nano()), burst).unwrap_or(whole)
    }

    /// The slope of all Envoys together is that of the account: where each begins and the steps it
    /// takes are divided, growth in percent is the same for a part.
    pub(super) fn ramp(self, whole: Ramp) -> Ramp {
        let growth = match whole.growth() {
            Growth::Percent(percent) => Growth::Percent(percent),
            Growth::Step(step) => {
                Growth::Step(Step::new(self.nano(step.per_second_nano())).unwrap_or(step))
            }
        };
        whole.starting_at(self.nano(whole.initial_nano()), growth)
    }

    fn nano(self, whole: u64) -> u64 {
        (whole / u64::from(self.envoys())).max(1)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::Percent;
    use super::*;

    fn share(envoys: u32) -> Share {
        Share::of(envoys).unwrap()
    }

    #[test]
    fn the_number_of_envoys_has_bounds() {
        for (envoys, fits) in [(0, false), (1, true), (100_000, true), (100_001, false)] {
            assert_eq!(Share::of(envoys).is_some(), fits, "{envoys}");
        }
    }

    #[test]
    fn all_parts_of_a_cap_are_the_cap_at_most_or_one_each() {
        for (cap, of, part, exceeds) in [
            (8, 1, 8, false),
            (8, 2, 4, false),
            (9, 2, 4, false),
            (9, 9, 1, false),
            (9, 10, 1, true),
            (1, 100_000, 1, true),
        ] {
            let whole = NonZeroU32::new(cap).unwrap();
            let found = share(of).calls(whole).get();
            assert_eq!(found, part, "{cap} of {of}");
            assert_eq!(share(of).exceeds(whole), exceeds, "{cap} of {of}");
            assert_eq!(found * of > cap, exceeds, "{cap} of {of}");
        }
    }

    #[test]
    fn rates_bursts_and_slopes_are_divided_and_percents_are_not() {
        let rate = share(4).rate(Rate::new(10, 9).unwrap());
        assert_eq!((rate.per_second_nano(), rate.burst()), (2, 2));
        let least = share(4).rate(Rate::new(3, 1).unwrap());
        assert_eq!((least.per_second_nano(), least.burst()), (1, 1));
        let step = Growth::Step(Step::new(30).unwrap());
        let ramp = share(4).ramp(Ramp::new(10, 700, step).unwrap());
        let part = Growth::Step(Step::new(7).unwrap());
        assert_eq!(ramp, Ramp::new(2, 700, part).unwrap());
        let percent = Growth::Percent(Percent::new(50).unwrap());
        let ramp = share(4).ramp(Ramp::new(10, 700, percent).unwrap());
        assert_eq!(ramp, Ramp::new(2, 700, percent).unwrap());
    }
}
