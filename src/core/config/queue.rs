//! The queue in front of a gate: its bounds, and who in it goes first.

use litemap::LiteMap;
use std::time::Duration;

use super::credential::{credential, value};
use super::names::HeaderName;

/// The queue of a policy's gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub(super) max_waiting: u32,
    pub(super) max_wait: Duration,
    pub(super) no_wait_header: Option<HeaderName>,
    pub(super) priority_header: Option<HeaderName>,
    pub(super) fairness: Option<Fairness>,
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

    /// The request header that says `high`, `normal` or `low`.
    pub fn priority_header(&self) -> Option<&HeaderName> {
        self.priority_header.as_ref()
    }

    /// By what tenants are told apart, each of which gets its share; None: all are one.
    pub fn fair_by(&self) -> Option<&FairBy> {
        self.fairness.as_ref().map(|fairness| &fairness.by)
    }

    /// The value that tells a call's tenant from others, empty if it gives none; None if all are
    /// one.
    pub fn tenant_of<'a>(&self, headers: &'a [(Vec<u8>, Vec<u8>)]) -> Option<&'a [u8]> {
        Some(match self.fair_by()? {
            FairBy::Credential => credential(headers),
            FairBy::Header(name) => value(headers, name.as_str()),
        })
    }

    /// The weight of the tenant with this value, 1 to 100; 1 where the configuration is silent.
    pub fn weight_of(&self, tenant: &[u8]) -> u8 {
        let weight = |fairness: &Fairness| fairness.weights.get(tenant).copied();
        let weight = self.fairness.as_ref().and_then(weight);
        weight.unwrap_or(Weight::ONE).get()
    }
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            max_waiting: 1000,
            max_wait: Duration::from_secs(60),
            no_wait_header: HeaderName::parse("x-weir-no-wait"),
            priority_header: None,
            fairness: None,
        }
    }
}

/// By what tenants are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FairBy {
    /// By their credential.
    Credential,
    /// By the value of a header.
    Header(HeaderName),
}

/// Who shares the queue, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fairness {
    pub(super) by: FairBy,
    /// By the tenant's value; at most [`WEIGHTS`].
    pub(super) weights: LiteMap<Vec<u8>, Weight>,
}

/// How many tenants may have a weight of their own.
pub(super) const WEIGHTS: usize = 1000;

/// A tenant's share beside the others': 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight(u8);

impl Weight {
    pub(super) const ONE: Weight = Weight(1);

    pub(super) const MAX: u8 = 100;

    /// None unless `weight` is 1 to 100.
    pub(super) fn new(weight: u8) -> Option<Weight> {
        (1..=Weight::MAX)
            .contains(&weight)
            .then_some(Weight(weight))
    }

    pub(super) fn get(self) -> u8 {
        self.0
    }
}
