//! How many attempts a gate has started lately: in the last second, and in the last ten.
//!
//! It runs whether or not anything was refused, since the first refusal asks for the past.

use super::ramp::NANO;
use crate::core::time::Time;

/// Cells of each span.
pub(super) const CELLS: usize = 10;

/// Starts counted in cells of 100 ms and of 1 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Meter {
    /// Of the last second, by tenths; the cell of a tenth is its number modulo ten.
    pub tenths: [u16; CELLS],
    /// Of the last ten seconds.
    pub seconds: [u16; CELLS],
    /// The tenth of a second that was counted last, since the start of time.
    pub tenth: u64,
    /// The most starts in one second since the last refusal, in billionths a second.
    pub best: u64,
}

const TENTH: u64 = NANO / 10;

/// Whole seconds of which [`Meter::lately`] tells, beside the current one.
const LATELY: u64 = 2;

impl Meter {
    /// An attempt starts.
    pub(super) fn count(&mut self, now: Time) {
        self.turn(now);
        self.change(|cell| cell.saturating_add(1));
        if let Some(rate) = self.full_second(now) {
            self.best = self.best.max(rate);
        }
    }

    /// A start did not happen after all.
    pub(super) fn uncount(&mut self, now: Time) {
        self.turn(now);
        self.change(|cell| cell.saturating_sub(1));
    }

    /// Starts a second over the last second, in billionths, `less` of them left out. At least one.
    pub(super) fn rate(&self, now: Time, less: u32) -> u64 {
        let mut then = *self;
        then.turn(now);
        let starts: u32 = then.tenths.iter().map(|cell| u32::from(*cell)).sum();
        let starts = u64::from(starts.saturating_sub(less).max(1));
        let span = TENTH * (CELLS as u64 - 1) + now.0 % TENTH;
        u64::try_from(u128::from(starts) * u128::from(NANO) * u128::from(NANO) / u128::from(span))
            .unwrap_or(u64::MAX)
    }

    /// Starts in the last ten seconds, the current one included.
    pub(super) fn in_ten_seconds(&self, now: Time) -> u32 {
        let mut then = *self;
        then.turn(now);
        then.seconds.iter().map(|cell| u32::from(*cell)).sum()
    }

    /// Starts a second over the last two to three seconds, in billionths. At least one start.
    pub(super) fn lately(&self, now: Time) -> u64 {
        let mut then = *self;
        then.turn(now);
        let second = then.tenth / CELLS as u64;
        let cells = (0..=LATELY).filter_map(|back| {
            let at = second.saturating_sub(back) % CELLS as u64;
            then.seconds.get(at as usize)
        });
        let starts: u64 = cells.map(|cell| u64::from(*cell)).sum();
        let span = NANO * LATELY + now.0 % NANO;
        let billionths = u128::from(starts.max(1)) * u128::from(NANO);
        u64::try_from(billionths * u128::from(NANO) / u128::from(span)).unwrap_or(u64::MAX)
    }

    fn full_second(&self, now: Time) -> Option<u64> {
        // A start alone in its second says little of a rate.
        (self.in_ten_seconds(now) > 1).then(|| self.rate(now, 0))
    }

    fn change(&mut self, to: impl Fn(u16) -> u16) {
        let (tenth, second) = (self.tenth, self.tenth / CELLS as u64);
        for (cells, at) in [(&mut self.tenths, tenth), (&mut self.seconds, second)] {
            if let Some(cell) = cells.get_mut((at % CELLS as u64) as usize) {
                *cell = to(*cell);
            }
        }
    }

    /// Empties the cells of the time that has passed.
    fn turn(&mut self, now: Time) {
        let (was, is) = (self.tenth, now.0 / TENTH);
        if is <= was {
            return;
        }
        let per = CELLS as u64;
        empty(&mut self.tenths, was, is);
        empty(&mut self.seconds, was / per, is / per);
        self.tenth = is;
    }
}

/// Empties the cells after `was`, up to `is`.
fn empty(cells: &mut [u16; CELLS], was: u64, is: u64) {
    let passed = is.saturating_sub(was).min(CELLS as u64);
    for back in 0..passed {
        if let Some(cell) = cells.get_mut((is.saturating_sub(back) % CELLS as u64) as usize) {
            *cell = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn at(tenths: u64) -> Time {
        Time(tenths * TENTH)
    }

    #[test]
    fn starts_count_for_a_second_and_for_ten() {
        let mut meter = Meter::default();
        for tenth in 100..200 {
            meter.count(at(tenth));
        }
        assert_eq!(meter.in_ten_seconds(at(199)), 100);
        // Nine tenths have passed whole, and the tenth one has just begun.
        assert_eq!(meter.rate(at(199), 0), 10 * NANO * 10 / 9);
        assert_eq!(meter.rate(at(199), 4), 6 * NANO * 10 / 9);
        assert_eq!(meter.rate(at(215), 0), NANO * 10 / 9);
        assert_eq!(meter.in_ten_seconds(at(299)), 0);
        // 20 starts in 2 s, and those of a pause: 10 in 2.5 s, and none.
        assert_eq!(meter.lately(at(200)), 10 * NANO);
        assert_eq!(meter.lately(at(215)), 4 * NANO);
        assert_eq!(meter.lately(at(240)), NANO / 2);
    }

    #[test]
    fn what_did_not_start_does_not_count() {
        let mut meter = Meter::default();
        meter.count(at(5));
        meter.uncount(at(5));
        meter.uncount(at(5));
        assert_eq!(meter.in_ten_seconds(at(5)), 0);
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_does_no_harm() {
        let mut meter = Meter::default();
        for now in [at(50), Time(0), Time::NEVER, at(1)] {
            meter.count(now);
            meter.rate(now, 0);
        }
        assert!(meter.in_ten_seconds(Time::NEVER) >= 1);
    }
}
