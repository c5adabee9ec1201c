//! A call whose gate is shut goes to another account or provider before it waits.
//!
//! Weir sets a header, by which the route table chooses another cluster, and the call falls under a
//! policy once more by that. It is asked once: wherever the call comes to then, there it waits. If the
//! other gate is shut for as long, the call stays where it was.

use std::rc::Rc;

use super::Worker;
use super::arrive::Request;
use super::{policy_id, setting_of};
use crate::core::answer::Edit;
use crate::core::config::{Config, Facts, Mode, Policy};
use crate::core::report::stats::Count;
use crate::core::time::Time;
use crate::port::Host;

/// A call goes elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What the route table is to see in the request.
    pub edit: Edit,
    /// The cluster it chooses by that.
    pub cluster: Vec<u8>,
}

impl Worker {
    /// Whether a call that arrives goes elsewhere before it is asked about, and where. Only a policy
    /// with a `failover` looks at its gate for that.
    pub fn turn_elsewhere(
        &mut self,
        host: &impl Host,
        now: Time,
        request: &Request<'_>,
        config: &Rc<Config>,
    ) -> Option<Turn> {
        let facts = request.facts();
        let (_, policy) = config.policy_for(&facts)?;
        let failover = policy
            .failover()
            .filter(|_| policy.mode() == Mode::Enforce)?;
        let opens = self.opens_at(host, now, policy, &facts, config);
        if opens <= now + failover.after() {
            return None;
        }
        let there = Facts {
            cluster: failover.cluster().as_bytes(),
            ..facts
        };
        if let Some((_, other)) = config.policy_for(&there)
            && self.opens_at(host, now, other, &there, config) >= opens
        {
            return None;
        }
        let name = self.policies.of(policy_id(policy.name()));
        self.stats.count(&name, Count::FailedOver);
        Some(Turn {
            edit: Edit::Set(
                failover.header().to_owned().into(),
                failover.value().as_bytes().to_vec(),
            ),
            cluster: there.cluster.to_vec(),
        })
    }

    /// When the gate of a call lets somebody start, as far as its provider's word goes.
    #[inline(never)]
    fn opens_at(
        &mut self,
        host: &impl Host,
        now: Time,
        policy: &Policy,
        facts: &Facts<'_>,
        config: &Config,
    ) -> Time {
        let id = policy_id(policy.name());
        let identity = self.identity(host, policy, facts);
        let place = identity.and_then(|identity| {
            let setting = setting_of(policy);
            self.gates
                .place(host, now, identity, id, setting, config.max_keys())
        });
        let record = place.and_then(|place| self.gates.record(host, place));
        record.map_or(now, |record| record.promises(now))
    }
}
