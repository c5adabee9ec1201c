//! One policy: what it takes, its limits, its retry rules. Each type admits only what is right,
//! so nothing downstream checks again.

use std::num::NonZeroU32;
use std::time::Duration;

use super::classify::Classify;
use super::names::{HeaderName, PolicyName};
use super::pattern::{HostPattern, PathPrefix};
use super::retry::Retry;
use crate::core::classify::Provider;

/// A policy as configured, every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) name: PolicyName,
    pub(super) matcher: Matcher,
    pub(super) provider: Provider,
    pub(super) key: Vec<KeyPart>,
    pub(super) max_concurrent_calls: Option<NonZeroU32>,
    pub(super) queue: Queue,
    pub(super) retry: Retry,
    pub(super) patience_header: Option<HeaderName>,
    pub(super) classify: Classify,
}

impl Policy {
    /// The name, unique in its configuration; fit to be part of a stat name.
    pub fn name(&self) -> &str {
        self.name.as_str()
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

    /// The cap on calls in flight per gate, at most 65535; None is no cap. Where the
    /// configuration is silent this is what the provider's profile declares.
    pub fn max_concurrent_calls(&self) -> Option<NonZeroU32> {
        self.max_concurrent_calls
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyPart {
    /// The Envoy cluster.
    Cluster,
    /// The host, without port, in lower case.
    Host,
    /// The configured path prefix that fits the call.
    PathPrefix,
}

/// The bounds of a gate's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub(super) max_waiting: u32,
    pub(super) max_wait: Duration,
    pub(super) no_wait_header: Option<HeaderName>,
}

impl Queue {
    /// Calls waiting for their first start, per gate, at most 100000; 0 is never to queue.
    pub fn max_waiting(&self) -> u32 {
        self.max_waiting
    }

    /// The longest single stay in the queue, at most an hour.
    pub fn max_wait(&self) -> Duration {
        self.max_wait
    }

    /// The request header by which a client asks to start now or be refused.
    pub fn no_wait_header(&self) -> Option<&HeaderName> {
        self.no_wait_header.as_ref()
    }
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            max_waiting: 1000,
            max_wait: Duration::from_secs(60),
            no_wait_header: HeaderName::parse("x-weir-no-wait"),
        }
    }
}
