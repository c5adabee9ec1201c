//! What refusals teach on a real Envoy, beside the simulator: the same models and nearly the same load.

use crate::app;
use crate::sim;

use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;
use weir::core::config::Config;

use app::client::{Ask, End};
use app::envoy::{Envoy, Front, Setup, Upstream, wasm};
use app::path::Path;
use app::plan::Plan;
use app::provider::model::{FixedWindow, Limits, Model, Slope, TokenBucket};
use app::provider::{Options, Provider};
use app::served::could_serve;
use sim::cell::{PeerName, Scene, Surroundings};
use sim::clients::Habits;
use sim::crowd::Crowd;
use sim::load::Load;

const SEED: u64 = 1;
/// Percentage points that simulator and Envoy may differ by.
const AGREE_WITHIN: f64 = 5.0;
/// A machine that is busy with something else delays answers, and what is learned late was refused more
/// often: it spoils a run and never improves one. A run that agrees is enough, a real difference is in all.
const RUNS: usize = 4;
/// One seed's arrivals are a matter of chance.
const SIMULATED_SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

fn plan() -> Plan {
    Plan {
        rate: 60.0,
        rise: Duration::from_secs(1),
        length: Duration::from_secs(8),
        patience: Duration::from_secs(20),
    }
}

/// Efficiency, and the share of attempts that was refused, in percent.
type Shares = (f64, f64);

fn shares(served: usize, possible: usize, refused: usize, attempts: usize) -> Shares {
    let percent = |part: usize, of: usize| part as f64 * 100.0 / of.max(1) as f64;
    (percent(served, possible), percent(refused, attempts))
}

async fn on_envoy(limits: Limits) -> Shares {
    let possible = could_serve(Model::new(limits.clone(), SEED), &plan()).len();
    let options = Options {
        limits,
        seed: SEED,
        ..Options::default()
    };
    let provider = Provider::start(options).await.unwrap();
    let setup = Setup {
        fronts: vec![Front {
            path: Path::Weir,
            upstream: Upstream::Mock(provider.addr),
        }],
        cap: 0,
        wasm: wasm().unwrap(),
    };
    let envoy = Envoy::start(&setup).await.unwrap();
    let front = envoy.front(Path::Weir).unwrap();
    let load = app::load::run(
        front,
        Ask::mock(),
        plan(),
        Instant::now(),
        Default::default(),
    );
    let outcomes = load.await;
    let served = outcomes.iter().filter(|o| o.end == End::Succeeded).count();
    let count = provider.count();
    shares(
        served,
        possible,
        count.refused,
        count.accepted + count.refused,
    )
}

/// The means over the seeds.
fn simulated(model: &str) -> Shares {
    let all: Vec<Shares> = SIMULATED_SEEDS.map(|seed| simulate(model, seed)).collect();
    let mean = |of: fn(&Shares) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    (mean(|s| s.0), mean(|s| s.1))
}

fn simulate(model: &str, seed: u64) -> Shares {
    let model = &sim::models::parse("model", model).unwrap()[0];
    let (rise, length) = (plan().rise.as_secs_f64(), plan().length.as_secs_f64());
    let surroundings = Surroundings {
        config: Rc::new(Config::parse(br#"{"policies":[{"name":"demo"}]}"#).unwrap()),
        envoys: 1,
        workers: 2,
        habits: Habits {
            patience: plan().patience,
            ..Habits::default()
        },
        crowd: Crowd::default(),
        timeline: None,
    };
    let scene = Scene {
        model,
        load: &Load::of(&[(0.0, 60.0, rise), (60.0, 60.0, length - rise)]),
        seed,
        surroundings: &surroundings,
    };
    let tally = scene.run(PeerName::Weir, None).unwrap();
    let line = scene.line(PeerName::Weir, &tally, &scene.clairvoyant());
    let [served, possible, refused, attempts] =
        [line.served, line.possible, line.refused, line.attempts].map(|n| n as usize);
    shares(served, possible, refused, attempts)
}

/// Runs the model on Envoy until efficiency and refused share are each what the simulator says.
async fn agrees(limits: Limits, model: &str, simulated: Shares) {
    let mut seen = vec![];
    while seen.len() < RUNS {
        let real = on_envoy(limits.clone()).await;
        println!("{model}\n  served, refused in percent: {real:?}, simulated {simulated:?}");
        let apart = (real.0 - simulated.0)
            .abs()
            .max((real.1 - simulated.1).abs());
        if apart <= AGREE_WITHIN {
            return;
        }
        seen.push(real);
    }
    panic!("{model}: never within {AGREE_WITHIN} of {simulated:?}: {seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_envoy_does_what_the_simulator_says() {
    let bucket = Limits {
        token_bucket: Some(TokenBucket::new(30.0, 30.0)),
        ..Limits::default()
    };
    let window = Limits {
        window: Some(FixedWindow::new(40, Duration::from_secs(1))),
        ..Limits::default()
    };
    let slope = Limits {
        slope: Some(Slope::default()),
        ..Limits::default()
    };
    let models = [
        r#"[{"name":"bucket","kind":"token_bucket","per_second":30,"burst":30,"tells":["retry_after_s"]}]"#,
        r#"[{"name":"window","kind":"fixed_window","limit":40,"window_ms":1000,"tells":["retry_after_s","remaining"]}]"#,
        r#"[{"name":"slope","kind":"recent_rate","floor_per_s":4,"growth":1.25,"past_ms":4000}]"#,
    ];
    // Before any load runs: what blocks a thread would delay its calls.
    let simulated = models.map(simulated);
    tokio::join!(
        agrees(bucket, models[0], simulated[0]),
        agrees(window, models[1], simulated[1]),
        agrees(slope, models[2], simulated[2]),
    );
}
