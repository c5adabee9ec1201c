//! Axes that the page and the picture share.

use super::super::measure::Series;

/// What one axis shows: 0 to `max` with a mark every `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) max: usize,
    pub(super) step: usize,
}

impl Axis {
    /// The smallest round axis that holds `largest`, with at most six steps.
    pub(super) fn holding(largest: usize) -> Self {
        const STEPS: [usize; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
        let fits = |step: &&usize| largest <= **step * 6;
        let step = STEPS.iter().find(fits).copied().unwrap_or(largest.max(1));
        Self {
            max: step * largest.max(1).div_ceil(step),
            step,
        }
    }

    pub(super) fn marks(self) -> impl Iterator<Item = usize> {
        (0..=self.max).step_by(self.step)
    }
}

/// The axes that hold every one of `all`: seconds, and calls per second.
pub(super) fn axes(all: &[Series]) -> (Axis, Axis) {
    let curves = || {
        all.iter()
            .flat_map(|s| [&s.offered, &s.succeeded, &s.refused])
    };
    let seconds = curves().map(Vec::len).max().unwrap_or(0);
    let calls = curves().flatten().copied().max().unwrap_or(0);
    (Axis::holding(seconds), Axis::holding(calls))
}

/// A curve's points, each in the middle of its second, from 0 until it is 0 for good; none if
/// it is 0 throughout.
pub(super) fn points(curve: &[usize]) -> Vec<(f64, f64)> {
    let Some(last) = curve.iter().rposition(|v| *v > 0) else {
        return vec![];
    };
    let middle = curve.iter().take(last + 1).enumerate();
    let middle = middle.map(|(s, v)| (s as f64 + 0.5, *v as f64));
    let start = std::iter::once((0.0, 0.0));
    start
        .chain(middle)
        .chain([((last + 1) as f64, 0.0)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_nothing_follows() {
        assert_eq!(points(&[0, 0]), []);
        let rise = [(0.0, 0.0), (0.5, 0.0), (1.5, 3.0), (2.0, 0.0)];
        assert_eq!(points(&[0, 3, 0]), rise);
    }

    #[test]
    fn an_axis_is_round_and_holds_all() {
        for (largest, max, step) in [
            (0, 1, 1),
            (6, 6, 1),
            (7, 8, 2),
            (46, 50, 10),
            (60, 60, 10),
            (61, 80, 20),
            (205, 250, 50),
        ] {
            assert_eq!(Axis::holding(largest), Axis { max, step }, "{largest}");
        }
    }
}
