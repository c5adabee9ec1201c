//! What can go wrong, in words that say what to do.

use std::io;
use std::path::PathBuf;

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{what} is missing at {path}: run `{remedy}` first")]
    Missing {
        what: &'static str,
        path: PathBuf,
        remedy: &'static str,
    },
    #[error("cannot {what}: {error}")]
    Io { what: String, error: io::Error },
    #[error("Envoy {what}. The end of its log:\n{log}")]
    Envoy { what: String, log: String },
    #[error("{name} {problem}")]
    Setting { name: &'static str, problem: String },
    #[error("no call succeeded")]
    NothingSucceeded,
    #[error("no call was made: {0}")]
    NotAsked(&'static str),
    #[error("cannot draw the picture: {0}")]
    Picture(String),
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}
