//! Dates, in milliseconds since 1970 UTC.

use super::span::{Clock, leading_digits};

const DAY_MS: i64 = 86_400_000;

/// A text that is a date and nothing else.
pub(super) fn whole(text: &str, clock: Clock) -> Option<u64> {
    match leading(text, clock) {
        Some((at, rest)) => rest.trim_ascii().is_empty().then_some(at),
        None => http(text),
    }
}

/// A date of HTTP in any of its three forms: `Wed, 21 Oct 2026 07:28:00 GMT`,
/// `Wednesday, 21-Oct-26 07:28:00 GMT`, `Wed Oct 21 07:28:00 2026`.
fn http(text: &str) -> Option<u64> {
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for word in text.split([' ', ',', '-']).filter(|word| !word.is_empty()) {
        if word.contains(':') {
            let (found, rest) = time_of_day(word)?;
            time = Some(found).filter(|_| rest.is_empty());
        } else if let Some((number, "")) = leading_digits(word) {
            match (word.len(), day) {
                (1 | 2, None) => day = Some(number),
                (2, _) => year = Some(2000 + number),
                (4, _) => year = Some(number),
                _ => return None,
            }
        } else if let Some(name) = word.get(..3) {
            let names = "janfebmaraprmayjunjulaugsepoctnovdec".as_bytes().chunks(3);
            let found = (1u64..)
                .zip(names)
                .find(|(_, n)| n.eq_ignore_ascii_case(name.as_bytes()));
            month = month.or(found.map(|(number, _)| number));
        }
    }
    let days = days_of(i64::try_from(year?).ok()?, month?, day?)?;
    u64::try_from(days.checked_mul(DAY_MS)?.checked_add(time?)?).ok()
}

/// The date that a text begins with, and what follows it: `2026-10-01T00:00:00Z`,
/// `2026-04-01 at 00:00 UTC`, `2026-08-28 22:38:22 +0800 CST`, `09-03 13:34:00 UTC`, `10:00 UTC`.
///
/// A time without a zone is in the clock's. One without a year or a day is the next such time. A date
/// without a time is its midnight.
pub(super) fn leading(text: &str, clock: Clock) -> Option<(u64, &str)> {
    let (first, rest) = leading_digits(text)?;
    let digits = text.len() - rest.len();
    let now = i64::try_from(clock.now_ms).ok()?;
    match (digits, rest.as_bytes().first()?) {
        (4, b'-' | b'/') => {
            let (month, day, rest) = month_and_day(rest)?;
            let days = days_of(i64::try_from(first).ok()?, month, day)?;
            let (time, zone, rest) = time_and_zone(rest, clock);
            let at = days
                .checked_mul(DAY_MS)?
                .checked_add(time)?
                .checked_sub(zone)?;
            Some((u64::try_from(at).ok()?, rest))
        }
        (2, b'-' | b'/') => {
            let (day, rest) = two_digits(rest.get(1..)?)?;
            let (time, rest) = time_of_day(rest)?;
            let (zone, rest) = zone_of(rest)?;
            // In the year in which it comes next, or just was.
            let this_year = year_of(now.checked_div(DAY_MS)?);
            let mut years = (this_year - 1..=this_year + 1)
                .filter_map(|year| days_of(year, first, day))
                .map(|days| days * DAY_MS + time - zone);
            let at = years.find(|at| *at > now - DAY_MS)?;
            Some((u64::try_from(at).ok()?, rest))
        }
        (1 | 2, b':') => {
            let (time, rest) = time_of_day(text)?;
            let (zone, rest) = zone_of(rest)?;
            let today = now.checked_div(DAY_MS)? * DAY_MS + time - zone;
            let at = (-1..=2)
                .map(|days| today + days * DAY_MS)
                .find(|at| *at > now)?;
            Some((u64::try_from(at).ok()?, rest))
        }
        _ => None,
    }
}

fn month_and_day(text: &str) -> Option<(u64, u64, &str)> {
    let (month, rest) = two_digits(text.get(1..)?)?;
    let (day, rest) = two_digits(rest.strip_prefix(['-', '/'])?)?;
    Some((month, day, rest))
}

/// A time of day and its zone in milliseconds, as far as they are there.
fn time_and_zone(text: &str, clock: Clock) -> (i64, i64, &str) {
    let default = i64::from(clock.zone_hours) * 3_600_000;
    let after = text.strip_prefix(['T', 't']).unwrap_or(text).trim_start();
    let after = after.strip_prefix("at ").unwrap_or(after);
    match time_of_day(after) {
        None => {
            let (zone, rest) = zone_of(text).unwrap_or((default, text));
            (0, zone, rest)
        }
        Some((time, rest)) => {
            let (zone, rest) = zone_of(rest).unwrap_or((default, rest));
            (time, zone, rest)
        }
    }
}

/// `00:00`, `22:38:22`, `22:38:22.5`.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = leading_digits(text.trim_start())?;
    let (minute, rest) = two_digits(rest.strip_prefix(':')?)?;
    let (second, mut rest) = match rest.strip_prefix(':').and_then(two_digits) {
        Some(found) => found,
        None => (0, rest),
    };
    let mut millis = 0;
    if let Some((_, tail)) = rest.strip_prefix('.').and_then(leading_digits) {
        let length = rest.len() - tail.len() - 1;
        let (number, _) = leading_digits(rest.get(1..=length.min(9))?)?;
        let scale = 10u64.checked_pow(u32::try_from(length.min(9)).ok()?)?;
        // Up, so that the wait is not cut short.
        millis = (number * 1000).div_ceil(scale);
        rest = tail;
    }
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let ms = ((hour * 60 + minute) * 60 + second) * 1000 + millis;
    Some((i64::try_from(ms).ok()?, rest))
}

/// A zone, in milliseconds ahead of UTC. A name behind an offset is decoration.
fn zone_of(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start();
    for name in ["utc", "gmt", "z"] {
        let head = text.get(..name.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(name)) {
            let rest = text.get(name.len()..)?;
            return zone_of(rest)
                .filter(|_| rest.starts_with(['+', '-']))
                .or(Some((0, rest)));
        }
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = two_digits(text.get(1..)?).or_else(|| leading_digits(text.get(1..)?))?;
    let after = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = two_digits(after).unwrap_or((0, rest));
    if hours > 14 || minutes > 59 {
        return None;
    }
    let minutes = i64::try_from(hours * 60 + minutes).ok()?;
    let rest = [" CST", " UTC", " GMT"]
        .iter()
        .find_map(|name| rest.strip_prefix(name))
        .unwrap_or(rest);
    Some((sign * minutes * 60_000, rest))
}

fn two_digits(text: &str) -> Option<(u64, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some((digits.parse().ok()?, rest))
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days_of(year: i64, month: u64, day: u64) -> Option<i64> {
    let (month, day) = (i64::try_from(month).ok()?, i64::try_from(day).ok()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
}

/// The year of a day since 1970.
fn year_of(days: i64) -> i64 {
    let guess = 1969 + days * 400 / 146_097;
    let next = |year: i64| days_of(year + 1, 1, 1).is_some_and(|first| first <= days);
    (guess..guess + 3)
        .find(|year| !next(*year))
        .unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Seconds from the clock's time, 2026-09-21 14:13:20 UTC.
    fn ahead(text: &str, zone_hours: i8) -> Option<i64> {
        let clock = Clock {
            now_ms: 1_790_000_000_000,
            zone_hours,
        };
        let at = i64::try_from(whole(text, clock)?).ok()?;
        Some((at - 1_790_000_000_000) / 1000)
    }

    #[test]
    fn dates_in_every_form() {
        for (text, zone, seconds) in [
            ("2026-09-21T14:14:20Z", 8, 60),
            ("2026-09-21 14:14:20", 0, 60),
            ("2026-09-21 22:14:20", 8, 60),
            ("2026-09-21 22:14:20 +0800 CST", 0, 60),
            ("2026-09-21 22:14:20+08:00", 0, 60),
            ("2026-09-21 06:14:20 UTC-8", 0, 60),
            ("2026/09/21 14:14:20 UTC", 8, 60),
            ("2026-09-21 at 14:15 UTC", 8, 100),
            ("2026-09-22", 0, 35_200),
            ("09-21 14:14:20 UTC", 0, 60),
            ("09-20 14:14:20 UTC", 0, -86_340),
            ("01-01 00:00:00 UTC", 0, 8_761_600),
            ("14:14 UTC", 8, 40),
            ("10:00 UTC", 0, 71_200),
        ] {
            assert_eq!(ahead(text, zone), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "2026",
            "2026-9-1",
            "1-2-3",
            "14:14",
            "09-21 14:14:20",
            "10000-01-01",
        ] {
            assert_eq!(ahead(text, 0), None, "{text}");
        }
    }

    #[test]
    fn days_and_years_agree() {
        for (year, month, day, days) in [
            (1970, 1, 1, 0),
            (1972, 2, 29, 789),
            (2000, 3, 1, 11_017),
            (2026, 9, 21, 20_717),
            (9999, 12, 31, 2_932_896),
        ] {
            assert_eq!(days_of(year, month, day), Some(days));
            assert_eq!(year_of(days), year);
        }
    }
}
