//! A few calls to a real endpoint: through Weir, and if asked by the other paths after it.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::client::{Ask, End, Outcome};
use super::envoy::{Envoy, Front, Setup, Upstream, wasm};
use super::error::Error;
use super::load::{self, Live};
use super::measure::{percentile, waits};
use super::path::Path;
use super::plan::Plan;
use super::progress::{self, Watched};
use super::target::{Target, setting};

/// Calls a second after the rise.
const RATE: f64 = 20.0;
const RISE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two paths, so that one does not pay for the other's burst.
const REST: Duration = Duration::from_secs(10);

/// Counters of a cluster that say why a provider was not reached.
const TROUBLES: [(&str, &str); 5] = [
    ("update_failure", "the host's name was not resolved"),
    ("upstream_cx_connect_fail", "no connection"),
    ("upstream_cx_connect_timeout", "no connection in time"),
    ("ssl.fail_verify_san", "the certificate is for another name"),
    ("ssl.fail_verify_error", "the certificate is not trusted"),
];

/// How many calls to make, and by which paths.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) calls: u32,
    pub(crate) cap: u32,
    pub(crate) paths: Vec<Path>,
    /// Make the calls without asking.
    pub(crate) yes: bool,
}

/// What one path came to.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) path: Path,
    pub(crate) outcomes: Vec<Outcome>,
    /// Attempts that Envoy made at the provider.
    pub(crate) attempts: u64,
    /// What went wrong on the way there, in words, with its number.
    pub(crate) troubles: Vec<(&'static str, u64)>,
}

impl Settings {
    pub(crate) fn from_environment() -> Result<Self, Error> {
        let paths = match flag("COMPARE") {
            true => vec![Path::Weir, Path::EnvoyRetry, Path::Unprotected],
            false => vec![Path::Weir],
        };
        Ok(Self {
            calls: number("CALLS", 40)?,
            cap: number("CAP", 8)?,
            paths,
            yes: flag("YES"),
        })
    }
}

/// Says what it will do, asks, makes the calls and prints a table.
pub(crate) async fn run(target: &Target, settings: &Settings) -> Result<(), Error> {
    let total = settings.calls as usize * settings.paths.len();
    let by: Vec<&str> = settings.paths.iter().map(|p| p.title()).collect();
    println!(
        "{total} calls with max_tokens 1 to {} at {}, model {}, by {}; Weir's cap is {}.",
        target.path,
        target.host,
        target.model,
        by.join(", then "),
        settings.cap
    );
    if !settings.yes {
        agree().await?;
    }
    let reached = reach(target, settings).await?;
    print_table(&reached);
    let succeeded = |one: &Reached| one.outcomes.iter().any(|o| o.end == End::Succeeded);
    match reached.iter().any(succeeded) {
        true => Ok(()),
        false => Err(Error::NothingSucceeded),
    }
}

/// Makes the calls, one path after the other.
pub(crate) async fn reach(target: &Target, settings: &Settings) -> Result<Vec<Reached>, Error> {
    let ask = Ask::real(target).ok_or(Error::Setting {
        name: "PROVIDER_KEY",
        problem: "cannot be sent in a header".into(),
    })?;
    let front = |path: &Path| Front {
        path: *path,
        upstream: Upstream::Real(target.clone()),
    };
    let envoy = Envoy::start(&Setup {
        fronts: settings.paths.iter().map(front).collect(),
        cap: settings.cap,
        wasm: wasm()?,
    })
    .await?;
    let mut all = vec![];
    for path in settings.paths.iter().copied() {
        if !all.is_empty() {
            sleep(REST).await;
        }
        let outcomes = load_one(&envoy, path, ask.clone(), settings.calls).await?;
        let stat = |name| format!("cluster.{}.{name}", path.id());
        let mut troubles = vec![];
        for (name, words) in TROUBLES {
            let times = envoy.stat(&stat(name)).await;
            troubles.extend((times > 0).then_some((words, times)));
        }
        all.push(Reached {
            path,
            outcomes,
            attempts: envoy.stat(&stat("upstream_rq_total")).await,
            troubles,
        });
    }
    Ok(all)
}

async fn load_one(envoy: &Envoy, path: Path, ask: Ask, calls: u32) -> Result<Vec<Outcome>, Error> {
    let plan = plan(calls);
    let (start, live) = (Instant::now(), Arc::new(Live::default()));
    let load = load::run(envoy.front(path)?, ask, plan, start, live.clone());
    let watched = [Watched {
        path,
        live,
        provider: None,
    }];
    tokio::select! {
        outcomes = load => Ok(outcomes),
        () = progress::show(&watched, start) => Ok(vec![]),
    }
}

fn plan(calls: u32) -> Plan {
    let calls = f64::from(calls);
    // Few calls are over before the rise is.
    let rise = RISE.min(Duration::from_secs_f64(2.0 * calls / RATE));
    let after = calls / RATE - rise.as_secs_f64() / 2.0;
    Plan {
        rate: RATE,
        rise,
        length: rise + Duration::from_secs_f64(after.max(0.0)),
        patience: PATIENCE,
    }
}

fn print_table(all: &[Reached]) {
    println!(
        "\n  {:<14} {:>8} {:>10} {:>9} {:>12} {:>12}",
        "path", "offered", "succeeded", "attempts", "median wait", "other ends"
    );
    for one in all {
        let waits = waits(&one.outcomes);
        let wait = percentile(&waits, 50).map_or("none".into(), |ms| format!("{ms} ms"));
        println!(
            "  {:<14} {:>8} {:>10} {:>9} {:>12}   {}",
            one.path.title(),
            one.outcomes.len(),
            waits.len(),
            one.attempts,
            wait,
            other_ends(&one.outcomes)
        );
    }
    for one in all {
        for (trouble, times) in &one.troubles {
            println!("  {}: {times} x {trouble}", one.path.title());
        }
    }
}

/// The ends that are no success, each with its number.
fn other_ends(outcomes: &[Outcome]) -> String {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for outcome in outcomes {
        let name = match outcome.end {
            End::Succeeded => continue,
            End::Refused(status) => status.as_str().to_owned(),
            End::GaveUp => "gave up".into(),
            End::Broken => "broken".into(),
        };
        *counts.entry(name).or_default() += 1;
    }
    let all: Vec<String> = counts
        .iter()
        .map(|(end, n)| format!("{n} x {end}"))
        .collect();
    all.join(", ")
}

/// Asks on the terminal; anything but yes is no.
async fn agree() -> Result<(), Error> {
    if !stdin().is_terminal() {
        return Err(Error::NotAsked(
            "they may cost money, and there is no terminal to ask on; YES=1 agrees",
        ));
    }
    print!("They may cost money. Make them? [y/N] ");
    let _ = stdout().flush();
    let read = || {
        let mut line = String::new();
        let _ = stdin().read_line(&mut line);
        line.trim().to_lowercase()
    };
    // A thread that nobody waits for: Ctrl-C ends the program while it reads.
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || tell.send(read()));
    let answer = told.await.unwrap_or_default();
    match answer.as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::NotAsked("you did not say yes")),
    }
}

fn flag(name: &str) -> bool {
    setting(name).is_some_and(|value| value != "0")
}

fn number(name: &'static str, default: u32) -> Result<u32, Error> {
    let Some(value) = setting(name) else {
        return Ok(default);
    };
    let number = value.parse().ok().filter(|n| (1..=10_000).contains(n));
    number.ok_or(Error::Setting {
        name,
        problem: "must be a whole number from 1 to 10000".into(),
    })
}
