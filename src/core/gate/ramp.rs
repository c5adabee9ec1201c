//! How the rate of a gate may grow: slowly, from a low level, and only while it is used.
//!
//! A provider that limits the *slope* of traffic refuses a jump from nothing to a rate it would
//! otherwise allow. So the level starts at `initial`, grows without steps while at least half of it
//! is used, and falls back towards `initial` while less is. The starts it allows by time t are
//! V(t), the integral of the level; start n comes at the inverse of V, in closed form for growth:
//! ln(1 + λn/L)/λ by percent, (√(L² + 2sn) − L)/s by steps, for the level L at the beginning.
//!
//! Whether half is used is judged by a *usage* between 0 and 1: the share of time in which permits
//! were being paid for, smoothed with a half-life of half of `every`, so that after full use it
//! takes `every`/2 without any until growth ends, as it would with a sliding window of `every`. A
//! gate that nobody used for `every` has no past to judge: its usage begins at one half, and counts
//! as use.

use std::f64::consts::LN_2;

/// A billion: permits and levels are kept in billionths.
pub(super) const NANO: u64 = 1_000_000_000;

/// A static ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ramp {
    /// The level after idling, in billionths of a start per second; at least 1.
    pub initial: u64,
    /// The span that `growth` refers to, and the half-life of the fall, in nanoseconds; at least 1.
    pub every: u64,
    /// How far the level grows in one span.
    pub growth: Growth,
}

/// How far a level grows in one span of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Growth {
    /// By this many thousandths of a percent; at least 1.
    MilliPercent(u32),
    /// By this many billionths of a start per second; at least 1.
    Step(u64),
}

/// Where a ramp stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// Starts per second it allows, in billionths.
    pub per_second: u64,
    /// How much of it is used, in billionths of all.
    pub usage: u32,
}

/// Usage from which on the level grows.
const HALF: u32 = 500_000_000;
const ALL: f64 = 1e9;

impl Level {
    /// The level of a gate that nobody has used for a while.
    pub fn cold(ramp: &Ramp, cap: u64) -> Level {
        Level {
            per_second: ramp.initial.min(cap),
            usage: HALF,
        }
    }

    /// Use begins again after a span without any.
    pub(super) fn wake(&mut self) {
        self.usage = self.usage.max(HALF);
    }

    /// How the level goes on from here, `busy` telling whether permits are being paid for, never
    /// above `cap`.
    pub(super) fn course(&self, ramp: &Ramp, cap: u64, busy: bool) -> Course {
        let start = self.per_second.min(cap);
        let floor = ramp.initial.min(cap);
        let every = ramp.every as f64;
        let shape = match ramp.growth {
            _ if self.usage < HALF && start <= floor => Shape::Flat,
            _ if self.usage < HALF => Shape::Fall {
                floor: floor as f64,
                per_nano: LN_2 / every,
            },
            _ if start >= cap => Shape::Flat,
            Growth::MilliPercent(growth) => Shape::Percent {
                per_nano: (f64::from(growth) / 1e5).ln_1p() / every,
            },
            Growth::Step(step) => Shape::Step {
                per_nano: step as f64 / every,
            },
        };
        Course {
            start: start as f64,
            shape,
            cap,
            usage: f64::from(self.usage) / ALL,
            usage_per_nano: 2.0 * LN_2 / every,
            busy,
        }
    }
}

/// A stretch in which the level follows one curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    start: f64,
    shape: Shape,
    cap: u64,
    usage: f64,
    usage_per_nano: f64,
    busy: bool,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Flat,
    Percent { per_nano: f64 },
    Step { per_nano: f64 },
    Fall { floor: f64, per_nano: f64 },
}

impl Course {
    /// For how many nanoseconds the course holds: until usage crosses one half or the level meets
    /// its cap.
    pub(super) fn span(&self) -> u64 {
        let turn = match self.busy {
            true if self.usage < 0.5 => (2.0 * (1.0 - self.usage)).ln() / self.usage_per_nano,
            false if self.usage >= 0.5 => (2.0 * self.usage).ln() / self.usage_per_nano,
            _ => f64::INFINITY,
        };
        let meets_cap = match self.shape {
            Shape::Percent { per_nano } => (self.cap as f64 / self.start).ln() / per_nano,
            Shape::Step { per_nano } => (self.cap as f64 - self.start) / per_nano,
            Shape::Flat | Shape::Fall { .. } => f64::INFINITY,
        };
        nanos(turn.min(meets_cap))
    }

    /// The level after `span` nanoseconds, the whole of the course or a part of it.
    pub(super) fn level(&self, span: u64) -> Level {
        let is_whole = span >= self.span();
        let time = span as f64;
        let per_second = match self.shape {
            Shape::Flat => self.start,
            Shape::Percent { per_nano } => self.start * (per_nano * time).exp(),
            Shape::Step { per_nano } => self.start + per_nano * time,
            Shape::Fall { floor, per_nano } => {
                floor + (self.start - floor) * (-per_nano * time).exp()
            }
        };
        let fade = (-self.usage_per_nano * time).exp();
        let usage = match self.busy {
            true => 1.0 - (1.0 - self.usage) * fade,
            false => self.usage * fade,
        };
        // Rounding must not leave usage on the side it has just left.
        let usage = (usage * ALL) as u32;
        let usage = match self.busy {
            true if is_whole && self.usage < 0.5 => usage.max(HALF),
            false if is_whole && self.usage >= 0.5 => usage.min(HALF - 1),
            _ => usage,
        };
        let is_capped = is_whole && per_second >= self.cap as f64 - 1.0;
        let per_second = match is_capped {
            true => self.cap,
            false => (per_second as u64).clamp(1, self.cap),
        };
        Level { per_second, usage }
    }

    /// The permits that `span` nanoseconds of the course are worth, in billionths, rounded down.
    pub(super) fn permits(&self, span: u64) -> u64 {
        let time = span as f64;
        let level_nanos = match self.shape {
            Shape::Flat => self.start * time,
            Shape::Percent { per_nano } => self.start * (per_nano * time).exp_m1() / per_nano,
            Shape::Step { per_nano } => (self.start + per_nano * time / 2.0) * time,
            Shape::Fall { floor, per_nano } => {
                floor * time - (self.start - floor) * (-per_nano * time).exp_m1() / per_nano
            }
        };
        (level_nanos / NANO as f64) as u64
    }

    /// The first nanosecond, no later than `limit`, by which the course is worth `permits`
    /// billionths; `limit` if it is not.
    pub(super) fn time_for(&self, permits: u64, limit: u64) -> u64 {
        let (mut low, mut high) = (0, limit);
        // The closed form is right but for rounding.
        if let Some(guess) = self.inverse(permits as f64 * NANO as f64) {
            let guess = nanos(guess);
            let (below, above) = (guess.saturating_sub(guess >> 40).saturating_sub(8), guess);
            let above = above.saturating_add(above >> 40).saturating_add(8);
            if below < limit && self.permits(below) < permits {
                low = below;
            }
            if above < limit && self.permits(above) >= permits {
                high = above;
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.permits(middle) >= permits {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    fn inverse(&self, level_nanos: f64) -> Option<f64> {
        match self.shape {
            Shape::Flat => Some(level_nanos / self.start),
            Shape::Percent { per_nano } => {
                Some((per_nano * level_nanos / self.start).ln_1p() / per_nano)
            }
            Shape::Step { per_nano } => {
                let root = (self.start * self.start + 2.0 * per_nano * level_nanos).sqrt();
                Some((root - self.start) / per_nano)
            }
            Shape::Fall { .. } => None,
        }
    }
}

/// Whole nanoseconds, rounded up, at least one.
fn nanos(time: f64) -> u64 {
    (time.ceil() as u64).max(1)
}
