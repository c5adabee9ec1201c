//! Spans and points of time as providers write them.

use std::time::Duration;

use super::date;
use crate::core::time::millis_up;

/// What turns points of time into spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) now_ms: u64,
    /// The zone of times that name none.
    pub(super) zone_hours: i8,
}

/// A bare number up to here is a span in seconds, above it a point of time in seconds since 1970.
const FIRST_EPOCH_S: f64 = 1e9;
/// From here on it is one in milliseconds.
const FIRST_EPOCH_MS: f64 = 1e11;
/// And from here on it is nothing.
const END_OF_EPOCH_MS: f64 = 1e14;

impl Clock {
    /// The wait that a value means, in milliseconds and above zero: a number of seconds, a point of
    /// time since 1970, `1m30s`, or a date.
    pub(super) fn until(self, value: &str) -> Option<u64> {
        let value = value.trim();
        if let Ok(number) = value.parse::<f64>() {
            return match number {
                FIRST_EPOCH_S..FIRST_EPOCH_MS => self.until_ms(seconds_to_ms(number)?),
                FIRST_EPOCH_MS..END_OF_EPOCH_MS => self.until_ms(to_ms(number, 1e-3)?),
                _ if number < FIRST_EPOCH_S => seconds_to_ms(number),
                _ => None,
            };
        }
        if let Some(ms) = whole_span(value) {
            return above_zero(ms);
        }
        date::http(value)
            .or_else(|| date::whole(value, self))
            .and_then(|at| self.until_ms(at))
    }

    /// A number of milliseconds.
    pub(super) fn millis(self, value: &str) -> Option<u64> {
        match value.trim().parse::<f64>() {
            Ok(number) if number < FIRST_EPOCH_MS => to_ms(number, 1e-3),
            _ => None,
        }
    }

    /// From now to a time in milliseconds since 1970; nothing if it is past.
    pub(super) fn until_ms(self, at_ms: u64) -> Option<u64> {
        above_zero(at_ms.saturating_sub(self.now_ms))
    }
}

fn above_zero(ms: u64) -> Option<u64> {
    (ms > 0).then_some(ms)
}

fn seconds_to_ms(seconds: f64) -> Option<u64> {
    to_ms(seconds, 1.0)
}

/// A number of units above zero in whole milliseconds, rounded up.
pub(super) fn to_ms(number: f64, unit_seconds: f64) -> Option<u64> {
    if !number.is_finite() || number <= 0.0 {
        return None;
    }
    // Through whole nanoseconds: 18.642 s must not become 18643 ms by a rounding error.
    let span = Duration::try_from_secs_f64(number * unit_seconds).ok()?;
    Some(millis_up(span).max(1))
}

/// A text that is a span and nothing else: `6m0s`, `1h2m3.5s`, `750µs`, `8 hours 24 minutes`.
fn whole_span(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let (ms, rest) = leading_span(&text)?;
    rest.trim().is_empty().then_some(ms)
}

/// The span that a text in lower case begins with, in milliseconds rounded up, and what follows it.
///
/// A number without a unit is none, except in `01:12:30`.
pub(super) fn leading_span(text: &str) -> Option<(u64, &str)> {
    if let Some(found) = clock_span(text) {
        return Some(found);
    }
    let mut nanos = 0u128;
    let mut rest = text;
    let mut end = None;
    while let Some((number, tail)) = leading_number(rest) {
        let Some((unit_nanos, tail)) = leading_unit(tail) else {
            break;
        };
        let span = Duration::try_from_secs_f64(number * unit_nanos / 1e9).ok()?;
        nanos = nanos.saturating_add(span.as_nanos());
        end = Some(tail);
        let tail = tail.trim_start_matches([' ', ',']);
        rest = tail.strip_prefix("and ").unwrap_or(tail);
    }
    let ms = u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX);
    Some((ms, end?))
}

/// `hh:mm:ss`.
fn clock_span(text: &str) -> Option<(u64, &str)> {
    let (hours, rest) = leading_digits(text)?;
    let (minutes, rest) = leading_digits(rest.strip_prefix(':')?)?;
    let (seconds, rest) = leading_digits(rest.strip_prefix(':')?)?;
    let total = (hours.checked_mul(60)?.checked_add(minutes)?).checked_mul(60)?;
    Some((total.checked_add(seconds)?.checked_mul(1000)?, rest))
}

/// The digits that a text begins with.
pub(super) fn leading_digits(text: &str) -> Option<(u64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(length)?;
    Some((digits.parse().ok()?, rest))
}

fn leading_number(text: &str) -> Option<(f64, &str)> {
    let length = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    let (number, rest) = text.split_at_checked(length)?;
    // A full stop after the number is none of it.
    let number = number.trim_end_matches('.');
    Some((number.parse().ok()?, rest))
}

/// A unit, and the nanoseconds in it.
fn leading_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start_matches([' ', '-']);
    if let Some((unit, nanos)) = CHINESE.iter().find(|(unit, _)| text.starts_with(unit)) {
        return Some((*nanos, text.get(unit.len()..)?));
    }
    let length = text
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_alphabetic() || matches!(c, 'µ' | 'μ')))
        .map_or(text.len(), |(at, _)| at);
    let (unit, rest) = text.split_at_checked(length)?;
    let nanos = match unit {
        "ns" | "nanos" | "nanoseconds" => 1.0,
        "us" | "µs" | "μs" | "microseconds" => 1e3,
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "m" | "min" | "mins" | "minute" | "minutes" => 60e9,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600e9,
        "d" | "day" | "days" => 86400e9,
        "w" | "week" | "weeks" => 604_800e9,
        _ => return None,
    };
    Some((nanos, rest))
}

const CHINESE: &[(&str, f64)] = &[
    ("毫秒", 1e6),
    ("秒", 1e9),
    ("分钟", 60e9),
    ("分", 60e9),
    ("小时", 3600e9),
    ("天", 86400e9),
];
