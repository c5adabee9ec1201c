//! How long a provider asks to wait, from its headers.

use std::time::Duration;

use super::Answer;
use crate::core::time::millis_up;

/// The provider's minimum wait, rounded up to whole milliseconds and not capped.
///
/// `retry-after-ms` first, being exact; else `retry-after` in seconds. Of several values of one
/// header the longest counts.
pub(super) fn server_minimum(answer: &Answer<'_>) -> Option<Duration> {
    longest(answer, "retry-after-ms", 1e-3).or_else(|| longest(answer, "retry-after", 1.0))
}

fn longest(answer: &Answer<'_>, name: &str, unit_seconds: f64) -> Option<Duration> {
    answer
        .header(name)
        .filter_map(|value| parse(value, unit_seconds))
        .max()
}

/// A decimal number of units, as a span in whole milliseconds.
///
/// `None` for what is no such number or not above zero: an immediate retry is never a wait, and a
/// date is not a number. A finite number too long for a `Duration` saturates.
fn parse(value: &[u8], unit_seconds: f64) -> Option<Duration> {
    let number: f64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    if !number.is_finite() || number <= 0.0 {
        return None;
    }
    // Through whole nanoseconds: 18.642 s must not become 18643 ms by a rounding error.
    let span = Duration::try_from_secs_f64(number * unit_seconds).unwrap_or(Duration::MAX);
    Some(Duration::from_millis(millis_up(span).max(1)))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Milliseconds of a value in seconds.
    fn seconds(value: &str) -> Option<u64> {
        parse(value.as_bytes(), 1.0).map(millis_up)
    }

    #[test]
    fn numbers_of_seconds() {
        for (value, millis) in [
            ("1", 1000),
            ("37", 37_000),
            (" 2\t", 2000),
            ("+3", 3000),
            ("007", 7000),
            ("0.5", 500),
            (".5", 500),
            ("5.", 5000),
            ("18.642", 18_642),
            ("0.1", 100),
            ("54.887755558", 54_888),
            ("0.0001", 1),
            ("1e-30", 1),
            ("1e3", 1_000_000),
            ("86400", 86_400_000),
            ("604800", 604_800_000),
            ("18446744073709551616", u64::MAX),
            ("99999999999999999999999", u64::MAX),
            ("1e308", u64::MAX),
        ] {
            assert_eq!(seconds(value), Some(millis), "{value}");
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
            "5s",
            "5,30",
            "1 2",
            "0x10",
            "1_000",
            "٣",
            "1e",
            "e3",
            ".",
            "Wed, 21 Oct 2026 07:28:00 GMT",
            "Wed Oct 21 07:28:00 2026",
            "2026-10-21T07:28:00Z",
        ] {
            assert_eq!(seconds(value), None, "{value}");
        }
        assert_eq!(parse(b"\xFF\xFE1", 1.0), None);
    }

    #[test]
    fn milliseconds_first_when_valid_and_the_longest_of_several() {
        for (headers, millis) in [
            (
                vec![("retry-after", "1"), ("retry-after-ms", "640")],
                Some(640),
            ),
            (vec![("retry-after-ms", "250.4")], Some(251)),
            (
                vec![("retry-after-ms", "0"), ("retry-after", "4")],
                Some(4000),
            ),
            (
                vec![("retry-after-ms", "abc"), ("retry-after", "4")],
                Some(4000),
            ),
            (
                vec![("retry-after", "5"), ("retry-after", "30")],
                Some(30_000),
            ),
            (
                vec![("retry-after", "soon"), ("retry-after", "3")],
                Some(3000),
            ),
            (vec![("x-retry-after", "5")], None),
        ] {
            let headers: Vec<(Vec<u8>, Vec<u8>)> = headers
                .into_iter()
                .map(|(n, v)| (n.into(), v.into()))
                .collect();
            let answer = Answer {
                headers: &headers,
                ..Answer::of_status(429)
            };
            assert_eq!(
                server_minimum(&answer).map(millis_up),
                millis,
                "{headers:?}"
            );
        }
    }
}
