//! One policy: what it takes, its limits, its retry rules. Each type admits only what is right,
//! so nothing downstream checks again.

use std::num::NonZeroU32;
use std::time::Duration;

use super::classify::Classify;
use super::failover::Failover;
use super::limits::{Mode, Ramp, Ramping, Rate};
use super::names::{HeaderName, PolicyName};
use super::pattern::{HostPattern, PathPrefix};
use super::queue::Queue;
use super::retry::Retry;
use super::share::Share;
use crate::core::classify::Provider;

/// A policy as configured, every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) name: PolicyName,
    pub(super) mode: Mode,
    pub(super) matcher: Matcher,
    pub(super) provider: Provider,
    pub(super) share: Share,
    pub(super) key: Vec<KeyPart>,
    pub(super) max_concurrent_calls: Option<NonZeroU32>,
    pub(super) rate: Option<Rate>,
    pub(super) ramp: Ramping,
    pub(super) queue: Queue,
    pub(super) retry: Retry,
    pub(super) patience_header: Option<HeaderName>,
    pub(super) server_queue: Option<Duration>,
    pub(super) failover: Option<Failover>,
    pub(super) classify: Classify,
}

impl Policy {
    /// The name, unique in its configuration; fit to be part of a stat name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Whether it acts on what it decides.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Which calls the policy takes.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Whose dialect of refusals to expect.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// What besides the policy itself tells one gate from another: at least one part, none twice.
    pub fn key(&self) -> &[KeyPart] {
        &self.key
    }

    /// How many Envoys share the limits below, each of which is this Envoy's part.
    pub fn share(&self) -> Share {
        self.share
    }

    /// The cap on calls in flight per gate, at most 65535; None is no cap. Where the
    /// configuration is silent this is what the provider's profile declares.
    pub fn max_concurrent_calls(&self) -> Option<NonZeroU32> {
        self.max_concurrent_calls.map(|cap| self.share.calls(cap))
    }

    /// The bound on starts, per gate.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.map(|rate| self.share.rate(rate))
    }

    /// The bound on the growth of the rate of starts, per gate.
    pub fn ramp(&self) -> Option<Ramp> {
        match self.ramp {
            Ramping::Stated(ramp) => Some(self.share.ramp(ramp)),
            Ramping::Learned | Ramping::Off => None,
        }
    }

    /// Whether refusals teach a gate how fast calls may start, and how many at once.
    pub fn learns(&self) -> bool {
        self.ramp == Ramping::Learned
    }

    /// Whether all Envoys together are above the configured cap with one call each.
    pub(super) fn exceeds_cap(&self) -> bool {
        self.max_concurrent_calls
            .is_some_and(|cap| self.share.exceeds(cap))
    }

    /// The queue in front of the gate.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// When a refused call is tried again.
    pub fn retry(&self) -> &Retry {
        &self.retry
    }

    /// The request header in which a client says how many milliseconds it will wait.
    pub fn patience_header(&self) -> Option<&HeaderName> {
        self.patience_header.as_ref()
    }

    /// The shortest and the longest time for which a provider can be asked to queue a call.
    pub const SERVER_QUEUE: (Duration, Duration) =
        (Duration::from_secs(3), Duration::from_secs(120));

    /// How long the provider may let a call wait at its side, within [`Policy::SERVER_QUEUE`]. None:
    /// it is not asked to.
    pub fn server_queue(&self) -> Option<Duration> {
        self.server_queue
    }

    /// Where a call goes whose gate is shut, before it waits.
    pub fn failover(&self) -> Option<&Failover> {
        self.failover.as_ref()
    }

    /// How refusals are classified, beyond the provider's profile.
    pub fn classify(&self) -> &Classify {
        &self.classify
    }
}

/// Which calls a policy takes: each list that is not empty must have an entry that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matcher {
    pub(super) clusters: Vec<String>,
    pub(super) hosts: Vec<HostPattern>,
    pub(super) path_prefixes: Vec<PathPrefix>,
}

/// A part of the key that decides which calls share a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The Envoy cluster.
    Cluster,
    /// The host, without port, in lower case.
    Host,
    /// The configured path prefix that fits the call.
    PathPrefix,
    /// The credential, wherever it usually stands.
    Credential,
    /// The credential in this header.
    CredentialIn(HeaderName),
    /// The value of this header.
    Header(HeaderName),
}
