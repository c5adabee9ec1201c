//! The command line.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use weir::core::config::Config;

use super::cell::{PeerName, Surroundings};
use super::clients::Habits;
use super::crowd::Crowd;
use super::input::InputError;
use super::load::Load;
use super::models::{self, Model};
use super::trace;

pub(crate) const USAGE: &str = "\
usage: sim --models FILE [OPTION VALUE]...
  --models FILE      provider models; examples/sim/models.json has one of each kind
  --only NAMES       of the models in the file; default all
  --loads NAMES      peak, saw, steps, constant:RATE:SECONDS, diurnal:PEAK:SECONDS, trace:FILE,
                     agents:COUNT:CALLS, agents:COUNT:CALLS:TRIES; default peak,saw,steps
  --seeds A..B       both included, or one number; default 1..20
  --peers NAMES      of weir and its alternatives, or all; default weir,none
  --config FILE      Weir's configuration, as Envoy gets it; default one policy without fields
  --envoys N         processes that know nothing of each other; default 1
  --workers N        of each; default 2
  --patience S       seconds until a client goes away that has not been accepted; default 30
  --clients KIND     plain, or sdk: their SDK retries what is refused; default plain
  --aborts PERCENT   clients that go away at any time before that; default 0
  --tenants SHARES   tenants of one account and their shares of the calls, as 6,3,1: in x-tenant
  --priorities H,N,L shares of calls of high, normal and low priority: in x-priority
  --timeline MS      counts by buckets of so many milliseconds, in each line
  --trace on         what happens to each call of the one cell that is asked for
prints a line of JSON for each model, load, seed and peer";

/// Weir's configuration if none is given.
const DEFAULT_CONFIG: &str = r#"{"policies":[{"name":"sim"}]}"#;

/// What to run.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) models: Vec<Model>,
    pub(crate) loads: Vec<Load>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) peers: Vec<PeerName>,
    pub(crate) surroundings: Surroundings,
    pub(crate) is_traced: bool,
}

/// Reads the arguments and the files they name. `None` asks for the usage.
pub(crate) fn parse(args: &[String]) -> Result<Option<Options>, InputError> {
    if args.is_empty() || args.iter().any(|arg| arg == "--help") {
        return Ok(None);
    }
    let mut models = None;
    let mut only = None;
    let mut config = default_config()?;
    let mut options = Options {
        models: Vec::new(),
        loads: loads("peak,saw,steps")?,
        seeds: (1..=20).collect(),
        peers: vec![PeerName::Weir, PeerName::None],
        surroundings: Surroundings {
            config: Rc::clone(&config),
            envoys: 1,
            workers: 2,
            habits: Habits::default(),
            crowd: Crowd::default(),
            timeline: None,
        },
        is_traced: false,
    };
    for pair in args.chunks(2) {
        let option = pair[0].as_str();
        let Some(value) = pair.get(1).map(String::as_str) else {
            return Err(InputError::new(option, "nothing", "is not a value"));
        };
        let surroundings = &mut options.surroundings;
        match option {
            "--models" => models = Some(PathBuf::from(value)),
            "--only" => only = Some(value),
            "--loads" => options.loads = loads(value)?,
            "--seeds" => options.seeds = seeds(value)?,
            "--peers" => options.peers = peers(value)?,
            "--config" => config = read_config(Path::new(value))?,
            "--envoys" => surroundings.envoys = number(option, value, 1, 10_000)?,
            "--workers" => surroundings.workers = number(option, value, 1, 1024)?,
            "--patience" => {
                let seconds = number(option, value, 0, 1_000_000)?;
                surroundings.habits.patience = Duration::from_secs(seconds as u64);
            }
            "--clients" => surroundings.habits.retries = retries(value)?,
            "--aborts" => {
                surroundings.habits.aborts = number(option, value, 0, 100)? as f64 / 100.0;
            }
            "--tenants" => surroundings.crowd.tenants = shares(option, value, 1, 1000)?,
            "--priorities" => surroundings.crowd.priorities = shares(option, value, 3, 3)?,
            "--timeline" => {
                let millis = number(option, value, 1, 86_400_000)?;
                surroundings.timeline = Some(Duration::from_millis(millis as u64));
            }
            "--trace" if value == "on" => options.is_traced = true,
            "--trace" => return Err(InputError::new(option, value, "is not: on")),
            _ => return Err(InputError::new(option, "it", "is no option; see --help")),
        }
    }
    let models = models.ok_or_else(|| InputError::new("--models", "nothing", "is not a file"))?;
    options.models = self::models::parse(&models.display().to_string(), &read(&models)?)?;
    if let Some(only) = only {
        options.models = chosen(options.models, only)?;
    }
    options.surroundings.config = config;
    let cells = options.models.len() * options.loads.len() * options.seeds.len();
    if options.is_traced && cells * options.peers.len() != 1 {
        let cells = format!("{} cells", cells * options.peers.len());
        return Err(InputError::new("--trace", cells, "are not one"));
    }
    Ok(Some(options))
}

fn chosen(models: Vec<Model>, only: &str) -> Result<Vec<Model>, InputError> {
    let rule = "is no model in the file";
    let of = |name: &str| {
        let found = models.iter().find(|model| model.name == name).cloned();
        found.ok_or_else(|| InputError::new("--only", name, rule))
    };
    only.split(',').map(of).collect()
}

fn loads(names: &str) -> Result<Vec<Load>, InputError> {
    let rule = "is not one of: peak, saw, steps, constant:RATE:SECONDS, diurnal:PEAK:SECONDS, \
                trace:FILE, agents:COUNT:CALLS, agents:COUNT:CALLS:TRIES";
    let of = |name: &str| match name.strip_prefix("trace:") {
        Some(path) => {
            let trace = trace::parse(path, &read(Path::new(path))?)?;
            Ok(Load::traced(name, trace))
        }
        None => Load::named(name).ok_or_else(|| InputError::new("--loads", name, rule)),
    };
    names.split(',').map(of).collect()
}

fn peers(names: &str) -> Result<Vec<PeerName>, InputError> {
    if names == "all" {
        return Ok(PeerName::ALL.map(|(_, peer)| peer).to_vec());
    }
    let known = PeerName::ALL.map(|(name, _)| name).join(", ");
    let of = |name: &str| {
        let found = PeerName::ALL.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, peer)| *peer)
            .ok_or_else(|| InputError::new("--peers", name, &format!("is not one of: {known}")))
    };
    names.split(',').map(of).collect()
}

/// Whether clients of a kind retry.
fn retries(kind: &str) -> Result<bool, InputError> {
    match kind {
        "plain" => Ok(false),
        "sdk" => Ok(true),
        _ => Err(InputError::new(
            "--clients",
            kind,
            "is not one of: plain, sdk",
        )),
    }
}

fn seeds(value: &str) -> Result<Vec<u64>, InputError> {
    let rule = "is not a number or a range such as 1..20";
    let of = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| InputError::new("--seeds", value, rule))
    };
    let (first, last) = value.split_once("..").unwrap_or((value, value));
    let range = of(first)?..=of(last)?;
    if range.is_empty() || range.end() - range.start() >= 1_000_000 {
        return Err(InputError::new("--seeds", value, "is empty or too long"));
    }
    Ok(range.collect())
}

fn number(option: &str, value: &str, least: usize, most: usize) -> Result<usize, InputError> {
    let number = value.parse().ok();
    let rule = format!("is not a whole number from {least} to {most}");
    number
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| InputError::new(option, value, &rule))
}

/// From `least` to `most` numbers of at least 0 that are not all 0.
fn shares(option: &str, value: &str, least: usize, most: usize) -> Result<Vec<f64>, InputError> {
    let share = |text: &str| {
        let share: Option<f64> = text.parse().ok();
        share.filter(|share| (0.0..=1e6).contains(share))
    };
    let shares: Option<Vec<f64>> = value.split(',').map(share).collect();
    let is_fine = |shares: &Vec<f64>| {
        (least..=most).contains(&shares.len()) && shares.iter().sum::<f64>() > 0.0
    };
    let rule = format!("is not {least} to {most} numbers such as 6,3,1");
    shares
        .filter(is_fine)
        .ok_or_else(|| InputError::new(option, value, &rule))
}

fn default_config() -> Result<Rc<Config>, InputError> {
    config("the default configuration", DEFAULT_CONFIG)
}

fn read_config(path: &Path) -> Result<Rc<Config>, InputError> {
    config(&path.display().to_string(), &read(path)?)
}

fn config(path: &str, text: &str) -> Result<Rc<Config>, InputError> {
    let config = Config::parse(text.as_bytes());
    config
        .map(Rc::new)
        .map_err(|error| InputError::new(path, error, "(Weir refuses it)"))
}

fn read(path: &Path) -> Result<String, InputError> {
    std::fs::read_to_string(path)
        .map_err(|error| InputError::new(path.display().to_string(), error, "(it is not read)"))
}
