//! From JSON to policies: one function per object of the configuration, its fields in order.

use std::num::NonZeroU32;
use std::time::Duration;

use super::classify::{self, Classify};
use super::cursor::{At, Fields};
use super::limits::Ramping;
use super::names::{HeaderName, PolicyName};
use super::pattern::{HostPattern, PathPrefix};
use super::policy::{KeyPart, Matcher, Policy};
use super::queue::Queue;
use super::read_key::key;
use super::read_limits::{mode, ramp, rate};
use super::read_queue::queue;
use super::retry::Retry;
use super::share::Share;
use super::values::{attempts, millis, parsed, parsed_list, window};
use super::{ConfigError, Mode, Rule, failover};
use crate::core::classify::{PROVIDER_NAMES, Provider};

/// The whole configuration: `max_keys` and the policies.
pub(super) fn plugin(at: &At<'_>) -> Result<(u16, Vec<Policy>), ConfigError> {
    let fields = at.object(&["version", "max_keys", "share", "policies"])?;
    if let Some(version) = fields.optional("version") {
        version
            .whole(1, 1)
            .map_err(|_| version.breaks(Rule::Version))?;
    }
    let max_keys = fields.whole("max_keys", 1, 4096, 1024)?;
    let mut policies = match fields.optional("policies") {
        None => vec![default_policy()],
        Some(list) => policies(&list)?,
    };
    if let Some(at) = fields.optional("share") {
        let share = share(&at)?;
        for policy in &mut policies {
            policy.share = share;
        }
    }
    // At most 4096, so nothing is lost.
    Ok((max_keys as u16, policies))
}

fn share(at: &At<'_>) -> Result<Share, ConfigError> {
    let rule = Rule::Whole {
        min: 1,
        max: Share::MAX,
    };
    let of = at.object(&["of"])?.required("of", rule.clone())?;
    Share::of(of.whole(1, Share::MAX)?).ok_or_else(|| of.breaks(rule))
}

fn policies(at: &At<'_>) -> Result<Vec<Policy>, ConfigError> {
    let mut policies: Vec<Policy> = Vec::new();
    for at in at.list()? {
        let fields = at.object(POLICY)?;
        let policy = policy(&fields)?;
        let taken_by = policies.iter().position(|p| p.name() == policy.name());
        if let Some(taken_by) = taken_by {
            let name = fields.required("name", Rule::PolicyName)?;
            return Err(name.breaks(Rule::UniqueName { taken_by }));
        }
        policies.push(policy);
    }
    Ok(policies)
}

const POLICY: &[&str] = &[
    "name",
    "mode",
    "match",
    "provider",
    "key",
    "max_concurrent_calls",
    "rate",
    "ramp",
    "queue",
    "retry",
    "patience_header",
    "server_queue_ms",
    "failover",
    "classify",
];

/// What stands in where no policies are configured: it takes every call and caps none.
fn default_policy() -> Policy {
    Policy {
        name: PolicyName::of_default(),
        mode: Mode::Enforce,
        matcher: Matcher::default(),
        provider: Provider::AUTO,
        share: Share::WHOLE,
        key: vec![KeyPart::Cluster],
        max_concurrent_calls: None,
        rate: None,
        ramp: Ramping::default(),
        queue: Queue::default(),
        retry: Retry::default(),
        patience_header: None,
        server_queue: None,
        failover: None,
        classify: Classify::default(),
    }
}

fn policy(fields: &Fields<'_>) -> Result<Policy, ConfigError> {
    let default = default_policy();
    let name = fields.required("name", Rule::PolicyName)?;
    let name = parsed(&name, Rule::PolicyName, PolicyName::parse)?;
    let provider = match fields.optional("provider") {
        None => default.provider,
        Some(at) => provider(&at)?,
    };
    Ok(Policy {
        name,
        mode: match fields.optional("mode") {
            None => default.mode,
            Some(at) => mode(&at)?,
        },
        matcher: match fields.optional("match") {
            None => default.matcher,
            Some(at) => matcher(&at)?,
        },
        provider,
        share: default.share,
        key: match fields.optional("key") {
            None => default.key,
            Some(at) => key(&at)?,
        },
        max_concurrent_calls: match fields.optional("max_concurrent_calls") {
            None => provider.declared_concurrency(),
            Some(at) => NonZeroU32::new(at.whole(0, 65_535)?),
        },
        rate: match fields.optional("rate") {
            None => default.rate,
            Some(at) => Some(rate(&at)?),
        },
        ramp: match fields.optional("ramp") {
            None => default.ramp,
            Some(at) => ramp(&at)?,
        },
        queue: match fields.optional("queue") {
            None => default.queue,
            Some(at) => queue(&at)?,
        },
        retry: match fields.optional("retry") {
            None => default.retry,
            Some(at) => retry(&at)?,
        },
        patience_header: match fields.optional("patience_header") {
            None => default.patience_header,
            Some(at) => Some(parsed(&at, Rule::HeaderName, HeaderName::parse)?),
        },
        server_queue: match fields.optional("server_queue_ms") {
            None => default.server_queue,
            Some(at) => Some(server_queue(&at, provider)?),
        },
        failover: match fields.optional("failover") {
            None => default.failover,
            Some(at) => Some(failover::read(&at)?),
        },
        classify: match fields.optional("classify") {
            None => default.classify,
            Some(at) => classify::read(&at)?,
        },
    })
}

fn server_queue(at: &At<'_>, provider: Provider) -> Result<Duration, ConfigError> {
    if !provider.can_queue() {
        return Err(at.breaks(Rule::QueuingProvider));
    }
    let (min, max) = Policy::SERVER_QUEUE;
    let millis = at.whole(min.as_millis() as u32, max.as_millis() as u32)?;
    Ok(Duration::from_millis(u64::from(millis)))
}

fn matcher(at: &At<'_>) -> Result<Matcher, ConfigError> {
    let fields = at.object(&["clusters", "hosts", "path_prefixes"])?;
    let cluster = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(Matcher {
        clusters: parsed_list(&fields, "clusters", Rule::ClusterName, cluster)?,
        hosts: parsed_list(&fields, "hosts", Rule::HostPattern, HostPattern::parse)?,
        path_prefixes: parsed_list(
            &fields,
            "path_prefixes",
            Rule::PathPrefix,
            PathPrefix::parse,
        )?,
    })
}

fn provider(at: &At<'_>) -> Result<Provider, ConfigError> {
    let unknown = || at.unknown("provider", PROVIDER_NAMES);
    let name = at.text(Rule::Text).map_err(|_| unknown())?;
    Provider::named(name).ok_or_else(unknown)
}

fn retry(at: &At<'_>) -> Result<Retry, ConfigError> {
    let fields = at.object(&[
        "retry_max_attempts",
        "burst_max_attempts",
        "retry_base_delay_ms",
        "retry_cap_delay_ms",
        "burst_retry_base_delay_ms",
        "burst_retry_cap_delay_ms",
        "retry_after_cap_ms",
        "budget_ms",
    ])?;
    let default = Retry::default();
    Ok(Retry {
        max_attempts: attempts(&fields, "retry_max_attempts", default.max_attempts)?,
        burst_max_attempts: attempts(&fields, "burst_max_attempts", default.burst_max_attempts)?,
        window: window(
            &fields,
            "retry_base_delay_ms",
            "retry_cap_delay_ms",
            default.window,
        )?,
        burst_window: window(
            &fields,
            "burst_retry_base_delay_ms",
            "burst_retry_cap_delay_ms",
            default.burst_window,
        )?,
        retry_after_cap: millis(&fields, "retry_after_cap_ms", default.retry_after_cap)?,
        budget: millis(&fields, "budget_ms", default.budget)?,
    })
}
