//! Waits in messages: "try again in 6m0s", "reset at 2026-09-19 23:17:45".

use super::date;
use super::span::{Clock, leading_digits, leading_span};
use crate::core::classify::words::words_back;

/// Words close before a span or a date that make it a wait.
const ANCHORS: &str = "retry retries retrying again wait reset resets resetting available replenish \
    replenished refill refills refresh refreshes renew renews regain resume resumes until recover \
    recovers restored unlock back expires allowed try";

/// Words between such a word and the span.
const BETWEEN: &str = "in after for at on about approximately around least another the before be will \
    is to access request requests your a this within please next time limit limits quota window up by \
    roughly approx ca of";

/// The same in Chinese, before or behind.
const CHINESE: &[&str] = &["后", "後", "重置", "恢复", "刷新", "等待", "重试"];

/// How far behind a date or span the Chinese words are looked for, in bytes.
const BEHIND: usize = 24;

/// How many words before a span are looked at.
const WORDS_BEFORE: usize = 7;

/// The longest wait that a message asks for, in milliseconds.
pub(super) fn longest(message: &str, clock: Clock) -> Option<u64> {
    let text = message.to_ascii_lowercase();
    let mut found = None;
    let mut at = 0;
    while let Some(length) = text.bytes().skip(at).position(|b| b.is_ascii_digit()) {
        at += length;
        let (before, here) = text.split_at(at);
        let read = read(before, here, clock);
        found = found.max(read.and_then(|(ms, _)| ms));
        let rest = match read {
            Some((_, rest)) => rest,
            None => {
                let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'.';
                here.get(here.bytes().take_while(|b| is_word(*b)).count()..)
                    .unwrap_or_default()
            }
        };
        at = text.len() - rest.len();
    }
    found
}

/// What begins here: the wait, if it is one, and what follows it.
fn read<'t>(before: &str, here: &'t str, clock: Clock) -> Option<(Option<u64>, &'t str)> {
    // Inside a word or a number.
    let last = before.bytes().next_back();
    if last.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) {
        return None;
    }
    if is_negative(before) {
        return None;
    }
    if let Some((date, rest)) = date::leading(here, clock) {
        let is_wait = is_anchored(before) || is_followed(rest);
        return Some((clock.until_ms(date).filter(|_| is_wait), rest));
    }
    if let Some((span, rest)) = leading_span(here) {
        let is_wait = is_anchored(before) || is_followed(rest);
        return Some((Some(span).filter(|ms| is_wait && *ms > 0), rest));
    }
    let (seconds, rest) = leading_digits(here)?;
    // "retry after 5" and no more.
    let is_bare = rest
        .strip_prefix('.')
        .unwrap_or(rest)
        .trim_ascii()
        .is_empty();
    let is_wait = is_bare && is_anchored(before);
    let ms = is_wait.then(|| clock.until(&seconds.to_string())).flatten();
    Some((ms, rest))
}

/// "after -3s".
fn is_negative(before: &str) -> bool {
    matches!(before.as_bytes(), [.., b' ' | b':' | b'=', b'-'])
}

/// Whether the words before lead to a wait.
fn is_anchored(before: &str) -> bool {
    let before = before.trim_ascii_end();
    if CHINESE.iter().any(|word| before.ends_with(word)) {
        return true;
    }
    for word in words_back(before).take(WORDS_BEFORE) {
        if ANCHORS.split(' ').any(|anchor| anchor == word) {
            return true;
        }
        if !BETWEEN.split(' ').any(|between| between == word) {
            return false;
        }
    }
    false
}

/// Whether what follows says so, in Chinese.
fn is_followed(rest: &str) -> bool {
    let end = (0..=BEHIND.min(rest.len()))
        .rev()
        .find(|at| rest.is_char_boundary(*at));
    let near = rest.get(..end.unwrap_or(0)).unwrap_or_default();
    // A sentence ends before what is said of another number.
    let near = ["，", "。", ",", "."]
        .iter()
        .fold(near, |near, end| near.split(end).next().unwrap_or_default());
    CHINESE.iter().any(|word| near.contains(word))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn wait(message: &str) -> Option<u64> {
        let clock = Clock {
            now_ms: 1_790_000_000_000,
            zone_hours: 8,
        };
        longest(message, clock)
    }

    #[test]
    fn waits_in_words() {
        for (message, ms) in [
            ("Please try again in 6m0s.", 360_000),
            ("Please try again in 1.2s. Visit https://x/1h", 1200),
            ("Try again in 900ms", 900),
            ("try again in 58 hours", 208_800_000),
            ("Please retry after 86400 seconds.", 86_400_000),
            (
                "Please wait 8 hours 24 minutes before retrying.",
                30_240_000,
            ),
            ("Your rate limit resets in ~5s.", 5000),
            ("Quota will be replenished in 01:12:30.", 4_350_000),
            ("Your quota will reset after 19h14m47s.", 69_287_000),
            ("Expected available in 12 seconds.", 12_000),
            ("Retry-After: 30", 30_000),
            ("limit 5 per 60s, wait 29 seconds", 29_000),
            ("Please retry in 5s or in 2m", 5000),
            ("It will reset at 2026-09-21 22:14:20 +0800 CST.", 60_000),
            ("Your limit will reset at 2026-09-21 22:14:20", 60_000),
            ("您的限额将在 2026-09-21 22:14:20 重置。", 60_000),
            ("请在20秒后重试", 20_000),
            ("请等待 3 分钟", 180_000),
            (
                "You will regain access on 2026-09-22 at 00:00 UTC.",
                35_200_000,
            ),
        ] {
            assert_eq!(wait(message), Some(ms), "{message}");
        }
    }

    #[test]
    fn numbers_that_are_no_waits() {
        for message in [
            "",
            "Limit 30000, Used 73124, Requested 1877",
            "Rate limit of 10 per 60s exceeded",
            "5-hour window (0/0 used)",
            "Your quota will reset after 0s.",
            "retry after -3s",
            "reset at 2026-09-20 10:00:00",
            "created 2027-01-01T00:00:00Z",
            "request id: 0217429413429503",
            "try again in gpt4s",
        ] {
            assert_eq!(wait(message), None, "{message}");
        }
    }
}
