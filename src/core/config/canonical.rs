//! Hashes of a configuration that depend on what it says and not on how it was written.
//!
//! Each type is taken apart field by field without `..`, so that a new field cannot be forgotten.

use std::num::NonZeroU32;
use std::time::Duration;

use super::classify::Classify;
use super::failover::Failover;
use super::limits::{Growth, Mode, Ramping, Rate};
use super::names::HeaderName;
use super::policy::{KeyPart, Matcher, Policy};
use super::queue::{FairBy, Fairness, Queue};
use super::retry::{Attempts, Retry, Window};
use crate::core::classify::{Conditions, Rule};
use crate::core::fnv::Fnv64;

impl Policy {
    /// Identifies the limits a gate of this policy works under: `max_concurrent_calls`, `rate`,
    /// `ramp`, how many Envoys share them, `queue.max_waiting`, and whether there is a `queue.fair_by`, since that changes what
    /// the order of calls means. Two policies that differ in other things only have the same.
    pub fn limits_hash(&self) -> u64 {
        let mut out = Canonical::default();
        out.number(u64::from(
            self.max_concurrent_calls.map_or(0, NonZeroU32::get),
        ));
        out.number(u64::from(self.share.envoys()));
        out.number(u64::from(self.queue.max_waiting));
        out.rate(self.rate);
        out.ramp(self.ramp);
        out.number(u64::from(self.queue.fair_by().is_some()));
        out.hash()
    }
}

/// The hash of a configuration with these parts.
pub(super) fn hash(max_keys: u16, policies: &[Policy]) -> u64 {
    let mut out = Canonical::default();
    out.number(u64::from(max_keys));
    out.list(policies, Canonical::policy);
    out.hash()
}

/// The hash of bytes that two values share only if they are equal: numbers have a fixed width, texts and
/// lists begin with their length.
#[derive(Default)]
struct Canonical(Fnv64);

impl Canonical {
    fn hash(&self) -> u64 {
        self.0.0
    }

    fn policy(&mut self, policy: &Policy) {
        let Policy {
            name,
            mode,
            matcher,
            provider,
            share,
            key,
            max_concurrent_calls,
            rate,
            ramp,
            queue,
            retry,
            patience_header,
            server_queue,
            failover,
            classify,
        } = policy;
        self.text(name.as_str());
        self.number(match mode {
            Mode::Enforce => 0,
            Mode::Shadow => 1,
        });
        self.matcher(matcher);
        self.text(provider.name());
        self.number(u64::from(share.envoys()));
        self.list(key, Canonical::key_part);
        self.number(u64::from(max_concurrent_calls.map_or(0, NonZeroU32::get)));
        self.rate(*rate);
        self.ramp(*ramp);
        self.queue(queue);
        self.retry(retry);
        self.header(patience_header.as_ref());
        self.duration(server_queue.unwrap_or_default());
        self.failover(failover.as_ref());
        self.classify(classify);
    }

    fn matcher(&mut self, matcher: &Matcher) {
        let Matcher {
            clusters,
            hosts,
            path_prefixes,
        } = matcher;
        self.list(clusters, |out, cluster| out.text(cluster));
        self.list(hosts, |out, host| out.text(&host.text()));
        self.list(path_prefixes, |out, prefix| out.text(prefix.text()));
    }

    fn key_part(&mut self, part: &KeyPart) {
        let (kind, header) = match part {
            KeyPart::Cluster => (0, None),
            KeyPart::Host => (1, None),
            KeyPart::PathPrefix => (2, None),
            KeyPart::Credential => (3, None),
            KeyPart::CredentialIn(header) => (4, Some(header)),
            KeyPart::Header(header) => (5, Some(header)),
        };
        self.number(kind);
        self.header(header);
    }

    fn rate(&mut self, rate: Option<Rate>) {
        self.number(rate.map_or(0, Rate::per_second_nano));
        self.number(u64::from(rate.map_or(0, Rate::burst)));
    }

    fn ramp(&mut self, ramping: Ramping) {
        let ramp = match ramping {
            Ramping::Learned => return self.number(u64::MAX),
            Ramping::Off => return self.number(0),
            Ramping::Stated(ramp) => ramp,
        };
        self.number(ramp.initial_nano());
        self.duration(ramp.every());
        match ramp.growth() {
            Growth::Percent(percent) => {
                self.number(0);
                self.number(u64::from(percent.get()));
            }
            Growth::Step(step) => {
                self.number(1);
                self.number(step.per_second_nano());
            }
        }
    }

    fn queue(&mut self, queue: &Queue) {
        let Queue {
            max_waiting,
            max_wait,
            no_wait_header,
            priority_header,
            fairness,
        } = queue;
        self.number(u64::from(*max_waiting));
        self.duration(*max_wait);
        self.header(no_wait_header.as_ref());
        self.header(priority_header.as_ref());
        self.fairness(fairness.as_ref());
    }

    fn fairness(&mut self, fairness: Option<&Fairness>) {
        let Some(Fairness { by, weights }) = fairness else {
            return self.number(0);
        };
        match by {
            FairBy::Credential => self.number(1),
            FairBy::Header(header) => {
                self.number(2);
                self.header(Some(header));
            }
        }
        self.number(weights.len() as u64);
        for (tenant, weight) in weights {
            self.bytes(tenant);
            self.number(u64::from(weight.get()));
        }
    }

    fn retry(&mut self, retry: &Retry) {
        let Retry {
            max_attempts,
            burst_max_attempts,
            window,
            burst_window,
            retry_after_cap,
            budget,
            ratio_percent,
            ratio_min_per_second,
        } = retry;
        self.attempts(*max_attempts);
        self.attempts(*burst_max_attempts);
        self.window(*window);
        self.window(*burst_window);
        self.duration(*retry_after_cap);
        self.duration(*budget);
        self.number(u64::from(*ratio_percent));
        self.number(u64::from(*ratio_min_per_second));
    }

    /// An empty header is none.
    fn failover(&mut self, failover: Option<&Failover>) {
        let Some(failover) = failover else {
            return self.header(None);
        };
        let Failover {
            header,
            value,
            cluster,
            after,
        } = failover;
        self.header(Some(header));
        self.text(value);
        self.text(cluster);
        self.duration(*after);
    }

    fn classify(&mut self, classify: &Classify) {
        let Classify { rules, map_200 } = classify;
        self.list(rules, Canonical::rule);
        self.number(u64::from(*map_200));
    }

    fn rule(&mut self, rule: &Rule) {
        let Conditions {
            status,
            header,
            json,
            phrase,
        } = rule.conditions();
        self.number(status.map_or(0, u64::from));
        for (name, value) in [header, json].map(Option::as_ref).map(|pair| match pair {
            Some((name, value)) => (name.as_str(), value.as_str()),
            // An empty name is none.
            None => ("", ""),
        }) {
            self.text(name);
            self.text(value);
        }
        self.text(phrase.as_deref().unwrap_or_default());
        self.text(rule.class().name());
        self.text(rule.wait_header().unwrap_or_default());
    }

    fn attempts(&mut self, attempts: Attempts) {
        self.number(u64::from(attempts.get()));
    }

    fn window(&mut self, window: Window) {
        self.duration(window.base());
        self.duration(window.cap());
    }

    /// An empty name is none.
    fn header(&mut self, name: Option<&HeaderName>) {
        self.text(name.map_or("", HeaderName::as_str));
    }

    fn duration(&mut self, span: Duration) {
        self.number(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Canonical, &T)) {
        self.number(items.len() as u64);
        for item in items {
            write(self, item);
        }
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.write(bytes);
    }

    fn number(&mut self, number: u64) {
        self.0.write(&number.to_be_bytes());
    }
}
