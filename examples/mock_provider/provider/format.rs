//! Times as providers write them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wall clock: providers send dates.
pub(super) fn unix_now() -> Duration {
    #[allow(clippy::disallowed_methods, reason = "a date for the outside world")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// As Go prints a duration, rounded up to milliseconds: `119ms`, `1.5s`, `6m0s`.
pub(super) fn go_duration(time: Duration) -> String {
    let ms = time.as_micros().div_ceil(1000);
    if ms < 1000 {
        return format!("{ms}ms");
    }
    let (minutes, seconds) = (ms / 60_000, (ms % 60_000) as f64 / 1000.0);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, m) => format!("{m}m{seconds}s"),
        (h, m) => format!("{h}h{m}m{seconds}s"),
    }
}

/// A time since 1970 as RFC 3339 in UTC, whole seconds rounded up. The date is Howard Hinnant's
/// `civil_from_days`, for years from 1970 on.
pub(super) fn rfc3339(unix: Duration) -> String {
    let seconds = unix.as_secs() + u64::from(unix.subsec_nanos() > 0);
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_go_prints_them() {
        for (ms, text) in [
            (119, "119ms"),
            (1000, "1s"),
            (14_981, "14.981s"),
            (360_000, "6m0s"),
            (3_723_500, "1h2m3.5s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn dates_over_leap_days_and_new_year() {
        for (unix, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_774_958_400, "2026-03-31T12:00:00Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(unix)), text);
        }
    }
}
