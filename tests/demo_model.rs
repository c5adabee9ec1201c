//! The mock provider's model: each limit just before and exactly at its boundary, the draws, and
//! what a queue in front of it could serve.

#[path = "../examples/demo/app/mod.rs"]
#[allow(dead_code, reason = "the tests use their own part of the demo")]
mod app;

use std::time::Duration;

use app::plan::Plan;
use app::provider::model::{
    Concurrency, Draws, FixedWindow, Limits, Model, Refusal, Slope, Steps, TokenBucket, WindowState,
};
use app::served::could_serve;

const US: Duration = Duration::from_micros(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn model(limits: Limits) -> Model {
    Model::new(limits, 1)
}

/// How many of `n` calls at the same time are accepted.
fn accepted(model: &mut Model, n: usize, now: Duration) -> usize {
    (0..n).filter(|_| model.arrive(now).is_ok()).count()
}

fn concurrency(n: usize) -> Limits {
    Limits {
        concurrency: Some(Concurrency(n)),
        ..Limits::default()
    }
}

fn slope() -> Limits {
    Limits {
        slope: Some(Slope::default()),
        ..Limits::default()
    }
}

#[test]
fn concurrency_counts_what_runs() {
    let mut model = model(concurrency(2));
    assert_eq!(accepted(&mut model, 3, ms(0)), 2);
    let refusal = model.arrive(ms(9)).unwrap_err();
    assert_eq!(refusal, Refusal::Concurrency { limit: 2 });
    model.end();
    assert_eq!(accepted(&mut model, 2, ms(9)), 1);
    let count = model.count();
    assert_eq!((count.accepted, count.refused), (3, 3));
    assert_eq!((count.running, count.peak), (2, 2));
    let starts: Vec<_> = count.starts.iter().map(|s| (s.number, s.at)).collect();
    assert_eq!(starts, [(0, ms(0)), (1, ms(0)), (2, ms(9))]);
    let refusals: Vec<_> = count.refusals.iter().map(|(at, _)| *at).collect();
    assert_eq!(refusals, [ms(0), ms(9), ms(9)]);
}

#[test]
fn slope_starts_at_its_floor_and_grows_with_the_recent_past() {
    let mut model = model(slope());
    // The calls of this second are part of the recent past: with 4 it allows 4 + 1.25 * 4 / 4 =
    // 5.25, with 5 it allows 5.5625.
    assert_eq!(accepted(&mut model, 100, ms(0)), 5);
    assert_eq!(accepted(&mut model, 100, ms(1000) - US), 0);
    // A second later the 5 have left the second, not the past: with 6 of this second it allows
    // 4 + 1.25 * (5 + 6) / 4 = 7.4375, with 7 of them 7.75.
    assert_eq!(accepted(&mut model, 100, ms(1000)), 7);
    assert_eq!(accepted(&mut model, 100, ms(2000)), 10);
    assert_eq!(accepted(&mut model, 100, ms(3000)), 15);
    // The past is 4 s long: exactly then the first 5 have left it.
    assert_eq!(accepted(&mut model, 100, ms(4000) - US), 0);
    assert_eq!(accepted(&mut model, 100, ms(4000)), 19);
    // After a quiet time it is as new.
    assert_eq!(accepted(&mut model, 100, ms(8000)), 5);
    assert_eq!(model.arrive(ms(8000)), Err(Refusal::Slope));
}

#[test]
fn a_refusal_costs_nothing() {
    let mut model = model(Limits {
        token_bucket: Some(TokenBucket::new(1.0, 3.0)),
        ..slope()
    });
    assert_eq!(accepted(&mut model, 100, ms(0)), 3, "the bucket's bound");
    for _ in 0..1000 {
        assert!(model.arrive(ms(1)).is_err());
        assert!(!model.admits(ms(1)));
    }
    assert_eq!(
        accepted(&mut model, 100, ms(1000)),
        1,
        "refusals took no token"
    );
}

#[test]
fn token_bucket_says_when_the_next_token_comes() {
    let mut model = model(Limits {
        token_bucket: Some(TokenBucket::new(4.0, 2.0)),
        ..Limits::default()
    });
    assert_eq!(accepted(&mut model, 5, ms(0)), 2);
    let Err(Refusal::TokenBucket { wait, .. }) = model.arrive(ms(100)) else {
        panic!("the bucket is empty");
    };
    assert_eq!(wait, ms(150));
    assert_eq!(accepted(&mut model, 1, ms(250) - US), 0);
    assert_eq!(accepted(&mut model, 5, ms(250)), 1);
    // It never holds more than its burst.
    assert_eq!(accepted(&mut model, 5, ms(60_000)), 2);
}

#[test]
fn fixed_windows_begin_anew_at_their_boundary() {
    let mut model = model(Limits {
        window: Some(FixedWindow::new(3, ms(1000))),
        ..Limits::default()
    });
    assert_eq!(accepted(&mut model, 5, ms(400)), 3);
    let used_up = WindowState {
        limit: 3,
        remaining: 0,
        reset: ms(1),
        length: ms(1000),
    };
    assert_eq!(model.arrive(ms(999)), Err(Refusal::Window(used_up)));
    assert_eq!(accepted(&mut model, 5, ms(1000)), 3);
    assert_eq!(accepted(&mut model, 1, ms(5500)), 1);
    let state = model.window(ms(5500)).map(|w| (w.remaining, w.reset));
    assert_eq!(state, Some((2, ms(500))));
}

#[test]
fn steps_follow_what_the_window_before_used() {
    let mut model = model(Limits {
        steps: Some(Steps::new(10, 5, ms(1000))),
        ..Limits::default()
    });
    assert_eq!(accepted(&mut model, 99, ms(0)), 10);
    let refusal = Refusal::Steps {
        now: 10,
        next: 15,
        wait: ms(1),
    };
    assert_eq!(model.arrive(ms(999)), Err(refusal));
    assert_eq!(accepted(&mut model, 99, ms(1000)), 15);
    assert_eq!(accepted(&mut model, 12, ms(2000)), 12);
    assert_eq!(
        accepted(&mut model, 99, ms(3000)),
        17,
        "12 used, not the 20 allowed"
    );
    assert_eq!(
        accepted(&mut model, 99, ms(5000)),
        10,
        "a window without calls"
    );
}

#[test]
fn limits_combine() {
    let mut model = model(Limits {
        concurrency: Some(Concurrency(4)),
        window: Some(FixedWindow::new(3, ms(1000))),
        ..Limits::default()
    });
    assert_eq!(accepted(&mut model, 9, ms(0)), 3);
    assert_eq!(accepted(&mut model, 9, ms(1000)), 1);
    let refusal = model.arrive(ms(1000)).unwrap_err();
    assert_eq!(refusal.limit(), "concurrency");
}

#[test]
fn draws_have_their_mean_their_bound_and_their_place() {
    const N: usize = 100_000;
    let draws = Draws::new(7);
    let all: Vec<f64> = (0..N)
        .map(|n| draws.service(n).whole.as_secs_f64())
        .collect();
    let mean = all.iter().sum::<f64>() / N as f64;
    assert!((mean - 0.6).abs() < 0.01, "{mean}");
    let logs: Vec<f64> = all.iter().map(|s| s.ln()).collect();
    let mean_log = logs.iter().sum::<f64>() / N as f64;
    let variance = logs.iter().map(|l| (l - mean_log).powi(2)).sum::<f64>() / N as f64;
    assert!((variance.sqrt() - 0.6).abs() < 0.01, "{variance}");
    assert!(all.iter().all(|s| *s > 0.0 && *s <= 5.0));
    let one = draws.service(3);
    assert_eq!(one, Draws::new(7).service(3), "by number, not by order");
    assert_ne!(one, Draws::new(8).service(3));
    let share = one.first_byte.as_secs_f64() / one.whole.as_secs_f64();
    assert!((share - 0.3).abs() < 1e-6, "{share}");
}

#[test]
fn the_morning_peak_rises_and_stays() {
    let arrivals = Plan::morning_peak().arrivals();
    assert_eq!(arrivals.len(), 1440);
    assert!(arrivals.is_sorted());
    let before = |t: u64| arrivals.iter().filter(|a| **a < ms(t)).count();
    assert_eq!((before(1000), before(2000), before(3000)), (15, 60, 120));
    assert!(arrivals.last() < Some(&ms(25_000)));
}

#[test]
fn a_queue_serves_all_that_fits_within_patience() {
    let plan = |patience| Plan {
        rate: 10.0,
        rise: ms(1000),
        length: ms(5000),
        patience,
    };
    let serve = |limits, patience| could_serve(model(limits), &plan(patience)).len();
    let all = plan(ms(1)).arrivals().len();
    assert_eq!(all, 45);
    assert_eq!(serve(Limits::default(), ms(5000)), all, "nothing limits it");
    assert_eq!(serve(concurrency(1), ms(60_000)), all, "time enough");
    // 45 calls of 0.6 s one after the other take 27 s.
    let some = serve(concurrency(1), ms(5000));
    assert!((8..25).contains(&some), "{some}");
    assert_eq!(serve(concurrency(0), ms(5000)), 0);
    // No first byte comes sooner than 30 % of a service time.
    assert_eq!(serve(Limits::default(), ms(1)), 0);
}

#[test]
fn a_queue_serves_the_whole_morning_peak() {
    for limits in [concurrency(20), slope()] {
        assert_eq!(
            could_serve(model(limits), &Plan::morning_peak()).len(),
            1440
        );
    }
}
