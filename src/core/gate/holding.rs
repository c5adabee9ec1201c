//! How long calls keep their slots: what an estimate of a wait goes by.

use std::time::Duration;

/// Samples kept.
pub const SAMPLES: usize = 15;

/// No answer takes longer; a sample above it is a clock's mistake.
const LONGEST: Duration = Duration::from_secs(3600);

/// A rolling median of holding times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Holding {
    /// The last samples in milliseconds, rounded up; 0 is none.
    pub samples: [u32; SAMPLES],
    /// Where the next one goes.
    pub next: u8,
}

impl Holding {
    /// A slot was kept this long. What cannot be is ignored.
    pub fn add(&mut self, span: Duration) {
        if span.is_zero() || span > LONGEST {
            return;
        }
        let next = usize::from(self.next) % SAMPLES;
        if let Some(sample) = self.samples.get_mut(next) {
            *sample = u32::try_from(crate::core::time::millis_up(span)).unwrap_or(u32::MAX);
        }
        self.next = ((next + 1) % SAMPLES) as u8;
    }

    /// The median of the last samples.
    pub fn median(&self) -> Option<Duration> {
        let mut samples = self.samples;
        samples.sort_unstable();
        let first = samples.iter().position(|sample| *sample > 0)?;
        let middle = samples.get(first + (SAMPLES - first) / 2)?;
        Some(Duration::from_millis(u64::from(*middle)))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn median_of(samples: impl IntoIterator<Item = u64>) -> Option<u128> {
        let mut holding = Holding::default();
        for sample in samples {
            holding.add(Duration::from_millis(sample));
        }
        holding.median().map(|median| median.as_millis())
    }

    #[test]
    fn the_median_of_the_last_samples() {
        assert_eq!(median_of([]), None);
        assert_eq!(median_of([7]), Some(7));
        assert_eq!(median_of([1, 9, 5]), Some(5));
        assert_eq!(median_of((0..15).chain([100; 8])), Some(100));
    }

    #[test]
    fn impossible_samples_are_ignored() {
        assert_eq!(median_of([0, 3_600_001, 40]), Some(40));
    }
}
