//! Waits in headers.

use super::Wait;
use super::headroom::standard;
use super::span::Clock;
use crate::core::classify::Evidence;
use crate::core::time::millis_up;

type Headers = [(Vec<u8>, Vec<u8>)];

/// In the order in which they count. The first two are exact.
const RETRY_AFTER: &[(&str, bool)] = &[
    ("retry-after-ms", true),
    ("x-ms-retry-after-ms", true),
    ("retry-after", false),
];

/// What a header that the user named says.
pub(super) fn named(headers: &Headers, name: &str, clock: Clock) -> Option<Wait> {
    let is_millis = name.ends_with("-ms");
    let ms = longest(headers, name, is_millis, clock)?;
    Some(Wait {
        ms,
        evidence: Evidence::word("header", "wait_header"),
        is_asked: true,
    })
}

/// What `retry-after` and its exact forms say.
pub(super) fn retry_after(headers: &Headers, clock: Clock) -> Option<Wait> {
    RETRY_AFTER.iter().find_map(|(name, is_millis)| {
        let ms = longest(headers, name, *is_millis, clock)?;
        Some(Wait {
            ms,
            evidence: Evidence::word("header", name),
            is_asked: true,
        })
    })
}

fn longest(headers: &Headers, name: &str, is_millis: bool, clock: Clock) -> Option<u64> {
    let values = headers
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()))
        .filter_map(|(_, value)| std::str::from_utf8(value).ok());
    let spans = values.filter_map(|value| match is_millis {
        true => joined(value, &|part| clock.millis(part)),
        false => joined(value, &|part| clock.until(part)),
    });
    spans.max()
}

/// The longest of several values in one, which a comma separates; a date has a comma too.
fn joined(value: &str, read: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
    if let Some(ms) = read(value) {
        return Some(ms);
    }
    let mut found = None;
    let mut rest = value;
    while let Some((part, tail)) = rest.split_once(',') {
        found = found.max(read(part));
        // The part before this comma may be the weekday of a date.
        let end = tail.find(',').unwrap_or(tail.len());
        found = found.max(rest.get(..part.len() + 1 + end).and_then(read));
        rest = tail;
    }
    found.max(read(rest))
}

/// When the limits that are used up reset.
pub(super) fn exhausted(headers: &Headers, clock: Clock) -> Option<Wait> {
    let resets = headers.iter().filter_map(|(name, value)| {
        let name = std::str::from_utf8(name).ok()?;
        if name.eq_ignore_ascii_case("ratelimit") {
            let told = standard(value, clock)?;
            return (told.remaining == 0).then(|| millis_up(told.reset));
        }
        let at = name.find("reset")?;
        let is_limit = name.contains("limit") || name.contains("quota");
        let is_over = is_limit && is_used_up(headers, name, at);
        is_over
            .then(|| clock.until(std::str::from_utf8(value).ok()?))
            .flatten()
    });
    resets.max().map(|ms| Wait {
        ms,
        evidence: Evidence::word("header", "reset of a limit used up"),
        is_asked: false,
    })
}

/// Whether the header beside a reset says that nothing remains.
fn is_used_up(headers: &Headers, reset: &str, at: usize) -> bool {
    let (before, after) = reset.split_at(at);
    let after = after.get("reset".len()..).unwrap_or_default();
    let beside = |word: &str| {
        // Some say how long in `reset-after`.
        let after = after.strip_suffix("-after").unwrap_or(after);
        let name = [before, word, after].concat();
        let found = headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| value.trim_ascii().to_vec())
    };
    // 0, 0.0, -1.
    let is_zero = |value: Vec<u8>| {
        let has_nothing = value.iter().all(|b| matches!(b, b'0' | b'.'));
        value.starts_with(b"-") || (has_nothing && !value.is_empty())
    };
    match beside("remaining") {
        Some(value) => is_zero(value),
        // Anthropic's subscriptions have a status in its place.
        None => beside("status").is_some_and(|status| status == b"rejected"),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const CLOCK: Clock = Clock {
        now_ms: 1_790_000_000_000,
        zone_hours: 0,
    };

    fn headers(list: &[(&str, &str)]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let list = list.iter();
        list.map(|(n, v)| ((*n).into(), (*v).into())).collect()
    }

    #[test]
    fn exact_first_if_valid_and_the_longest_of_several() {
        for (list, ms) in [
            (
                &[("retry-after", "1"), ("retry-after-ms", "640")][..],
                Some(640),
            ),
            (
                &[("retry-after", "1"), ("x-ms-retry-after-ms", "70")],
                Some(70),
            ),
            (&[("retry-after-ms", "0"), ("retry-after", "4")], Some(4000)),
            (
                &[("retry-after-ms", "abc"), ("retry-after", "4")],
                Some(4000),
            ),
            (&[("retry-after", "5"), ("retry-after", "30")], Some(30_000)),
            (&[("retry-after", "5,30")], Some(30_000)),
            (
                &[("retry-after", "5, Mon, 21 Sep 2026 14:13:30 GMT, 2")],
                Some(10_000),
            ),
            (&[("retry-after", "soon"), ("retry-after", "3")], Some(3000)),
            (&[("x-retry-after", "5")], None),
        ] {
            let found = retry_after(&headers(list), CLOCK);
            assert_eq!(found.map(|wait| wait.ms), ms, "{list:?}");
        }
    }

    #[test]
    fn only_a_limit_that_is_used_up_counts() {
        for (list, ms) in [
            (&[("x-ratelimit-reset", "5")][..], None),
            (
                &[("x-ratelimit-reset", "5"), ("x-ratelimit-remaining", "1")],
                None,
            ),
            (
                &[("x-ratelimit-reset", "5"), ("x-ratelimit-remaining", "0")],
                Some(5000),
            ),
            (
                &[
                    ("x-ratelimit-reset", "1790000045000"),
                    ("x-ratelimit-remaining", "0"),
                ],
                Some(45_000),
            ),
            (
                &[
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-requests", "9h"),
                    ("x-ratelimit-remaining-requests", "7"),
                ],
                Some(360_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2026-09-21T14:13:50Z"),
                ],
                Some(30_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-unified-5h-status", "rejected"),
                    ("anthropic-ratelimit-unified-5h-reset", "1790003600"),
                ],
                Some(3_600_000),
            ),
            (&[("ratelimit", "\"default\";r=0;t=9")], Some(9000)),
            (
                &[("ratelimit", "limit=10, remaining=0, reset=9")],
                Some(9000),
            ),
            (&[("ratelimit", "limit=10, remaining=2, reset=9")], None),
        ] {
            let found = exhausted(&headers(list), CLOCK);
            assert_eq!(found.map(|wait| wait.ms), ms, "{list:?}");
        }
    }
}
