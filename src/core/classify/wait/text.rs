//! Waits in messages: "try again in 6m0s", "reset at 2026-09-19 23:17:45".

use super::date;
use super::span::{Clock, leading_digits, leading_span};

/// Words close before a span or a date that make it a wait.
const ANCHORS: &[&str] = &[
    "retry",
    "retries",
    "retrying",
    "again",
    "wait",
    "reset",
    "resets",
    "resetting",
    "available",
    "replenish",
    "replenished",
    "refill",
    "refresh",
    "refreshes",
    "renew",
    "renews",
    "regain",
    "resume",
    "until",
    "recover",
    "recovers",
    "restored",
    "unlock",
    "back",
    "expires",
];

/// Words between such a word and the span.
const BETWEEN: &[&str] = &[
    "in",
    "after",
    "for",
    "at",
    "on",
    "about",
    "approximately",
    "around",
    "least",
    "another",
    "the",
    "before",
    "be",
    "will",
    "is",
    "to",
    "access",
    "request",
    "requests",
    "your",
    "a",
    "this",
    "within",
    "please",
    "next",
    "time",
    "limit",
    "limits",
    "quota",
    "window",
    "up",
    "by",
    "roughly",
    "approx",
    "ca",
    "of",
];

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
    while let Some(length) = text
        .get(at..)
        .and_then(|t| t.find(|c: char| c.is_ascii_digit()))
    {
        at += length;
        let (before, here) = text.split_at(at);
        let read = read(before, here, clock);
        found = found.max(read.and_then(|(ms, _)| ms));
        let rest = match read {
            Some((_, rest)) => rest,
            None => here.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.'),
        };
        at = text.len() - rest.len();
    }
    found
}

/// What begins here: the wait, if it is one, and what follows it.
fn read<'t>(before: &str, here: &'t str, clock: Clock) -> Option<(Option<u64>, &'t str)> {
    // Inside a word or a number.
    let last = before.chars().next_back();
    if last.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
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
    let is_bare = rest.trim_start_matches('.').trim_start().is_empty();
    let is_wait = is_bare && is_anchored(before);
    let ms = is_wait.then(|| clock.until(&seconds.to_string())).flatten();
    Some((ms, rest))
}

/// "after -3s".
fn is_negative(before: &str) -> bool {
    let before = before.strip_suffix('-');
    before.is_some_and(|before| before.ends_with([' ', ':', '=']))
}

/// Whether the words before lead to a wait.
fn is_anchored(before: &str) -> bool {
    if CHINESE.iter().any(|word| before.trim_end().ends_with(word)) {
        return true;
    }
    let words = before
        .rsplit(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    for (count, word) in words.enumerate() {
        if ANCHORS.contains(&word) {
            return true;
        }
        if count >= WORDS_BEFORE || !BETWEEN.contains(&word) {
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
    let near = rest
        .get(..end.unwrap_or(0))
        .unwrap_or_default()
        .trim_start();
    // A sentence ends before what is said of another number.
    let near = near
        .split(['，', '。', ',', '.'])
        .next()
        .unwrap_or_default();
    CHINESE.iter().any(|word| near.contains(word))
}
