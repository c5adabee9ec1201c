//! The providers, and the ways to each.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::path::{Known, Path};
use crate::app::provider::model::{Concurrency, FixedWindow, Limits, Slope, TokenBucket};

/// A provider.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) limits: Limits,
    /// What Envoy's filters are tuned to. A call takes 0.6 s on average, so a rate and a number of
    /// calls at once give each other.
    pub(crate) known: Known,
}

fn all() -> [Model; 4] {
    let known = |per_second, at_once| Known {
        per_second,
        at_once,
    };
    [
        Model {
            name: "token-bucket",
            limits: Limits {
                token_bucket: Some(TokenBucket::new(30.0, 30.0)),
                ..Limits::default()
            },
            known: known(30, 18),
        },
        Model {
            name: "fixed-window",
            limits: Limits {
                window: Some(FixedWindow::new(40, Duration::from_secs(1))),
                ..Limits::default()
            },
            known: known(40, 24),
        },
        Model {
            name: "slope",
            limits: Limits {
                slope: Some(Slope::default()),
                ..Limits::default()
            },
            // No rate is its limit: the whole load's.
            known: known(60, 36),
        },
        Model {
            name: "concurrency",
            limits: Limits {
                concurrency: Some(Concurrency(20)),
                ..Limits::default()
            },
            known: known(33, 20),
        },
    ]
}

fn paths(known: Known) -> [Path; 6] {
    [
        Path::Weir,
        Path::Unprotected,
        Path::EnvoyRetry,
        Path::LocalRateLimit(known),
        Path::AdaptiveConcurrency(known),
        Path::AllNative(known),
    ]
}

/// The model and the path of these names.
pub(crate) fn named(model: &str, path: &str) -> Option<(Model, Path)> {
    let model = all().into_iter().find(|m| m.name == model)?;
    let path = paths(model.known).into_iter().find(|p| p.id() == path)?;
    Some((model, path))
}

/// All names, in the order in which they are measured and shown.
pub(crate) fn names() -> Value {
    let models = all();
    let paths = models.iter().take(1).flat_map(|m| paths(m.known));
    json!({
        "models": models.iter().map(|m| m.name).collect::<Vec<_>>(),
        "paths": paths.map(|p| json!({"id": p.id(), "title": p.title()})).collect::<Vec<_>>(),
    })
}
