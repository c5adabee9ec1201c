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
    let possible = could_serve(Model::new(limits.clone(), SEED), &plan());
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

fn simulated(model: &str) -> Shares {
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
        seed: SEED,
        surroundings: &surroundings,
    };
    let tally = scene.run(PeerName::Weir, None).unwrap();
    let line = scene.line(PeerName::Weir, &tally, &scene.clairvoyant());
    let [served, possible, refused, attempts] =
        [line.served, line.possible, line.refused, line.attempts].map(|n| n as usize);
    shares(served, possible, refused, attempts)
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
    let real = tokio::join!(on_envoy(bucket), on_envoy(window), on_envoy(slope));
    let models = [
        r#"[{"name":"bucket","kind":"token_bucket","per_second":30,"burst":30,"tells":["retry_after_s"]}]"#,
        r#"[{"name":"window","kind":"fixed_window","limit":40,"window_ms":1000,"tells":["retry_after_s","remaining"]}]"#,
        r#"[{"name":"slope","kind":"recent_rate","floor_per_s":4,"growth":1.25,"past_ms":4000}]"#,
    ];
    for (real, model) in [real.0, real.1, real.2].into_iter().zip(models) {
        let simulated = simulated(model);
        println!(
            "{model}\n  served of what could be, refused in percent: {real:?}, simulated {simulated:?}"
        );
        assert!(
            (real.0 - simulated.0).abs() <= 5.0,
            "{model}: efficiency {real:?} {simulated:?}"
        );
        assert!(
            (real.1 - simulated.1).abs() <= 5.0,
            "{model}: refused {real:?} {simulated:?}"
        );
    }
}
