//! From JSON to policies: one function per object of the configuration, its fields in order.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use super::cursor::{At, Fields};
use super::names::{HeaderName, PolicyName};
use super::pattern::{HostPattern, PathPrefix};
use super::policy::{Attempts, KeyPart, Matcher, Policy, Queue, Retry, Window};
use super::providers::{self, Provider};
use super::{ConfigError, Rule};

/// The whole configuration: `max_keys` and the policies.
pub(super) fn plugin(at: &At<'_>) -> Result<(u16, Vec<Policy>), ConfigError> {
    let fields = at.object(&["version", "max_keys", "policies"])?;
    if let Some(version) = fields.optional("version") {
        version
            .whole(1, 1)
            .map_err(|_| version.breaks(Rule::Version))?;
    }
    let max_keys = fields.whole("max_keys", 1, 4096, 1024)?;
    let policies = match fields.optional("policies") {
        None => vec![default_policy()],
        Some(list) => policies(&list)?,
    };
    // At most 4096, so nothing is lost.
    Ok((max_keys as u16, policies))
}

fn policies(at: &At<'_>) -> Result<Vec<Policy>, ConfigError> {
    let mut taken = BTreeMap::new();
    let mut policies = Vec::new();
    for (index, at) in at.list()?.iter().enumerate() {
        let fields = at.object(POLICY)?;
        let policy = policy(&fields)?;
        if let Some(taken_by) = taken.insert(policy.name().to_owned(), index) {
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
    "classify",
];

/// What stands in where no policies are configured: it takes every call and caps none.
fn default_policy() -> Policy {
    Policy {
        name: PolicyName::of_default(),
        matcher: Matcher::default(),
        provider: Provider::AUTO,
        key: vec![KeyPart::Cluster],
        max_concurrent_calls: None,
        queue: Queue::default(),
        retry: Retry::default(),
        patience_header: None,
    }
}

fn policy(fields: &Fields<'_>) -> Result<Policy, ConfigError> {
    let default = default_policy();
    let name = fields.required("name", Rule::PolicyName)?;
    let name = parsed(&name, Rule::PolicyName, PolicyName::parse)?;
    refuse_unbuilt(fields)?;
    let provider = match fields.optional("provider") {
        None => default.provider,
        Some(at) => provider(&at)?,
    };
    Ok(Policy {
        name,
        matcher: match fields.optional("match") {
            None => default.matcher,
            Some(at) => matcher(&at)?,
        },
        provider,
        key: match fields.optional("key") {
            None => default.key,
            Some(at) => key(&at)?,
        },
        max_concurrent_calls: match fields.optional("max_concurrent_calls") {
            None => provider.declared_concurrency(),
            Some(at) => NonZeroU32::new(at.whole(0, 65_535)?),
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
    })
}

fn refuse_unbuilt(fields: &Fields<'_>) -> Result<(), ConfigError> {
    if let Some(mode) = fields.optional("mode") {
        match mode.text(Rule::Text) {
            Ok("enforce") => {}
            Ok("shadow") => return Err(mode.not_built("use \"enforce\"")),
            _ => return Err(mode.unknown("mode", &["enforce", "shadow"])),
        }
    }
    if let Some(ramp) = fields.optional("ramp") {
        refuse_ramp(&ramp)?;
    }
    leave_out(fields, &["rate", "classify"])
}

fn refuse_ramp(at: &At<'_>) -> Result<(), ConfigError> {
    let instead = "leave the ramp out or use {\"mode\":\"off\"}";
    let fields = at.object(RAMP)?;
    match fields.optional("mode") {
        None => return Err(at.not_built(instead)),
        Some(mode) => match mode.text(Rule::Text) {
            Ok("off") => {}
            Ok("learn") => return Err(mode.not_built(instead)),
            _ => return Err(mode.unknown("mode", &["learn", "off"])),
        },
    }
    match fields.count() {
        1 => Ok(()),
        _ => Err(at.not_built(instead)),
    }
}

const RAMP: &[&str] = &[
    "mode",
    "initial_per_second",
    "every_ms",
    "growth_percent",
    "step_per_second",
];

/// Refuses fields whose feature is to come.
fn leave_out(fields: &Fields<'_>, names: &[&str]) -> Result<(), ConfigError> {
    match names.iter().find_map(|name| fields.optional(name)) {
        None => Ok(()),
        Some(at) => Err(at.not_built("leave the field out")),
    }
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
    let unknown = || at.unknown("provider", providers::NAMES);
    let name = at.text(Rule::Text).map_err(|_| unknown())?;
    Provider::named(name).map_err(|_| unknown())
}

fn key(at: &At<'_>) -> Result<Vec<KeyPart>, ConfigError> {
    let mut parts = Vec::new();
    for at in at.filled_list()? {
        let part = key_part(&at)?;
        if parts.contains(&part) {
            return Err(at.breaks(Rule::UniqueKeyPart));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn key_part(at: &At<'_>) -> Result<KeyPart, ConfigError> {
    let instead = "use \"cluster\", \"host\" or \"path_prefix\"";
    if at.has("header") || at.has("credential") {
        return Err(at.not_built(instead));
    }
    match at.text(Rule::Text) {
        Ok("cluster") => Ok(KeyPart::Cluster),
        Ok("host") => Ok(KeyPart::Host),
        Ok("path_prefix") => Ok(KeyPart::PathPrefix),
        Ok("credential") => Err(at.not_built(instead)),
        _ => Err(at.unknown("key part", &["cluster", "host", "path_prefix"])),
    }
}

fn queue(at: &At<'_>) -> Result<Queue, ConfigError> {
    let fields = at.object(&[
        "max_waiting",
        "max_wait_ms",
        "no_wait_header",
        "priority_header",
        "fair_by",
        "weights",
    ])?;
    leave_out(&fields, &["priority_header", "fair_by", "weights"])?;
    let default = Queue::default();
    Ok(Queue {
        max_waiting: fields.whole("max_waiting", 0, 100_000, default.max_waiting)?,
        max_wait: millis(&fields, "max_wait_ms", default.max_wait)?,
        no_wait_header: match fields.optional("no_wait_header") {
            None => default.no_wait_header,
            Some(at) if at.is_null() => None,
            Some(at) => Some(parsed(&at, Rule::HeaderNameOrNull, HeaderName::parse)?),
        },
    })
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

fn attempts(fields: &Fields<'_>, name: &str, default: Attempts) -> Result<Attempts, ConfigError> {
    let Some(at) = fields.optional(name) else {
        return Ok(default);
    };
    let max = u32::from(Attempts::MAX);
    let count = u8::try_from(at.whole(1, max)?).ok();
    count
        .and_then(Attempts::new)
        .ok_or_else(|| at.breaks(Rule::Whole { min: 1, max }))
}

fn window(
    fields: &Fields<'_>,
    base_field: &'static str,
    cap_field: &'static str,
    default: Window,
) -> Result<Window, ConfigError> {
    let (default_base, default_cap) = default.millis();
    let base_ms = fields.whole(base_field, 1, Window::MAX_MS, default_base)?;
    let cap_ms = fields.whole(cap_field, 1, Window::MAX_MS, default_cap)?;
    Window::from_millis(base_ms, cap_ms).ok_or_else(|| {
        let rule = Rule::WindowCap {
            base_field,
            base_ms,
            least_ms: Window::least_cap_ms(base_ms),
        };
        match fields.optional(cap_field) {
            Some(at) => at.breaks(rule),
            None => ConfigError::Value {
                path: fields.path_of(cap_field),
                given: format!("{cap_ms} (the default)"),
                rule,
            },
        }
    })
}

fn millis(fields: &Fields<'_>, name: &str, default: Duration) -> Result<Duration, ConfigError> {
    match fields.optional(name) {
        None => Ok(default),
        Some(at) => {
            let millis = at.whole(0, MAX_MS)?;
            Ok(Duration::from_millis(u64::from(millis)))
        }
    }
}

/// An hour: the bound of every time in the configuration.
const MAX_MS: u32 = 3_600_000;

fn parsed<T>(at: &At<'_>, rule: Rule, parse: impl Fn(&str) -> Option<T>) -> Result<T, ConfigError> {
    parse(at.text(rule.clone())?).ok_or_else(|| at.breaks(rule))
}

/// A list that stands for "any" when it is absent, and so may not be empty.
fn parsed_list<T>(
    fields: &Fields<'_>,
    name: &str,
    rule: Rule,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ConfigError> {
    let items = match fields.optional(name) {
        None => Vec::new(),
        Some(at) => at.filled_list()?,
    };
    let item = |at: &At<'_>| parsed(at, rule.clone(), &parse);
    items.iter().map(item).collect()
}
