//! How fast calls may start, and whether Weir acts on what it decides.

use std::time::Duration;

/// Whether a policy acts on what it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It does.
    #[default]
    Enforce,
    /// It decides and counts, and changes nothing.
    Shadow,
}

/// The bound on starts: in every window of `t` seconds at most `burst` + `t` x the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    per_second_nano: u64,
    burst: u32,
}

impl Rate {
    /// The largest rate, in permits per second.
    pub const MAX_PER_SECOND: u32 = 1_000_000;

    /// The largest burst.
    pub const MAX_BURST: u32 = 100_000;

    /// None unless the rate is above 0 and at most [`Rate::MAX_PER_SECOND`], and `burst` is 1 to
    /// [`Rate::MAX_BURST`].
    pub fn new(per_second_nano: u64, burst: u32) -> Option<Rate> {
        let fits = is_rate(per_second_nano) && (1..=Rate::MAX_BURST).contains(&burst);
        fits.then_some(Rate {
            per_second_nano,
            burst,
        })
    }

    /// Permits per second times 1e9; at least 1.
    pub fn per_second_nano(self) -> u64 {
        self.per_second_nano
    }

    /// Starts at one time after a long rest; at least 1.
    pub fn burst(self) -> u32 {
        self.burst
    }
}

/// How the rate itself may grow from a standing start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ramp {
    initial_nano: u64,
    every_ms: u32,
    growth: Growth,
}

impl Ramp {
    /// The shortest and the longest time over which growth is stated, in ms.
    pub const EVERY_MS: (u32, u32) = (100, 3_600_000);

    /// None unless `initial_nano` is above 0 and at most [`Rate::MAX_PER_SECOND`], and `every_ms` is
    /// within [`Ramp::EVERY_MS`].
    pub fn new(initial_nano: u64, every_ms: u32, growth: Growth) -> Option<Ramp> {
        let (least, most) = Ramp::EVERY_MS;
        let fits = is_rate(initial_nano) && (least..=most).contains(&every_ms);
        fits.then_some(Ramp {
            initial_nano,
            every_ms,
            growth,
        })
    }

    /// The same ramp from another start, which is above 0 and below its own.
    pub(super) fn starting_at(self, initial_nano: u64, growth: Growth) -> Ramp {
        Ramp {
            initial_nano,
            growth,
            ..self
        }
    }

    /// Where the rate starts from: permits per second times 1e9; at least 1.
    pub fn initial_nano(self) -> u64 {
        self.initial_nano
    }

    /// The time over which [`Ramp::growth`] is stated: 100 ms to an hour.
    pub fn every(self) -> Duration {
        Duration::from_millis(u64::from(self.every_ms))
    }

    /// By how much the rate grows in that time.
    pub fn growth(self) -> Growth {
        self.growth
    }
}

/// What bounds the growth of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Ramping {
    /// What refusals teach.
    #[default]
    Learned,
    /// Nothing.
    Off,
    /// A ramp that the configuration states.
    Stated(Ramp),
}

/// Growth of a rate in the time that a ramp states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Growth {
    /// By a part of itself.
    Percent(Percent),
    /// By a fixed amount.
    Step(Step),
}

/// 1 to 1000 percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Percent(u32);

impl Percent {
    /// The largest growth, in percent.
    pub const MAX: u32 = 1000;

    /// None unless `percent` is 1 to [`Percent::MAX`].
    pub fn new(percent: u32) -> Option<Percent> {
        (1..=Percent::MAX)
            .contains(&percent)
            .then_some(Percent(percent))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Permits per second, above 0 and at most [`Rate::MAX_PER_SECOND`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step(u64);

impl Step {
    /// None unless the step is within the bounds above.
    pub fn new(per_second_nano: u64) -> Option<Step> {
        is_rate(per_second_nano).then_some(Step(per_second_nano))
    }

    /// Permits per second times 1e9; at least 1.
    pub fn per_second_nano(self) -> u64 {
        self.0
    }
}

/// The billion that a rate in whole numbers is counted in.
pub(super) const NANO: u64 = 1_000_000_000;

fn is_rate(per_second_nano: u64) -> bool {
    (1..=u64::from(Rate::MAX_PER_SECOND) * NANO).contains(&per_second_nano)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn rates_and_bursts_have_bounds() {
        let most = u64::from(Rate::MAX_PER_SECOND) * NANO;
        for (nano, burst) in [(1, 1), (most, Rate::MAX_BURST)] {
            let rate = Rate::new(nano, burst).unwrap();
            assert_eq!((rate.per_second_nano(), rate.burst()), (nano, burst));
        }
        for (nano, burst) in [(0, 1), (most + 1, 1), (1, 0), (1, Rate::MAX_BURST + 1)] {
            assert_eq!(Rate::new(nano, burst), None, "{nano} {burst}");
        }
    }

    #[test]
    fn ramps_have_bounds() {
        let growth = Growth::Percent(Percent::new(50).unwrap());
        let ramp = Ramp::new(2 * NANO, 10_000, growth).unwrap();
        assert_eq!(ramp.every(), Duration::from_secs(10));
        for every_ms in [0, 99, 3_600_001] {
            assert_eq!(Ramp::new(NANO, every_ms, growth), None, "{every_ms}");
        }
        assert_eq!(Ramp::new(0, 1000, growth), None);
        for (percent, fits) in [(0, false), (1, true), (1000, true), (1001, false)] {
            assert_eq!(Percent::new(percent).is_some(), fits, "{percent}");
        }
        assert_eq!(Step::new(0), None);
        assert_eq!(Step::new(1).map(Step::per_second_nano), Some(1));
    }
}
