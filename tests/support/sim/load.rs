//! When calls come: Poisson arrivals at a rate that is drawn as straight pieces, the times of a
//! file, or agents that wait for their answers.
//!
//! | name | calls a second |
//! | --- | --- |
//! | `peak` | 0 to 60 within 2 s, then 60 for 22 s |
//! | `saw` | three times: 0 to 60 within 8 s, then none for 12 s |
//! | `steps` | 10, 30, 60, 20 and 50, for 8 s each |
//! | `constant:RATE:SECONDS` | as it says |
//! | `diurnal:PEAK:SECONDS` | a day within SECONDS: a sine from 0 at night to PEAK at noon |
//! | `agents:COUNT:CALLS`, `agents:COUNT:CALLS:TRIES` | as many as agents make: [`Agents`] |
//! | `trace:FILE` | as in the file: [`Trace`] |

use std::rc::Rc;
use std::time::Duration;

use weir::core::time::Time;

use super::agents::Agents;
use super::draw::{Draw, For};
use super::trace::Trace;

/// Straight pieces of a day: one is a quarter of an hour.
const DAY: u32 = 96;

/// A load shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) name: String,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Rates(Vec<Piece>),
    Trace(Rc<Trace>),
    Agents(Agents),
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
        let (kind, numbers) = name.split_once(':').unwrap_or((name, ""));
        let shape = match (kind, numbers) {
            ("peak", "") => Shape::Rates(vec![piece(0.0, 60.0, 2.0), piece(60.0, 60.0, 22.0)]),
            ("saw", "") => Shape::Rates([piece(0.0, 60.0, 8.0), piece(0.0, 0.0, 12.0)].repeat(3)),
            ("steps", "") => {
                let rates = [10.0, 30.0, 60.0, 20.0, 50.0];
                Shape::Rates(rates.map(|rate| piece(rate, rate, 8.0)).to_vec())
            }
            ("constant", _) => {
                let [rate, seconds] = positive(numbers)?;
                Shape::Rates(vec![piece(rate, rate, seconds)])
            }
            ("diurnal", _) => {
                let [peak, seconds] = positive(numbers)?;
                Shape::Rates(day(peak, seconds))
            }
            ("agents", _) => Shape::Agents(agents(numbers)?),
            _ => return None,
        };
        let name = name.to_owned();
        Some(Load { name, shape })
    }

    /// A load without a name: from one rate to another, and for how many seconds.
    pub(crate) fn of(pieces: &[(f64, f64, f64)]) -> Load {
        let pieces = pieces.iter().map(|(from, to, s)| piece(*from, *to, *s));
        Load {
            name: String::new(),
            shape: Shape::Rates(pieces.collect()),
        }
    }

    /// The calls of a file.
    pub(crate) fn traced(name: &str, trace: Trace) -> Load {
        Load {
            name: name.to_owned(),
            shape: Shape::Trace(Rc::new(trace)),
        }
    }

    /// The agents, if it is they who call.
    pub(crate) fn agents(&self) -> Option<Agents> {
        match self.shape {
            Shape::Agents(agents) => Some(agents),
            _ => None,
        }
    }

    /// The arrivals of a seed, in order: all calls, or the first of each agent.
    pub(crate) fn arrivals(&self, seed: u64) -> Arrivals {
        match &self.shape {
            Shape::Rates(pieces) => Arrivals::Poisson(Poisson {
                pieces: pieces.clone(),
                at: 0,
                began: 0.0,
                passed: 0.0,
                draw: Draw::new(seed, For::Arrivals),
                due: 0.0,
                number: 0,
            }),
            Shape::Trace(trace) => Arrivals::Trace(Rc::clone(trace), 0),
            Shape::Agents(agents) => Arrivals::Agents(agents.first_calls(seed).into_iter()),
        }
    }
}

fn day(peak: f64, seconds: f64) -> Vec<Piece> {
    let rate = |at: u32| {
        let turn = std::f64::consts::TAU * f64::from(at) / f64::from(DAY);
        peak / 2.0 * (1.0 - turn.cos())
    };
    (0..DAY)
        .map(|at| piece(rate(at), rate(at + 1), seconds / f64::from(DAY)))
        .collect()
}

fn agents(numbers: &str) -> Option<Agents> {
    let numbers: Option<Vec<u64>> = numbers.split(':').map(|n| n.parse().ok()).collect();
    let (count, calls, tries) = match numbers?.as_slice() {
        [count, calls] => (*count, *calls, 1),
        [count, calls, tries] => (*count, *calls, *tries),
        _ => return None,
    };
    let is_fine = [count, calls, tries]
        .iter()
        .all(|n| (1..=1_000_000).contains(n));
    is_fine.then_some(Agents {
        count,
        calls,
        tries,
    })
}

/// Two numbers above 0.
fn positive(numbers: &str) -> Option<[f64; 2]> {
    let (one, other) = numbers.split_once(':')?;
    let numbers = [one.parse().ok()?, other.parse().ok()?];
    let is_fine = |n: &f64| n.is_finite() && *n > 0.0;
    numbers.iter().all(is_fine).then_some(numbers)
}

/// A call comes: when, since the start of the load, and which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arriving {
    pub(crate) at: Time,
    pub(crate) number: u64,
    /// What it costs, if the load says so.
    pub(crate) tokens: Option<f64>,
}

/// Arrivals in order.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    Poisson(Poisson),
    /// From the call with this number on.
    Trace(Rc<Trace>, usize),
    Agents(std::vec::IntoIter<(Time, u64)>),
}

impl Iterator for Arrivals {
    type Item = Arriving;

    fn next(&mut self) -> Option<Arriving> {
        let (at, number, tokens) = match self {
            Arrivals::Poisson(poisson) => {
                let at = poisson.next()?;
                let number = poisson.number;
                poisson.number += 1;
                (at, number, None)
            }
            Arrivals::Trace(trace, next) => {
                let call = trace.calls.get(*next)?;
                let number = *next as u64;
                *next += 1;
                (call.at, number, call.tokens)
            }
            Arrivals::Agents(first) => {
                let (at, number) = first.next()?;
                (at, number, None)
            }
        };
        Some(Arriving { at, number, tokens })
    }
}

/// Poisson arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    pieces: Vec<Piece>,
    at: usize,
    /// When the current piece began, in seconds.
    began: f64,
    /// Calls expected before it.
    passed: f64,
    draw: Draw,
    /// Calls expected before the next arrival.
    due: f64,
    /// Of the next call.
    number: u64,
}

impl Iterator for Poisson {
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
