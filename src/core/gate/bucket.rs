//! How fast a gate may start calls: a rate, a burst, and a ramp that bounds how the rate grows.
//!
//! The generic cell rate algorithm (ITU-T I.371) in its leaky-bucket form: one number, the *debt*.
//! Each start adds one permit to it, time pays it off at the rate of the moment, and a call may
//! start while the debt leaves room for one more permit within the burst. Nothing is reserved, so
//! nothing is lost when a waiter leaves. Debt is kept in permits and not in time, so that a change
//! of the rate keeps it as it is. Permits are kept in billionths; all rounding is against the call,
//! so that in every window T at most burst + rate·T calls start, exactly (law L7).

use std::time::Duration;

use super::ramp::{Level, NANO, Ramp};
use crate::core::time::Time;

/// How fast calls may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Starts per second, in billionths; [`Pace::NO_RATE`] if nothing bounds the rate.
    pub rate: u64,
    /// Calls that may start at once after a pause; at least 1.
    pub burst: u32,
    /// What bounds the growth of the rate.
    pub ramp: Option<Ramp>,
    /// Refusals teach how fast calls may start.
    pub learns: bool,
}

impl Pace {
    /// The rate of a pace without one.
    pub const NO_RATE: u64 = u64::MAX;

    /// No bound at all.
    pub const UNBOUND: Pace = Pace {
        rate: Pace::NO_RATE,
        burst: 1,
        ramp: None,
        learns: false,
    };

    /// Whether calls may start as fast as they come.
    pub fn is_unbound(&self) -> bool {
        self.rate == Pace::NO_RATE && self.ramp.is_none()
    }

    /// Debt at which one more call may still start.
    fn room(&self) -> u64 {
        u64::from(self.burst.max(1) - 1).saturating_mul(NANO)
    }
}

/// How much of a [`Pace`] is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// Permits owed, in billionths.
    pub debt: u64,
    /// When the rest was true.
    pub at: Time,
    /// Where the ramp stands.
    pub level: Level,
}

/// A course changes at most this often without a start in between: debt paid, cap met, and usage
/// crossing one half before and after each.
const COURSES: usize = 16;

impl Bucket {
    /// A bucket that nobody has used.
    pub fn new(pace: &Pace, now: Time) -> Bucket {
        let level = match &pace.ramp {
            Some(ramp) => Level::cold(ramp, pace.rate),
            None => Level {
                per_second: 0,
                usage: 0,
            },
        };
        Bucket {
            debt: 0,
            at: if pace.is_unbound() { Time(0) } else { now },
            level,
        }
    }

    /// Whether nothing is known that a new bucket would not know.
    pub(super) fn is_blank(&self) -> bool {
        self.debt == 0 && self.level.per_second == 0
    }

    /// Whether all starts are paid for.
    pub fn owes_nothing(&self, pace: &Pace, now: Time) -> bool {
        self.debt == 0 || self.at(pace, now).debt == 0
    }

    /// Whether a call may start now.
    pub fn allows(&self, pace: &Pace, now: Time) -> bool {
        pace.is_unbound() || self.debt <= pace.room() || self.at(pace, now).debt <= pace.room()
    }

    /// When the call with `ahead` others in front of it may start if all of them start as soon as
    /// they may, and no start is given back; [`Time::NEVER`] if that is too far away to tell.
    pub fn next_at(&self, pace: &Pace, now: Time, ahead: u64) -> Time {
        if pace.is_unbound() {
            return now;
        }
        let ahead = ahead.saturating_mul(NANO);
        let owed = Bucket {
            debt: self.debt.saturating_add(ahead).saturating_sub(pace.room()),
            ..*self
        };
        owed.run(pace, Time::NEVER, true).at.max(now)
    }

    /// A call starts now. Whether it may is asked first.
    pub fn take(&mut self, pace: &Pace, now: Time) {
        self.owe(pace, now, u64::MAX);
    }

    /// Something started that nobody asked for. It is owed like any other, up to a second burst.
    pub fn take_unasked(&mut self, pace: &Pace, now: Time) {
        let burst = u64::from(pace.burst.max(1)).saturating_mul(NANO);
        self.owe(pace, now, burst.saturating_mul(2));
    }

    fn owe(&mut self, pace: &Pace, now: Time, most: u64) {
        if pace.is_unbound() {
            return;
        }
        let mut then = self.at(pace, now);
        if let Some(ramp) = &pace.ramp
            && then.debt == 0
            && now.since(self.run(pace, now, true).at) >= Duration::from_nanos(ramp.every)
        {
            then.level.wake();
        }
        let debt = then.debt.saturating_add(NANO);
        then.debt = debt.min(most.max(then.debt));
        *self = then;
    }

    /// A start did not happen after all.
    pub fn give_back(&mut self, pace: &Pace, now: Time) {
        if !pace.is_unbound() {
            *self = self.at(pace, now);
            self.debt = self.debt.saturating_sub(NANO);
        }
    }

    /// Another pace comes into force. The debt stays, and the level of a ramp if it has one.
    pub fn change(&mut self, old: &Pace, new: &Pace, now: Time) {
        let mut then = match old.is_unbound() {
            true => Bucket { at: now, ..*self },
            false => self.at(old, now),
        };
        let most = u64::from(new.burst.max(1)).saturating_mul(2 * NANO);
        then.debt = then.debt.min(most);
        if let Some(ramp) = &new.ramp {
            then.level = match then.level.per_second {
                0 => Level::cold(ramp, new.rate),
                level => Level {
                    per_second: level.min(new.rate),
                    ..then.level
                },
            };
        }
        *self = then;
    }

    /// Starts per second that are allowed now, in billionths.
    pub fn rate(&self, pace: &Pace, now: Time) -> u64 {
        match pace.ramp {
            Some(_) => self.at(pace, now).level.per_second,
            None => pace.rate,
        }
    }

    /// The bucket as it is at `now`.
    pub(super) fn at(&self, pace: &Pace, now: Time) -> Bucket {
        self.run(pace, now, false)
    }

    /// Lets time pass until `until`, or until nothing is owed.
    fn run(self, pace: &Pace, until: Time, stop_when_paid: bool) -> Bucket {
        let Some(ramp) = &pace.ramp else {
            return self.run_flat(pace.rate, until, stop_when_paid);
        };
        let mut then = self;
        for _ in 0..COURSES {
            let left = until.0.saturating_sub(then.at.0);
            let is_busy = then.debt > 0;
            if left == 0 || (stop_when_paid && !is_busy) {
                break;
            }
            let course = then.level.course(ramp, pace.rate, is_busy);
            let mut span = course.span().min(left);
            if is_busy && course.permits(span) >= then.debt {
                span = course.time_for(then.debt, span);
            }
            then = Bucket {
                debt: then.debt.saturating_sub(course.permits(span)),
                at: Time(then.at.0.saturating_add(span)),
                level: course.level(span),
            };
        }
        then
    }

    fn run_flat(self, rate: u64, until: Time, stop_when_paid: bool) -> Bucket {
        let rate = u128::from(rate.max(1));
        let (nano, debt) = (u128::from(NANO), u128::from(self.debt));
        let mut span = u128::from(until.0.saturating_sub(self.at.0));
        if stop_when_paid {
            span = span.min((debt * nano).div_ceil(rate));
        }
        let paid = u64::try_from(span * rate / nano).unwrap_or(u64::MAX);
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        Bucket {
            debt: self.debt.saturating_sub(paid),
            at: Time(self.at.0.saturating_add(span)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::ramp::Growth;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(per_second: f64, burst: u32) -> Pace {
        Pace {
            rate: (per_second * 1e9) as u64,
            burst,
            ramp: None,
            learns: false,
        }
    }

    fn ramp(initial: f64, every_ms: u64, growth: Growth) -> Pace {
        Pace {
            rate: Pace::NO_RATE,
            burst: 1,
            ramp: Some(Ramp {
                initial: (initial * 1e9) as u64,
                every: every_ms * 1_000_000,
                growth,
            }),
            learns: false,
        }
    }

    /// Seconds at which `count` calls start that all wait from `from` on.
    fn starts(bucket: &mut Bucket, pace: &Pace, from: f64, count: usize) -> Vec<f64> {
        let mut now = Time((from * 1e9) as u64);
        let mut starts = Vec::new();
        for _ in 0..count {
            now = bucket.next_at(pace, now, 0);
            assert!(bucket.allows(pace, now), "at its own time {now:?}");
            bucket.take(pace, now);
            starts.push(now.0 as f64 / 1e9);
        }
        starts
    }

    fn close(found: &[f64], expected: &[f64]) {
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 0.0006;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(is_close),
            "{found:?} are not {expected:?}"
        );
    }

    #[test]
    fn l7_a_burst_and_then_the_rate() {
        let pace = rate(2.0, 3);
        let mut bucket = Bucket::new(&pace, Time(0));
        assert_eq!(
            starts(&mut bucket, &pace, 0.0, 6),
            [0.0, 0.0, 0.0, 0.5, 1.0, 1.5]
        );
    }

    #[test]
    fn time_without_calls_saves_up_no_more_than_the_burst() {
        let pace = rate(1.0, 2);
        let mut bucket = Bucket::new(&pace, Time(0));
        starts(&mut bucket, &pace, 0.0, 2);
        assert_eq!(
            starts(&mut bucket, &pace, 1000.0, 4),
            [1000.0, 1000.0, 1001.0, 1002.0]
        );
    }

    #[test]
    fn a_start_given_back_is_there_for_the_next() {
        let pace = rate(1.0, 1);
        let mut bucket = Bucket::new(&pace, Time(0));
        bucket.take(&pace, Time(0));
        assert!(!bucket.allows(&pace, Time(SECOND / 2)));
        bucket.give_back(&pace, Time(SECOND / 2));
        assert!(bucket.allows(&pace, Time(SECOND / 2)));
    }

    #[test]
    fn a_change_of_rate_keeps_the_debt_in_permits() {
        let (slow, fast) = (rate(1.0, 1), rate(10.0, 1));
        let mut bucket = Bucket::new(&slow, Time(0));
        bucket.take(&slow, Time(0));
        bucket.change(&slow, &fast, Time(SECOND / 2));
        // Half a permit is owed: 50 ms at ten a second.
        let next = bucket.next_at(&fast, Time(SECOND / 2), 0);
        assert_eq!(next, Time(SECOND / 2 + SECOND / 20));
    }

    #[test]
    fn those_ahead_count() {
        let pace = rate(2.0, 1);
        let mut bucket = Bucket::new(&pace, Time(0));
        bucket.take(&pace, Time(0));
        let next = |ahead| bucket.next_at(&pace, Time(0), ahead).0 as f64 / 1e9;
        assert_eq!([next(0), next(1), next(9)], [0.5, 1.0, 5.0]);
    }

    #[test]
    fn what_nobody_asked_for_is_owed_but_not_without_bound() {
        let pace = rate(1.0, 1);
        let mut bucket = Bucket::new(&pace, Time(0));
        for _ in 0..100 {
            bucket.take_unasked(&pace, Time(0));
        }
        assert_eq!(bucket.next_at(&pace, Time(0), 0), Time(2 * SECOND));
    }

    #[test]
    fn l7_the_ramp_grows_without_steps() {
        let pace = ramp(2.0, 10_000, Growth::MilliPercent(50_000));
        let mut bucket = Bucket::new(&pace, Time(0));
        let starts = starts(&mut bucket, &pace, 0.0, 51);
        let at = [0, 1, 2, 3, 10, 20, 50];
        let found: Vec<f64> = at.iter().map(|n| starts[*n]).collect();
        close(&found, &[0.0, 0.495, 0.980, 1.456, 4.553, 8.395, 17.263]);
    }

    #[test]
    fn the_closed_forms_of_growth() {
        // Test values of the closed forms: one start a second growing by 0.1/s each second, and
        // by a factor of e each 10 s.
        let pace = ramp(1.0, 1000, Growth::Step(SECOND / 10));
        let mut bucket = Bucket::new(&pace, Time(0));
        let linear = starts(&mut bucket, &pace, 0.0, 6);
        close(&linear, &[0.0, 0.954, 1.832, 2.649, 3.416, 4.142]);
        let pace = ramp(1.0, 10_000, Growth::MilliPercent(171_828));
        let mut bucket = Bucket::new(&pace, Time(0));
        let exponential = starts(&mut bucket, &pace, 0.0, 6);
        close(&exponential, &[0.0, 0.953, 1.823, 2.624, 3.365, 4.055]);
    }

    #[test]
    fn the_rate_bounds_the_ramp() {
        let pace = Pace {
            rate: 4 * SECOND,
            ..ramp(2.0, 1000, Growth::MilliPercent(100_000))
        };
        let mut bucket = Bucket::new(&pace, Time(0));
        let starts = starts(&mut bucket, &pace, 0.0, 40);
        assert_eq!(bucket.rate(&pace, bucket.at), 4 * SECOND);
        assert!((starts[39] - starts[35] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn l7_a_burst_after_idling_meets_the_slope_again() {
        let pace = ramp(2.0, 10_000, Growth::MilliPercent(50_000));
        let mut bucket = Bucket::new(&pace, Time(0));
        starts(&mut bucket, &pace, 0.0, 200);
        let high = bucket.rate(&pace, bucket.at);
        assert!(high > 9 * SECOND, "{high}");
        let later = starts(&mut bucket, &pace, 300.0, 4);
        close(&later, &[300.0, 300.495, 300.980, 301.456]);
    }

    #[test]
    fn the_level_falls_by_half_each_span_without_calls() {
        let pace = ramp(2.0, 10_000, Growth::MilliPercent(50_000));
        let mut bucket = Bucket::new(&pace, Time(0));
        starts(&mut bucket, &pace, 0.0, 200);
        let end = bucket.at.0;
        let above = |seconds: u64| bucket.rate(&pace, Time(end + seconds * SECOND)) as f64 - 2e9;
        assert!((above(30) / above(20) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn low_traffic_does_not_climb() {
        let pace = ramp(2.0, 10_000, Growth::MilliPercent(50_000));
        let mut bucket = Bucket::new(&pace, Time(0));
        for call in 0..1000_u64 {
            bucket.take(&pace, Time(call * 11 * SECOND));
        }
        let level = bucket.rate(&pace, bucket.at);
        assert!(level < 23 * SECOND / 10, "{level}");
    }

    #[test]
    fn steady_use_of_less_than_half_stays_at_the_start() {
        let pace = ramp(2.0, 10_000, Growth::MilliPercent(50_000));
        let run = |per_second: u64| {
            let mut bucket = Bucket::new(&pace, Time(0));
            for call in 0..600 {
                bucket.take(&pace, Time(call * SECOND / per_second));
            }
            bucket.rate(&pace, bucket.at) as f64 / 1e9
        };
        // Full use of two a second carries on to about twice the traffic, where half is used.
        assert!((3.4..4.6).contains(&run(2)), "{}", run(2));
    }

    #[test]
    fn extremes_neither_overflow_nor_hang() {
        let paces = [
            rate(1e-9, 1),
            rate(1e9, 100_000),
            ramp(1e-9, 1, Growth::Step(u64::MAX)),
            ramp(1e6, 3_600_000, Growth::MilliPercent(u32::MAX)),
            ramp(1e6, 1, Growth::MilliPercent(1)),
        ];
        for pace in paces {
            let mut bucket = Bucket::new(&pace, Time(0));
            for at in [0, 1, SECOND, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
                bucket.take(&pace, Time(at));
                bucket.next_at(&pace, Time(at), u64::MAX);
                bucket.next_at(&pace, Time(at), 0);
                bucket.give_back(&pace, Time(at));
                bucket.rate(&pace, Time(at));
            }
        }
    }
}
