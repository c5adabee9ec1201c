//! The numbers of a limit in a message: "Limit 30000, Used 73124, Requested 1877".

use super::words::{Words, words_back};
use super::{Class, StatedLimits, Unit};

/// What a number is, by a word shortly before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Limit,
    Used,
    Requested,
    Next,
}

/// The first number of each kind that the messages state.
pub(super) fn stated<'m>(messages: impl Iterator<Item = &'m str>) -> Option<StatedLimits> {
    let mut found = StatedLimits::default();
    for message in messages {
        let text = message.to_ascii_lowercase();
        let mut at = 0;
        while let Some(start) = text.bytes().skip(at).position(|b| b.is_ascii_digit()) {
            let (before, here) = text.split_at(at + start);
            let (number, rest) = number(here);
            at = text.len() - rest.len();
            let Some(number) = number.filter(|_| stands_alone(before)) else {
                continue;
            };
            let slot = match label(before, rest) {
                Some(Label::Limit) => &mut found.limit,
                Some(Label::Used) => &mut found.used,
                Some(Label::Requested) => &mut found.requested,
                Some(Label::Next) => &mut found.next,
                None => continue,
            };
            slot.get_or_insert(u32::try_from(number).unwrap_or(u32::MAX));
        }
    }
    (found != StatedLimits::default()).then_some(found)
}

/// Whether a limit is zero: it can never be kept to.
pub(super) fn is_zero(limits: &StatedLimits) -> bool {
    limits.limit == Some(0)
}

/// Whether the request alone is over the limit.
pub(super) fn can_never_fit(limits: &StatedLimits) -> bool {
    matches!((limits.requested, limits.limit), (Some(asked), Some(limit)) if asked > limit)
}

/// What a limit counts, if the words leave no doubt that it is calls.
pub(super) fn unit(class: Class, words: &Words) -> Option<Unit> {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.find(phrase).is_some());
    if says(&["token", "tpm ", "image", "input", "output", "budget"]) {
        return None;
    }
    match class {
        Class::Concurrency => Some(Unit::AtOnce),
        Class::Rate | Class::BurstRate if says(&["qps ", "rps ", "requests per second "]) => {
            Some(Unit::PerSecond)
        }
        Class::Rate | Class::BurstRate if says(&["rpm ", "requests per min"]) => {
            Some(Unit::PerMinute)
        }
        _ => None,
    }
}

/// LiteLLM's "Crossed TPM / RPM / Max Parallel Request Limit" names all three; whether the third is
/// the one that was crossed.
pub(super) fn crossed_parallel(words: &Words) -> bool {
    let crossed = |used: &str, limit: &str| {
        let (used, limit) = (words.number_after(used), words.number_after(limit));
        used.is_some() && limit.is_some() && used >= limit
    };
    // "max parallel requests" also ends the words for what is in use: the limit comes behind it.
    let of_limit = [
        "max parallel requests limit ",
        "limit max parallel requests ",
    ];
    let used = "current max parallel requests ";
    let is_parallel = crossed(used, parallel_limit(words, of_limit));
    is_parallel && !crossed("current rpm ", "rpm limit ") && !crossed("current tpm ", "tpm limit ")
}

fn parallel_limit(words: &Words, named: [&'static str; 2]) -> &'static str {
    let named = named.into_iter().find(|name| words.find(name).is_some());
    named.unwrap_or("max parallel requests ")
}

/// A whole number with commas between thousands; none if it has a fraction.
fn number(text: &str) -> (Option<u64>, &str) {
    let mut number = 0u64;
    let mut rest = text;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        for digit in rest.bytes().take(digits) {
            number = number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
        }
        rest = rest.get(digits..).unwrap_or_default();
        let is_thousand = matches!(rest.as_bytes(), [b',', a, b, c, after @ ..]
            if [a, b, c].iter().all(|d| d.is_ascii_digit()) && !after.first().is_some_and(u8::is_ascii_digit));
        match is_thousand {
            true => rest = rest.get(1..).unwrap_or_default(),
            false => break,
        }
    }
    let is_fraction = matches!(rest.as_bytes(), [b'.', digit, ..] if digit.is_ascii_digit());
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_');
    if is_fraction || rest.bytes().next().is_some_and(|b| b != b'.' && is_part(b)) {
        let length = rest.bytes().take_while(|b| is_part(*b)).count();
        return (None, rest.get(length..).unwrap_or_default());
    }
    (Some(number), rest)
}

fn stands_alone(before: &str) -> bool {
    let last = before.bytes().next_back();
    !last.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// How many words before a number may stand between it and its label.
const WORDS_BEFORE: usize = 5;

/// How far behind a number its unit is looked for.
const UNIT_BYTES: usize = 32;

fn label(before: &str, after: &str) -> Option<Label> {
    for word in words_back(before).take(WORDS_BEFORE) {
        return Some(match word {
            "limit" | "limited" | "max" | "maximum" | "cap" | "allowed" => Label::Limit,
            "used" | "current" | "currently" | "usage" | "actual" => Label::Used,
            "requested" | "requesting" | "required" | "needs" => Label::Requested,
            "next" => Label::Next,
            "of" | "is" | "to" | "be" | "at" | "value" | "will" | "minute" | "rpm" | "tpm"
            | "tpd" | "rpd" | "qps" | "request" | "requests" | "tokens" | "input" | "output"
            | "concurrency" | "organization" | "your" | "about" => continue,
            _ => break,
        });
    }
    // "30,000 input tokens per minute".
    let mut unit = Words::default();
    unit.add(after.get(..UNIT_BYTES).unwrap_or(after));
    let is_rate = ["per min", "per day"]
        .iter()
        .any(|period| unit.find(period).is_some());
    is_rate.then_some(Label::Limit)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::Stated;
    use super::*;

    fn in_words(class: Class, message: &str) -> Option<Stated> {
        let mut words = Words::default();
        words.add(message);
        let limits = StatedLimits {
            unit: unit(class, &words),
            ..stated([message].into_iter())?
        };
        limits.in_calls()
    }

    #[test]
    fn a_limit_on_calls_is_known_by_its_unit() {
        let rate = |message| in_words(Class::Rate, message);
        let per_second = |nano| Some(Stated::PerSecond(nano));
        assert_eq!(
            rate("Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1."),
            per_second(50_000_000)
        );
        assert_eq!(
            rate("request reached organization max RPM: 20, please try again after 75 seconds"),
            per_second(333_333_333)
        );
        assert_eq!(
            rate("Too many requests in route, limit 100 QPS."),
            per_second(100_000_000_000)
        );
        assert_eq!(
            in_words(Class::Concurrency, "above your concurrency limit of 39"),
            Some(Stated::AtOnce(39))
        );
    }

    #[test]
    fn what_counts_something_else_or_leaves_a_doubt_is_no_limit_on_calls() {
        let none = [
            (Class::Rate, "on tokens per min (TPM): Limit 30000, Used 1"),
            (Class::Rate, "(20,000 input tokens per minute)"),
            (Class::Rate, "images per minute. Limit: 5/1min"),
            (Class::Rate, "Limit 7 reached"),
            (Class::Rate, "requests per day (RPD): Limit 200"),
            (Class::Rate, "requests per min (RPM): Limit 0"),
            (Class::QuotaExhausted, "requests per min (RPM): Limit 3"),
        ];
        for (class, message) in none {
            assert_eq!(in_words(class, message), None, "{message}");
        }
    }
}
