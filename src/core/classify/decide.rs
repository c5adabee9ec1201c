//! The order of evidence: what outranks what.
//!
//! 1. Codes and phrases of a burst, before anything that mentions a quota.
//! 2. A limit of zero; the period in the name of a quota.
//! 3. The provider's own phrases, then codes that mean one thing.
//! 4. Phrases: money; periods; concurrency; capacity; quotas; rates.
//! 5. Codes that mean a thing unless the message says another, then codes read as words.
//! 6. The status.

use super::facts::{Code, Facts};
use super::profiles::{self, Kind, Meaning, Profile, Spoken, spoken};
use super::status::{Trust, class_of, may_pass};
use super::words::Words;
use super::{Class, Confidence, Evidence, StatedLimits, numbers};

/// The class and why.
#[derive(Clone, Copy)]
pub(super) struct Decision {
    pub(super) class: Class,
    /// It is no refusal, but may pass.
    pub(super) may_pass: bool,
    pub(super) confidence: Confidence,
    pub(super) evidence: Evidence,
    /// The profile whose own table decided.
    pub(super) profile: Option<&'static Profile>,
}

/// All that a decision hangs on.
pub(super) struct Case<'a> {
    pub(super) status: u16,
    pub(super) trust: Trust,
    pub(super) facts: &'a Facts,
    pub(super) headers: &'a [(Vec<u8>, Vec<u8>)],
    /// The profiles whose own tables count, the first most.
    pub(super) profiles: &'a [&'static Profile],
    pub(super) words: &'a Words,
    pub(super) spoken: &'a Spoken,
    pub(super) limits: Option<StatedLimits>,
}

impl Case<'_> {
    pub(super) fn decide(&self) -> Decision {
        let exact = self.codes();
        let burst = exact.filter(|found| found.1.class == Class::BurstRate);
        if let Some(found) = burst {
            return self.by_code(found);
        }
        if self.is_certain()
            && let Some(phrase) = self.spoken.burst()
        {
            return phrase_says(Class::BurstRate, phrase);
        }
        if let Some(decision) = self.by_number() {
            return decision;
        }
        if let Some(decision) = self.by_own_phrase() {
            return decision;
        }
        if let Some(found) = exact.filter(|found| !found.1.is_weak) {
            return self.by_code(found);
        }
        if let Some(decision) = self.by_phrase(self.spoken, true) {
            return decision;
        }
        if let Some(found) = exact.filter(|found| self.is_certain() || found.1.class != Class::Rate)
        {
            return self.by_code(found);
        }
        self.by_code_words().unwrap_or_else(|| self.by_status())
    }

    /// Whether a refusal is certain, so that any word tells its class.
    fn is_certain(&self) -> bool {
        matches!(self.trust, Trust::Refusal | Trust::Success)
    }

    /// The code that ranks highest, what it means, and whose own it is.
    fn codes(&self) -> Option<Found<'_>> {
        let own = self.profiles.iter().find_map(|profile| {
            let (code, meaning) = self.first_of(profile.own)?;
            Some((code, meaning, Some(*profile)))
        });
        let common = || {
            let found = profiles::all().filter_map(|profile| self.first_of(profile.codes));
            // Of all tables, one that means one thing outranks one that may mean others.
            let rank = |meaning: &Meaning| (meaning.class != Class::BurstRate, meaning.is_weak);
            found
                .min_by_key(|(_, meaning)| rank(meaning))
                .map(|(code, meaning)| (code, meaning, None))
        };
        match own {
            Some((_, meaning, _)) if meaning.class == Class::BurstRate => own,
            Some(own) => match common() {
                Some(found) if found.1.class == Class::BurstRate => Some(found),
                Some(found) if own.1.is_weak && !found.1.is_weak => Some(found),
                _ => Some(own),
            },
            None => common(),
        }
    }

    fn first_of(
        &self,
        table: &'static [profiles::Code],
    ) -> Option<((&'static str, &Code), Meaning)> {
        let usable = |meaning: Meaning| !meaning.needs_refusal || self.is_certain();
        let exact = table.iter().find_map(|(known, meaning)| {
            let code = self
                .facts
                .codes
                .iter()
                .find(|code| is_code(&code.text, known))?;
            usable(*meaning).then_some(((*known, code), *meaning))
        });
        exact.or_else(|| {
            // Tencent and Alibaba write `RequestLimitExceeded.IPLimitExceeded`.
            table.iter().find_map(|(known, meaning)| {
                let code = self
                    .facts
                    .codes
                    .iter()
                    .find(|code| is_family(&code.text, known))?;
                usable(*meaning).then_some(((*known, code), *meaning))
            })
        })
    }

    fn by_code(&self, ((known, code), meaning, profile): Found<'_>) -> Decision {
        Decision {
            class: meaning.class,
            may_pass: meaning.may_pass,
            confidence: Confidence::Exact,
            evidence: Evidence::word(code.place, known),
            profile,
        }
    }

    fn by_number(&self) -> Option<Decision> {
        if !self.is_certain() {
            return None;
        }
        let quota = |place, word| {
            Some(Decision {
                class: Class::QuotaExhausted,
                may_pass: false,
                confidence: Confidence::Exact,
                evidence: Evidence::word(place, word),
                profile: None,
            })
        };
        if self.facts.zero_quota || self.limits.is_some_and(|limits| numbers::is_zero(&limits)) {
            return quota("body:message", "limit 0");
        }
        if self.facts.quota_ids.is_empty() {
            return None;
        }
        let ids = spoken(&self.facts.quota_ids);
        if let Some(period) = ids.of(Kind::LongPeriod) {
            return quota("body:error.details.quotaId", period);
        }
        ids.of(Kind::ShortPeriod).map(|period| Decision {
            class: Class::Rate,
            may_pass: false,
            confidence: Confidence::Exact,
            evidence: Evidence::word("body:error.details.quotaId", period),
            profile: None,
        })
    }

    fn by_own_phrase(&self) -> Option<Decision> {
        self.profiles.iter().find_map(|profile| {
            let (phrase, meaning) = self.words.find_any(profile.own_phrases)?;
            let is_usable = self.is_certain() || meaning.class == Class::QuotaExhausted;
            is_usable.then(|| Decision {
                profile: Some(profile),
                ..phrase_says(meaning.class, phrase)
            })
        })
    }

    /// What phrases say. Those of a code read as words come without headers.
    fn by_phrase(&self, spoken: &Spoken, is_message: bool) -> Option<Decision> {
        let quota_is_rate = self.profiles.iter().any(|profile| profile.quota_is_rate);
        let says = |class, kind| spoken.of(kind).map(|phrase| phrase_says(class, phrase));
        if self.status == 402 {
            // Running calls have reserved what there is; when they end, it is free again.
            let has_wait = self.headers.iter().any(|(name, _)| name == b"retry-after");
            return says(Class::Concurrency, Kind::Concurrency).filter(|_| has_wait);
        }
        let quota = says(Class::QuotaExhausted, Kind::Quota)
            .or_else(|| says(Class::QuotaExhausted, Kind::CurrentQuota).filter(|_| !quota_is_rate));
        if !self.is_certain() {
            let is_overload = self.status == 500 && is_message;
            return quota.or_else(|| {
                let phrase = spoken.of(Kind::Capacity).filter(|_| is_overload)?;
                (phrase == "overload").then(|| phrase_says(Class::Overloaded, phrase))
            });
        }
        if let Some(quota) = quota {
            return Some(quota);
        }
        if let Some(crossed) = spoken.of(Kind::Crossed) {
            return Some(match numbers::crossed_parallel(self.words) {
                true => phrase_says(Class::Concurrency, crossed),
                false => phrase_says(Class::Rate, crossed),
            });
        }
        let (long, short) = (spoken.at(Kind::LongPeriod), spoken.at(Kind::ShortPeriod));
        let period = match (long, short) {
            (Some(long), Some(short)) if short.0 < long.0 => Some((Class::Rate, short.1)),
            (Some(long), _) => Some((Class::QuotaExhausted, long.1)),
            (None, Some(short)) => Some((Class::Rate, short.1)),
            (None, None) => None,
        };
        if let Some((class, phrase)) = period {
            return Some(phrase_says(class, phrase));
        }
        says(Class::Concurrency, Kind::Concurrency)
            .or_else(|| says(Class::Overloaded, Kind::Capacity))
            .or_else(|| self.by_header().filter(|_| is_message))
            .or_else(|| {
                let quota = says(Class::QuotaExhausted, Kind::WeakQuota)?;
                Some(match quota_is_rate {
                    true => Decision {
                        class: Class::Rate,
                        ..quota
                    },
                    false => quota,
                })
            })
            .or_else(|| says(Class::Rate, Kind::Rate))
            .or_else(|| says(Class::Rate, Kind::CurrentQuota))
    }

    fn by_header(&self) -> Option<Decision> {
        let says = |class, place, word| {
            Some(Decision {
                class,
                may_pass: false,
                confidence: Confidence::Phrase,
                evidence: Evidence::word(place, word),
                profile: None,
            })
        };
        for (name, value) in self.headers {
            let value = value.trim_ascii();
            let Ok(name) = std::str::from_utf8(name) else {
                continue;
            };
            match name {
                _ if value == b"rejected" && name.starts_with("anthropic-ratelimit-unified") => {
                    let place = "header:anthropic-ratelimit-unified-status";
                    return says(Class::QuotaExhausted, place, "rejected");
                }
                _ if value == b"0" && name.contains("concurren") && name.ends_with("remaining") => {
                    return says(
                        Class::Concurrency,
                        "header:x-concurrent-limit-remaining",
                        "0",
                    );
                }
                "x-ratelimit-type" => {
                    let mut words = Words::default();
                    words.add(&String::from_utf8_lossy(value));
                    let kinds = spoken(&words);
                    let place = "header:x-ratelimit-type";
                    for (kind, class) in [
                        (Kind::Concurrency, Class::Concurrency),
                        (Kind::LongPeriod, Class::QuotaExhausted),
                        (Kind::ShortPeriod, Class::Rate),
                    ] {
                        if let Some(word) = kinds.of(kind) {
                            return says(class, place, word);
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Codes that no table knows, as words: `model_concurrency_limit_exceeded`.
    fn by_code_words(&self) -> Option<Decision> {
        let mut words = Words::default();
        for code in &self.facts.codes {
            words.add(&code.text);
        }
        self.by_phrase(&spoken(&words), false)
            .map(|decision| Decision {
                evidence: Evidence {
                    place: "body:error.code",
                    ..decision.evidence
                },
                ..decision
            })
    }

    fn by_status(&self) -> Decision {
        if let Some(decision) = self.by_header().filter(|_| self.trust == Trust::Refusal) {
            return decision;
        }
        let status = match self.trust {
            Trust::Success | Trust::Error => self.stated_status().unwrap_or(self.status),
            _ => self.status,
        };
        Decision {
            class: class_of(status),
            may_pass: may_pass(status),
            confidence: Confidence::Status,
            evidence: Evidence::status(status),
            profile: None,
        }
    }

    /// An HTTP status that an error under another one names as its code.
    fn stated_status(&self) -> Option<u16> {
        if !matches!(self.status, 200..=299 | 500) {
            return None;
        }
        let codes = self.facts.codes.iter();
        let mut statuses = codes.filter_map(|code| code.text.parse().ok());
        statuses.find(|status| class_of(*status) != Class::Other || may_pass(*status))
    }
}

type Found<'a> = ((&'static str, &'a Code), Meaning, Option<&'static Profile>);

fn phrase_says(class: Class, phrase: &'static str) -> Decision {
    Decision {
        class,
        may_pass: false,
        confidence: Confidence::Phrase,
        evidence: Evidence::word("body:message", phrase.trim_ascii_end()),
        profile: None,
    }
}

/// Whether two codes are the same but for case, dashes, dots and underscores.
fn is_code(code: &str, known: &str) -> bool {
    letters(code).eq(letters(known))
}

fn letters(code: &str) -> impl Iterator<Item = u8> {
    let bytes = code.bytes();
    let letters = bytes.filter(|b| !matches!(b, b'_' | b'-' | b'.' | b' '));
    letters.map(|b| b.to_ascii_lowercase())
}

/// Whether a code is one of a family, `known.more`, or the last part of it is known.
fn is_family(code: &str, known: &str) -> bool {
    let head = code.split_once('.').map(|(head, _)| head);
    let tail = code.rsplit_once('.').map(|(_, tail)| tail);
    [head, tail]
        .into_iter()
        .flatten()
        .any(|part| is_code(part, known))
}
