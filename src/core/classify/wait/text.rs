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
