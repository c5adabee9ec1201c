//! When calls come: Poisson arrivals at a rate that is drawn as straight pieces.
//!
//! | name | calls a second |
//! | --- | --- |
//! | `peak` | 0 to 60 within 2 s, then 60 for 22 s |
//! | `saw` | three times: 0 to 60 within 8 s, then none for 12 s |
//! | `steps` | 10, 30, 60, 20 and 50, for 8 s each |
//! | `constant:RATE:SECONDS` | as it says |

use std::time::Duration;

use weir::core::time::Time;

use super::draw::{Draw, For};

/// A load shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) name: String,
    pieces: Vec<Piece>,
}

/// The rate goes from one value to another in a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: f64,
    to: f64,
    seconds: f64,
}

fn piece(from: f64, to: f64, seconds: f64) -> Piece {
    Piece { from, to, seconds }
}

impl Load {
    /// The load of a name; `None` if there is none.
    pub(crate) fn named(name: &str) -> Option<Load> {
        let pieces = match name {
            "peak" => vec![piece(0.0, 60.0, 2.0), piece(60.0, 60.0, 22.0)],
            "saw" => [piece(0.0, 60.0, 8.0), piece(0.0, 0.0, 12.0)].repeat(3),
            "steps" => [10.0, 30.0, 60.0, 20.0, 50.0]
                .map(|rate| piece(rate, rate, 8.0))
                .to_vec(),
            _ => return Load::constant(name),
        };
        let name = name.to_owned();
        Some(Load { name, pieces })
    }

    /// A load without a name: from one rate to another, and for how many seconds.
    pub(crate) fn of(pieces: &[(f64, f64, f64)]) -> Load {
        let pieces = pieces.iter().map(|(from, to, s)| piece(*from, *to, *s));
        Load {
            name: String::new(),
            pieces: pieces.collect(),
        }
    }

    fn constant(name: &str) -> Option<Load> {
        let (rate, seconds) = name.strip_prefix("constant:")?.split_once(':')?;
        let numbers = [rate.parse().ok()?, seconds.parse().ok()?];
        let is_fine = |n: &f64| n.is_finite() && *n > 0.0;
        let [rate, seconds] = numbers;
        let pieces = vec![piece(rate, rate, seconds)];
        let name = name.to_owned();
        numbers.iter().all(is_fine).then_some(Load { name, pieces })
    }

    /// The arrivals of a seed, in order.
    pub(crate) fn arrivals(&self, seed: u64) -> Arrivals {
        Arrivals {
            pieces: self.pieces.clone(),
            at: 0,
            began: 0.0,
            passed: 0.0,
            draw: Draw::new(seed, For::Arrivals),
            due: 0.0,
        }
    }
}

/// Times of arrival since the start of the load.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    pieces: Vec<Piece>,
    at: usize,
    /// When the current piece began, in seconds.
    began: f64,
    /// Calls expected before it.
    passed: f64,
    draw: Draw,
    /// Calls expected before the next arrival.
    due: f64,
}

impl Iterator for Arrivals {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        self.due += self.draw.exponential();
        loop {
            let Piece { from, to, seconds } = *self.pieces.get(self.at)?;
            let (left, all) = (self.due - self.passed, (from + to) / 2.0 * seconds);
            if left > all {
                self.passed += all;
                self.began += seconds;
                self.at += 1;
                continue;
            }
            // from * t + slope * t^2 / 2 = left, in the form that is exact for no slope too.
            let slope = (to - from) / seconds;
            let root = (from * from + 2.0 * slope * left).max(0.0).sqrt();
            let t = if left > 0.0 {
                2.0 * left / (from + root)
            } else {
                0.0
            };
            let at = Duration::from_secs_f64(self.began + t.min(seconds));
            return Some(Time(0) + at);
        }
    }
}
