//! Spans and points of time as providers write them.

use super::date;

/// What turns points of time into spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) now_ms: u64,
    /// The zone of times that name none.
    pub(super) zone_hours: i8,
}

/// A bare number up to here is a span in seconds, above it a point of time in seconds since 1970.
const FIRST_EPOCH_S: u64 = 1_000_000_000;
/// From here on it is one in milliseconds.
const FIRST_EPOCH_MS: u64 = 100_000_000_000;
/// And from here on it is nothing.
const END_OF_EPOCH_MS: u64 = 100_000_000_000_000;

impl Clock {
    /// The wait that a value means, in milliseconds and above zero: a number of seconds, a point of
    /// time since 1970, `1m30s`, or a date.
    pub(super) fn until(self, value: &str) -> Option<u64> {
        let value = value.trim_ascii();
        if let Some(number) = Decimal::whole(value) {
            return match number.in_unit(SECOND)?.div_ceil(1000) {
                0..FIRST_EPOCH_S => number.in_unit(SECOND),
                FIRST_EPOCH_S..FIRST_EPOCH_MS => self.until_ms(number.in_unit(SECOND)?),
                FIRST_EPOCH_MS..END_OF_EPOCH_MS => self.until_ms(number.in_unit(MILLI)?),
                _ => None,
            };
        }
        match whole_span(value) {
            Some(ms) => above_zero(ms),
            None => self.until_ms(date::whole(value, self)?),
        }
    }

    /// A number of milliseconds.
    pub(super) fn millis(self, value: &str) -> Option<u64> {
        let ms = Decimal::whole(value.trim_ascii())?.in_unit(MILLI)?;
        (ms < FIRST_EPOCH_MS).then_some(ms)
    }

    /// From now to a time in milliseconds since 1970; nothing if it is past.
    pub(super) fn until_ms(self, at_ms: u64) -> Option<u64> {
        above_zero(at_ms.saturating_sub(self.now_ms))
    }
}

fn above_zero(ms: u64) -> Option<u64> {
    (ms > 0).then_some(ms)
}

/// Units in nanoseconds.
const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLI;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A decimal number that is not negative: `digits / 10^scale`. What is smaller than it can hold is
/// rounded up.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: u64,
    scale: u32,
}

/// More digits than any wait has.
const MAX_DIGITS: u32 = 18;

impl Decimal {
    /// A text that is a number and nothing else, which may have a sign and an exponent.
    fn whole(text: &str) -> Option<Decimal> {
        let (mut number, rest) = Decimal::leading(text.strip_prefix('+').unwrap_or(text))?;
        let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
            return rest.is_empty().then_some(number);
        };
        let is_small = exponent.starts_with('-');
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let (exponent, rest) = leading_digits(exponent)?;
        let exponent = u32::try_from(exponent).ok()?;
        if is_small {
            number.scale = number.scale.saturating_add(exponent);
        } else {
            let less = exponent.min(number.scale);
            number.scale -= less;
            number.digits = number
                .digits
                .checked_mul(10u64.checked_pow(exponent - less)?)?;
        }
        rest.is_empty().then_some(number)
    }

    /// The number that a text begins with, and what follows it. A full stop behind it is none of it.
    fn leading(text: &str) -> Option<(Decimal, &str)> {
        let mut number = Decimal {
            digits: 0,
            scale: 0,
        };
        let (mut length, mut count, mut point) = (0, 0, None);
        for byte in text.bytes() {
            match byte {
                b'0'..=b'9' if count < MAX_DIGITS => {
                    number.digits = number.digits * 10 + u64::from(byte - b'0');
                    number.scale += u32::from(point.is_some());
                    // Noughts in front do not count.
                    count += u32::from(number.digits > 0 || point.is_some());
                }
                b'0'..=b'9' if point.is_none() => return None,
                b'0'..=b'9' => {}
                b'.' if point.is_none() => point = Some(length),
                _ => break,
            }
            length += 1;
        }
        if point.is_some_and(|at| at + 1 == length) && text.len() > length {
            length -= 1;
        }
        let has_digit = length > usize::from(point.is_some_and(|at| at < length));
        Some((number, text.get(length..)?)).filter(|_| has_digit)
    }

    /// So many units of this many nanoseconds, in whole milliseconds, rounded up; nothing for zero.
    fn in_unit(self, nanos: u64) -> Option<u64> {
        above_zero(
            self.nanos_times(nanos)
                .div_ceil(u128::from(MILLI))
                .try_into()
                .ok()?,
        )
    }

    fn nanos_times(self, unit: u64) -> u128 {
        let nanos = u128::from(self.digits) * u128::from(unit);
        match 10u128.checked_pow(self.scale) {
            Some(scale) => nanos.div_ceil(scale),
            None => u128::from(self.digits.min(1)),
        }
    }
}

/// A text that is a span and nothing else: `6m0s`, `1h2m3.5s`, `750µs`, `8 hours 24 minutes`.
fn whole_span(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let (ms, rest) = leading_span(&text)?;
    rest.trim_ascii().is_empty().then_some(ms)
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
    while let Some((number, tail)) = Decimal::leading(rest) {
        let Some((unit, tail)) = leading_unit(tail) else {
            break;
        };
        nanos = nanos.saturating_add(number.nanos_times(unit));
        end = Some(tail);
        let tail = tail.strip_prefix(',').unwrap_or(tail).trim_ascii_start();
        rest = tail.strip_prefix("and ").unwrap_or(tail);
    }
    let ms = nanos.div_ceil(u128::from(MILLI));
    Some((u64::try_from(ms).unwrap_or(u64::MAX), end?))
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

/// A unit in nanoseconds, and what follows it.
fn leading_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.strip_prefix('-').unwrap_or(text).trim_ascii_start();
    // The longest that fits stands first.
    let (unit, nanos) = UNITS.iter().find(|(unit, _)| text.starts_with(unit))?;
    let mut rest = text.get(unit.len()..)?;
    if unit.len() > 2 && unit.is_ascii() {
        rest = rest.strip_prefix('s').unwrap_or(rest);
    }
    let is_end = !rest.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    (is_end || !unit.is_ascii()).then_some((*nanos, rest))
}

/// A plural ends in an s.
const UNITS: &[(&str, u64)] = &[
    ("millisecond", MILLI),
    ("milli", MILLI),
    ("msec", MILLI),
    ("ms", MILLI),
    ("microsecond", 1000),
    ("minute", MINUTE),
    ("min", MINUTE),
    ("month", 30 * DAY),
    ("nanosecond", 1),
    ("ns", 1),
    ("us", 1000),
    ("µs", 1000),
    ("μs", 1000),
    ("second", SECOND),
    ("sec", SECOND),
    ("hour", HOUR),
    ("hrs", HOUR),
    ("hr", HOUR),
    ("day", DAY),
    ("week", 7 * DAY),
    ("s", SECOND),
    ("m", MINUTE),
    ("h", HOUR),
    ("d", DAY),
    ("w", 7 * DAY),
    ("毫秒", MILLI),
    ("秒", SECOND),
    ("分钟", MINUTE),
    ("分", MINUTE),
    ("小时", HOUR),
    ("天", DAY),
];

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const CLOCK: Clock = Clock {
        now_ms: 1_790_000_000_000,
        zone_hours: 0,
    };

    #[test]
    fn values_in_every_form() {
        for (value, ms) in [
            ("1", 1000),
            (" 2\t", 2000),
            ("+3", 3000),
            ("007", 7000),
            ("0.5", 500),
            (".5", 500),
            ("5.", 5000),
            ("18.642", 18_642),
            ("54.887755558", 54_888),
            ("0.0001", 1),
            ("1e-30", 1),
            ("1e3", 1_000_000),
            ("2.5E1", 25_000),
            ("604800", 604_800_000),
            ("1790000090", 90_000),
            ("1790000090.25", 90_250),
            ("1790000090000", 90_000),
            ("1s", 1000),
            ("6m0s", 360_000),
            ("119ms", 119),
            ("750µs", 1),
            ("1h2m3.5s", 3_723_500),
            ("479.417207ms", 480),
            ("01:12:30", 4_350_000),
            ("8 hours 24 minutes", 30_240_000),
            ("1 minute and 5 seconds", 65_000),
            ("2 days, 1 hour", 176_400_000),
            ("20秒", 20_000),
            ("Mon, 21 Sep 2026 14:13:25 GMT", 5000),
            ("Monday, 21-Sep-26 14:13:25 GMT", 5000),
            ("Mon Sep 21 14:13:25 2026", 5000),
            ("2026-09-21T14:13:25Z", 5000),
            ("2026-09-21T14:13:20.5Z", 500),
            ("2026-09-21T22:13:25+08:00", 5000),
        ] {
            assert_eq!(CLOCK.until(value), Some(ms), "{value}");
        }
    }

    #[test]
    fn what_is_no_wait() {
        for value in [
            "",
            " ",
            "0",
            "0.0",
            "-0",
            "-1",
            "-0.5",
            "NaN",
            "-nan",
            "inf",
            "-inf",
            "infinity",
            "1e309",
            "-1e309",
            "soon",
            "0s",
            "5 apples",
            "1 2",
            "0x10",
            "1_000",
            "٣",
            "1e",
            "e3",
            ".",
            "99999999999999999999999",
            "1e15",
            "1789999999",
            "1789999999000",
            "Mon, 21 Sep 2026 14:13:20 GMT",
            "Fri, 29 Sep 100000 16:26:27 GMT",
            "Fri, 32 Dec 2026 00:00:00 GMT",
            "2026-09-21T14:13:19Z",
            "2026-13-01T00:00:00Z",
        ] {
            assert_eq!(CLOCK.until(value), None, "{value}");
        }
    }

    #[test]
    fn milliseconds() {
        for (value, ms) in [
            ("640", Some(640)),
            ("250.4", Some(251)),
            ("0", None),
            ("-5", None),
            ("abc", None),
            ("1e20", None),
        ] {
            assert_eq!(CLOCK.millis(value), ms, "{value}");
        }
    }
}
