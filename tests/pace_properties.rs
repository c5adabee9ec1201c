//! Rate and ramp under random use: law L7 in every window, and times that mean what they say.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

use proptest::collection::vec;
use proptest::prelude::*;

use weir::core::gate::Pace;
use weir::core::gate::bucket::Bucket;
use weir::core::gate::ramp::{Growth, Ramp};
use weir::core::time::Time;

const NANO: u64 = 1_000_000_000;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// So many nanoseconds pass.
    Pass(u64),
    /// A call starts if it may.
    Start,
    /// A call waits until it may start.
    Wait,
    /// The last start did not happen after all.
    GiveBack,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0..2 * NANO).prop_map(Act::Pass),
        1 => (0..600 * NANO).prop_map(Act::Pass),
        6 => Just(Act::Start),
        4 => Just(Act::Wait),
        1 => Just(Act::GiveBack),
    ];
    vec(act, 0..120)
}

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![1..NANO, NANO..200 * NANO]
}

fn ramps() -> impl Strategy<Value = Ramp> {
    let growth = prop_oneof![
        (1_000..1_000_000_u32).prop_map(Growth::MilliPercent),
        (NANO / 100..50 * NANO).prop_map(Growth::Step),
    ];
    (NANO / 10..20 * NANO, 100..60_000_u64, growth).prop_map(|(initial, every_ms, growth)| Ramp {
        initial,
        every: every_ms * 1_000_000,
        growth,
    })
}

/// Starts that happened, as long as the pace allows them.
fn run(pace: &Pace, acts: &[Act], mut check: impl FnMut(&Bucket, Time)) -> Vec<u64> {
    let mut now = Time(0);
    let mut bucket = Bucket::new(pace, now);
    let mut starts: Vec<u64> = Vec::new();
    for act in acts {
        match act {
            Act::Pass(span) => now = Time(now.0 + span),
            Act::Wait => {
                let next = bucket.next_at(pace, now, 0);
                assert!(bucket.allows(pace, next), "not at its own time");
                if next > now {
                    assert!(!bucket.allows(pace, Time(next.0 - 1)), "before its time");
                }
                now = next;
                bucket.take(pace, now);
                starts.push(now.0);
            }
            Act::Start if bucket.allows(pace, now) => {
                bucket.take(pace, now);
                starts.push(now.0);
            }
            Act::Start => assert!(bucket.next_at(pace, now, 0) > now),
            Act::GiveBack => {
                if starts.pop().is_some() {
                    bucket.give_back(pace, now);
                }
            }
        }
        check(&bucket, now);
    }
    starts
}

/// The most starts that any window holds above what burst and rate allow in it.
fn excess(starts: &[u64], burst: u32, per_second: u64) -> i128 {
    let mut worst = i128::MIN;
    for (from, first) in starts.iter().enumerate() {
        for (to, last) in starts.iter().enumerate().skip(from) {
            let count = i128::from(u64::try_from(to - from).expect("few")) + 1;
            let span = i128::from(last - first);
            let allowed = i128::from(burst)
                + span * i128::from(per_second) / (i128::from(NANO) * i128::from(NANO));
            worst = worst.max(count - allowed);
        }
    }
    worst
}

proptest! {
    #[test]
    fn l7_every_window_holds_burst_and_rate(rate in rates(), burst in 1..20_u32, acts in acts()) {
        let pace = Pace { rate, burst, ramp: None, learns: false };
        let starts = run(&pace, &acts, |_, _| {});
        prop_assert!(excess(&starts, burst, rate) <= 0, "{starts:?}");
    }

    #[test]
    fn l7_under_a_ramp_no_window_holds_more_than_the_rate(rate in rates(), ramp in ramps(), burst in 1..5_u32, acts in acts()) {
        let pace = Pace { rate, burst, ramp: Some(ramp), learns: false };
        let starts = run(&pace, &acts, |bucket, now| {
            assert!(bucket.rate(&pace, now) <= rate);
        });
        prop_assert!(excess(&starts, burst, rate) <= 0, "{starts:?}");
    }

    #[test]
    fn l7_the_level_grows_no_faster_than_the_ramp(ramp in ramps(), acts in acts()) {
        let pace = Pace { rate: Pace::NO_RATE, burst: 1, ramp: Some(ramp), learns: false };
        let mut last: Option<(u64, f64)> = None;
        run(&pace, &acts, |bucket, now| {
            let level = bucket.rate(&pace, now) as f64;
            if let Some((before, from)) = last {
                let spans = (now.0 - before) as f64 / ramp.every as f64;
                let most = match ramp.growth {
                    Growth::MilliPercent(growth) => from * (1.0 + f64::from(growth) / 1e5).powf(spans),
                    Growth::Step(step) => from + step as f64 * spans,
                };
                assert!(level <= most * (1.0 + 1e-9) + 1.0, "{level} after {from} in {spans} spans");
            }
            assert!(level >= ramp.initial as f64 - 1.0, "below its start: {level}");
            last = Some((now.0, level));
        });
    }
}
