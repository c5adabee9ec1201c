//! How long a call will wait: for certain by the pace, and probably by the slots.

use std::time::Duration;

use super::record::Record;
use crate::core::time::Time;

/// When pause and pace let a call start with `ahead` uncovered waiters in front of it. It cannot be
/// earlier, unless some of them leave.
pub(super) fn certain_start(record: &Record, now: Time, ahead: u64) -> Time {
    let from = record.sight().lasting(now).map_or(now, |pause| pause.until);
    record.permit_at(from, ahead)
}

/// The wait to expect of a call with `ahead` uncovered waiters in front of it: until pause and pace
/// allow it, or until enough slots have come free by the median of what calls keep them for, whichever
/// is longer. `None` while nothing is known.
pub fn expected_wait(record: &Record, now: Time, ahead: u64) -> Option<Duration> {
    let is_paced = !record.setting.pace.is_unbound()
        || record.learned.is_some()
        || record.sight().lasting(now).is_some();
    let by_pace = is_paced.then(|| certain_start(record, now, ahead).since(now));
    let limit = record.limit();
    let releases = (record.in_flight() + ahead + 1).saturating_sub(limit);
    let by_slots = match releases {
        0 => Some(Duration::ZERO),
        _ => record.holding.median().map(|median| {
            let nanos = median.as_nanos() * u128::from(releases) / u128::from(limit.max(1));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        }),
    };
    match (by_pace, by_slots) {
        (Some(pace), Some(slots)) => Some(pace.max(slots)),
        // A cap whose releases nobody has seen yet: the pace alone would promise too much.
        (Some(_), None) | (None, None) => None,
        (None, Some(slots)) => Some(slots),
    }
}
