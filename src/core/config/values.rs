//! Kinds of values that several fields have.

use std::time::Duration;

use super::cursor::{At, Fields};
use super::retry::{Attempts, Window};
use super::{ConfigError, Rule};

pub(super) fn attempts(
    fields: &Fields<'_>,
    name: &str,
    default: Attempts,
) -> Result<Attempts, ConfigError> {
    let Some(at) = fields.optional(name) else {
        return Ok(default);
    };
    let max = u32::from(Attempts::MAX);
    let count = u8::try_from(at.whole(1, max)?).ok();
    count
        .and_then(Attempts::new)
        .ok_or_else(|| at.breaks(Rule::Whole { min: 1, max }))
}

pub(super) fn window(
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

pub(super) fn millis(
    fields: &Fields<'_>,
    name: &str,
    default: Duration,
) -> Result<Duration, ConfigError> {
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

pub(super) fn parsed<T>(
    at: &At<'_>,
    rule: Rule,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, ConfigError> {
    parse(at.text(rule.clone())?).ok_or_else(|| at.breaks(rule))
}

/// A list that stands for "any" when it is absent, and so may not be empty.
pub(super) fn parsed_list<T>(
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
