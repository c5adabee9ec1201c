//! The command line.

use std::time::Duration;

use super::provider::model::{Concurrency, FixedWindow, Slope, Steps, TokenBucket};
use super::provider::{Options, Tls};

pub(super) const USAGE: &str = "\
usage: mock_provider [OPTION VALUE]...
  --port N                     default: any free port
  --seed N                     of the service times; default 1
  --key TEXT                   calls without this API key get 401
  --concurrency N              at most N calls at once
  --slope on                   starts in any second: 4 + 1.25 x the mean of the last 4 s
  --token-bucket PER_S,BURST   refuses with Retry-After
  --window N,SECONDS           N starts a window, with reset headers
  --steps FLOOR,STEP,SECONDS   each window allows STEP more than the one before it used
  --tls CA_FILE                serves TLS for localhost; writes its authority's certificate";

/// What is wrong with the command line.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("unknown option '{0}'")]
    Unknown(String),
    #[error("{0} needs a value")]
    Missing(String),
    #[error("{option} cannot be '{value}'")]
    Value { option: String, value: String },
    #[error("{path}: {error}")]
    Tls { path: String, error: std::io::Error },
}

pub(super) fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, Problem> {
    let mut options = Options {
        seed: 1,
        ..Options::default()
    };
    while let Some(option) = args.next() {
        let value = args
            .next()
            .ok_or_else(|| Problem::Missing(option.clone()))?;
        let wrong = || Problem::Value {
            option: option.clone(),
            value: value.clone(),
        };
        let numbers: Vec<f64> = value
            .split(',')
            .filter_map(|n| n.parse().ok())
            .filter(|n: &f64| n.is_finite() && *n >= 0.0)
            .collect();
        let limits = &mut options.limits;
        match (option.as_str(), numbers.as_slice()) {
            ("--port", _) => options.port = value.parse().map_err(|_| wrong())?,
            ("--seed", _) => options.seed = value.parse().map_err(|_| wrong())?,
            ("--key", _) => options.key = Some(value),
            ("--concurrency", _) => {
                limits.concurrency = Some(Concurrency(value.parse().map_err(|_| wrong())?));
            }
            ("--slope", _) if value == "on" => limits.slope = Some(Slope::default()),
            ("--token-bucket", &[rate, burst]) if rate > 0.0 && burst >= 1.0 => {
                limits.token_bucket = Some(TokenBucket::new(rate, burst));
            }
            ("--window", &[n, length]) => {
                limits.window = Some(FixedWindow::new(n as usize, seconds(length)));
            }
            ("--steps", &[floor, step, length]) => {
                limits.steps = Some(Steps::new(floor as usize, step as usize, seconds(length)));
            }
            ("--tls", _) => options.tls = Some(tls(value)?),
            ("--slope" | "--token-bucket" | "--window" | "--steps", _) => return Err(wrong()),
            _ => return Err(Problem::Unknown(option)),
        }
    }
    Ok(options)
}

fn seconds(length: f64) -> Duration {
    Duration::try_from_secs_f64(length).unwrap_or(Duration::MAX)
}

fn tls(path: String) -> Result<Tls, Problem> {
    let made = Tls::generate("localhost").and_then(|tls| {
        std::fs::write(&path, &tls.ca_pem)?;
        Ok(tls)
    });
    made.map_err(|error| Problem::Tls { path, error })
}
