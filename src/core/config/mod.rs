//! The plugin's configuration: JSON in, policies that cannot be wrong out.
//!
//! A configuration is read once, completely, or refused with the first thing that is wrong:
//! where, what was given, and the rule ([`ConfigError`]). Nothing later checks a bound again.

mod canonical;
mod classify;
mod credential;
mod cursor;
mod error;
mod failover;
mod host;
mod json;
mod limits;
mod matching;
mod names;
mod nearest;
mod number;
mod parse;
mod pattern;
mod policy;
mod queue;
mod read;
mod read_key;
mod read_limits;
mod read_queue;
mod retry;
mod share;
mod values;

pub use crate::core::classify::{PROVIDER_NAMES, Provider};
pub use classify::Classify;
pub use error::{ConfigError, Rule};
pub use failover::Failover;
pub use host::Host;
pub use limits::{Growth, Mode, Percent, Ramp, Rate, Step};
pub use matching::Facts;
pub use names::{HeaderName, PolicyName};
pub use nearest::Nearest;
pub use pattern::{HostPattern, PathPrefix};
pub use policy::{KeyPart, Matcher, Policy};
pub use queue::{FairBy, Queue};
pub use retry::{Attempts, Retry, Window};
pub use share::Share;

use cursor::At;

/// A whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    max_keys: u16,
    policies: Vec<Policy>,
    hash: u64,
}

impl Config {
    /// Reads the plugin's configuration. Nothing but white space is read as `{}`.
    ///
    /// # Errors
    /// The first rule that is broken, with its place.
    pub fn parse(bytes: &[u8]) -> Result<Config, ConfigError> {
        let bytes = match bytes.trim_ascii() {
            b"" => b"{}",
            _ => bytes,
        };
        let json = parse::parse(bytes)?;
        let (max_keys, policies) = read::plugin(&At::root(&json))?;
        Ok(Config {
            max_keys,
            hash: canonical::hash(max_keys, &policies),
            policies,
        })
    }

    /// How many gates the whole plugin keeps, 1 to 4096; later keys share one overflow gate a policy.
    pub fn max_keys(&self) -> u16 {
        self.max_keys
    }

    /// The policies in order of precedence. None: Weir does nothing.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Policies whose cap is less than the Envoys that share it: each keeps one, which is more in all
    /// than was configured.
    pub fn exceeded(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().filter(|policy| policy.exceeds_cap())
    }

    /// Tells one configuration from another. Equal for configurations that mean the same, however
    /// they were written.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod properties;
