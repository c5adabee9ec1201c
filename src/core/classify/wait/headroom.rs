//! What a provider says on a success of the calls that are left.
//!
//! Limits on requests only: how many calls fit into the tokens that are left, nobody knows before
//! they are made.

use std::time::Duration;

use super::span::Clock;

type Headers = [(Vec<u8>, Vec<u8>)];

/// The calls that a limit has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// How many.
    pub remaining: u32,
    /// Of how many; 0 if that is not said.
    pub limit: u32,
    /// Until the limit is as it was at first; above zero.
    pub reset: Duration,
}

/// The endings of names that say how many requests remain.
const REMAINING: [&[u8]; 3] = [
    b"-remaining-requests",
    b"-requests-remaining",
    b"limit-remaining",
];

/// What the headers of an answer say; of several limits, the one that lasts for the fewest calls in its
/// time. `now_ms` gives the time of day in milliseconds since 1970; asked only if they say anything.
pub fn headroom(headers: &Headers, now_ms: impl FnOnce() -> u64) -> Option<Headroom> {
    let says =
        |name: &[u8]| name == b"ratelimit" || REMAINING.iter().any(|end| name.ends_with(end));
    if !headers.iter().any(|(name, _)| says(name)) {
        return None;
    }
    let clock = Clock {
        now_ms: now_ms(),
        zone_hours: 0,
    };
    let told = headers.iter().filter_map(|(name, value)| {
        if name == b"ratelimit" {
            return standard(value, clock);
        }
        REMAINING.iter().find(|end| name.ends_with(end))?;
        beside(headers, name, value, clock)
    });
    told.max_by_key(|told| told.reset / told.remaining.saturating_add(1))
}

/// One header each: the names of limit and reset differ in one word.
fn beside(headers: &Headers, name: &[u8], value: &[u8], clock: Clock) -> Option<Headroom> {
    let (before, after) = std::str::from_utf8(name).ok()?.split_once("remaining")?;
    let of = |word: &str| {
        let name = [before, word, after].concat();
        let found = headers.iter().find(|(n, _)| n == name.as_bytes());
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    };
    told(
        std::str::from_utf8(value).ok()?,
        of("limit"),
        of("reset")?,
        clock,
    )
}

/// `"default";r=50;t=30`, or as it was drafted first: `limit=100, remaining=50, reset=30`.
pub(super) fn standard(value: &[u8], clock: Clock) -> Option<Headroom> {
    let value = std::str::from_utf8(value).ok()?;
    let field = |names: [&str; 2]| {
        value.split([',', ';']).find_map(|part| {
            let (name, value) = part.split_once('=')?;
            names.contains(&name.trim()).then_some(value.trim())
        })
    };
    let remaining = field(["r", "remaining"])?;
    told(
        remaining,
        field(["q", "limit"]),
        field(["t", "reset"])?,
        clock,
    )
}

fn told(remaining: &str, limit: Option<&str>, reset: &str, clock: Clock) -> Option<Headroom> {
    // `10, 10;w=60` is the policy behind the limit.
    let number = |text: &str| {
        let whole: u64 = text.split([',', ';']).next()?.trim().parse().ok()?;
        u32::try_from(whole).ok()
    };
    Some(Headroom {
        remaining: number(remaining)?,
        limit: limit.and_then(number).unwrap_or(0),
        reset: Duration::from_millis(clock.until(reset)?),
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const NOW_MS: u64 = 1_790_000_000_000;

    fn said(list: &[(&str, &str)]) -> Option<(u32, u32, u128)> {
        let list: Vec<_> = list
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let told = headroom(&list, || NOW_MS)?;
        Some((told.remaining, told.limit, told.reset.as_millis()))
    }

    fn openai(remaining: &str, reset: &str) -> Option<(u32, u32, u128)> {
        said(&[
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", remaining),
            ("x-ratelimit-reset-requests", reset),
        ])
    }

    #[test]
    fn durations_as_openai_writes_them() {
        assert_eq!(openai("499", "6m0s"), Some((499, 500, 360_000)));
        assert_eq!(openai("7", "1s"), Some((7, 500, 1000)));
        assert_eq!(openai("0", "17ms"), Some((0, 500, 17)));
        assert_eq!(openai("many", "17ms"), None);
        assert_eq!(openai("1", "soon"), None);
        // The limit is as it was at first already.
        assert_eq!(openai("1", "0s"), None);
    }

    #[test]
    fn dates_and_times_since_1970() {
        let anthropic = [
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-requests-reset", "2026-09-21T14:13:50Z"),
        ];
        assert_eq!(said(&anthropic), Some((3, 50, 30_000)));
        for reset in ["1790000030", "1790000030000", "30"] {
            let github = [
                ("x-ratelimit-limit", "60"),
                ("x-ratelimit-remaining", "5"),
                ("x-ratelimit-reset", reset),
            ];
            assert_eq!(said(&github), Some((5, 60, 30_000)), "{reset}");
        }
    }

    #[test]
    fn the_standard_header_and_the_drafts_before_it() {
        let one = |value| said(&[("ratelimit", value)]);
        assert_eq!(one(r#""default";r=50;t=30"#), Some((50, 0, 30_000)));
        let first = one("limit=100, remaining=5, reset=9");
        assert_eq!(first, Some((5, 100, 9000)));
        let draft = [
            ("ratelimit-limit", "10, 10;w=60"),
            ("ratelimit-remaining", "4"),
            ("ratelimit-reset", "2"),
        ];
        assert_eq!(said(&draft), Some((4, 10, 2000)));
    }

    #[test]
    fn the_scarcest_limit_counts_and_tokens_do_not() {
        let tokens = [
            ("x-ratelimit-limit-tokens", "1000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "60s"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-09-21T14:13:50Z"),
        ];
        assert_eq!(said(&tokens), None);
        let two = [
            ("ratelimit", r#""second";r=5;t=1"#),
            ("x-ratelimit-remaining", "40"),
            ("x-ratelimit-reset", "60"),
        ];
        assert_eq!(said(&two), Some((40, 0, 60_000)));
        assert_eq!(said(&[("x-ratelimit-remaining", "4")]), None);
    }
}
