//! How long a provider asks to wait.
//!
//! What the headers say and what the body says are both true; the longer one counts, rounded up.
//! Resets of a limit count only if neither says anything, and only of a limit that is used up: they
//! stand on successes too, and tell when the limit is full again rather than when it admits one call.

mod date;
mod header;
mod headroom;
mod span;
mod text;

use super::Evidence;
use super::facts::{Facts, Unit};
pub use headroom::{Headroom, headroom};
use span::Clock;

/// A wait and what said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Above zero.
    pub(super) ms: u64,
    pub(super) evidence: Evidence,
    /// It was asked for in so many words, and is not the reset of a limit.
    pub(super) is_asked: bool,
}

/// The provider's minimum wait.
///
/// `zone_hours` is the zone of times that name none, `first` a header to look at before all others.
pub(super) fn server_minimum(
    headers: &[(Vec<u8>, Vec<u8>)],
    facts: &Facts,
    now_ms: u64,
    zone_hours: i8,
    first: Option<&str>,
) -> Option<Wait> {
    let clock = Clock { now_ms, zone_hours };
    if let Some(wait) = first.and_then(|name| header::named(headers, name, clock)) {
        return Some(wait);
    }
    let asked = [
        header::retry_after(headers, clock),
        header::retry_after(&facts.headers, clock),
        in_fields(facts, clock),
        in_text(facts, clock),
    ];
    let asked = asked.into_iter().flatten().max_by_key(|wait| wait.ms);
    asked
        .or_else(|| header::exhausted(headers, clock))
        .or_else(|| header::exhausted(&facts.headers, clock))
}

fn in_fields(facts: &Facts, clock: Clock) -> Option<Wait> {
    let waits = facts.hints.iter().filter_map(|hint| match hint.unit {
        Unit::Seconds => clock.until(&hint.text),
        Unit::Millis => clock.millis(&hint.text),
    });
    waits.max().map(|ms| Wait {
        ms,
        evidence: Evidence::word("body:field", "reset or delay"),
        is_asked: true,
    })
}

fn in_text(facts: &Facts, clock: Clock) -> Option<Wait> {
    let waits = facts.messages.iter();
    let waits = waits.filter_map(|message| text::longest(&message.text, clock));
    waits.max().map(|ms| Wait {
        ms,
        evidence: Evidence::word("body:message", "try again in"),
        is_asked: true,
    })
}
