//! The morning peak against one kind of provider, by all paths at the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::client::Ask;
use super::envoy::{Envoy, Front, Setup, Upstream, wasm};
use super::error::Error;
use super::load::{self, Live};
use super::measure::{Row, Run};
use super::path::Path;
use super::plan::Plan;
use super::progress::{self, Watched};
use super::provider::model::{Concurrency, Limits, Model, Slope};
use super::provider::{Options, Provider};
use super::served::could_serve;

/// The service times of the demo.
const SEED: u64 = 1;
/// Calls that the first provider runs at once.
const CONCURRENCY: u16 = 20;

/// What limits the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    Concurrency,
    Slope,
}

/// All paths against one scenario.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) scenario: Scenario,
    pub(crate) could_serve: usize,
    pub(crate) runs: Vec<Run>,
}

impl Scenario {
    /// The name in files.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Concurrency => "concurrency-20",
            Self::Slope => "slope",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Concurrency => "A provider that runs 20 calls at once",
            Self::Slope => "A provider that limits how fast traffic grows",
        }
    }

    /// Weir's cap: what the provider declares, or room for the whole load, which keeps 60 calls
    /// a second times 0.6 s = 36 running.
    pub(crate) fn cap(self) -> u32 {
        match self {
            Self::Concurrency => CONCURRENCY.into(),
            Self::Slope => 40,
        }
    }

    pub(crate) fn limits(self) -> Limits {
        match self {
            Self::Concurrency => Limits {
                concurrency: Some(Concurrency(CONCURRENCY.into())),
                ..Limits::default()
            },
            Self::Slope => Limits {
                slope: Some(Slope::default()),
                ..Limits::default()
            },
        }
    }
}

impl Compared {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |run: &Run| run.row(self.scenario.id(), self.could_serve);
        self.runs.iter().map(row).collect()
    }
}

/// Runs `plan` by all paths, each with a provider of its own that has the same limits and draws.
pub(crate) async fn run(scenario: Scenario, plan: &Plan) -> Result<Compared, Error> {
    println!("\n{}", scenario.title());
    let could_serve = could_serve(Model::new(scenario.limits(), SEED), plan).len();
    let mut providers = vec![];
    for _ in Path::ALL {
        let options = Options {
            limits: scenario.limits(),
            seed: SEED,
            ..Options::default()
        };
        let started = Provider::start(options).await;
        providers.push(started.map_err(Error::io("start a mock provider"))?);
    }
    let front = |(path, provider): (Path, &Provider)| Front {
        path,
        upstream: Upstream::Mock(provider.addr),
    };
    let setup = Setup {
        fronts: Path::ALL.into_iter().zip(&providers).map(front).collect(),
        cap: scenario.cap(),
        wasm: wasm()?,
    };
    let mut envoy = Envoy::start(&setup).await?;
    let runs = load_all(&mut envoy, &providers, plan).await?;
    Ok(Compared {
        scenario,
        could_serve,
        runs,
    })
}

async fn load_all(
    envoy: &mut Envoy,
    providers: &[Provider],
    plan: &Plan,
) -> Result<Vec<Run>, Error> {
    let start = Instant::now();
    let mut watched = vec![];
    let mut loads = vec![];
    for (path, provider) in Path::ALL.into_iter().zip(providers) {
        let live = Arc::new(Live::default());
        let front = envoy.front(path)?;
        let load = load::run(front, Ask::mock(), *plan, start, live.clone());
        let offset = provider.now().saturating_sub(start.elapsed());
        loads.push((path, provider, offset, tokio::spawn(load)));
        watched.push(Watched {
            path,
            live,
            provider: Some(provider),
        });
    }
    let finished = async {
        let mut runs = vec![];
        for (path, provider, start, load) in loads {
            let outcomes = load
                .await
                .map_err(|e| Error::io("run the load")(e.into()))?;
            runs.push(Run {
                path,
                outcomes,
                count: provider.count(),
                start,
            });
        }
        Ok(runs)
    };
    tokio::select! {
        runs = finished => runs,
        () = progress::show(&watched, start) => Ok(vec![]),
        error = alive(envoy) => Err(error),
    }
}

/// Ends only if Envoy does.
async fn alive(envoy: &mut Envoy) -> Error {
    loop {
        if let Err(error) = envoy.check() {
            return error;
        }
        sleep(Duration::from_millis(200)).await;
    }
}
