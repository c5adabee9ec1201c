//! What is known of each provider, as tables: one file per family.
//!
//! `docs/adding-a-provider.md` says how to add one.

use super::Class;

mod alibaba;
mod anthropic;
mod aws;
mod chinese;
mod clouds;
mod common;
mod gateways;
mod google;
mod index;
mod labs;
mod microsoft;
mod minimax;
mod moonshot;
mod openai;
mod servers;
mod sorted;
mod volcano;
mod zhipu;

pub(super) use index::{Kind, Spoken, spoken};
pub use sorted::NAMES;

/// A family of providers that say no in the same words.
pub(super) struct Profile {
    /// Its names in configurations.
    pub(super) names: &'static [&'static str],
    /// Its hosts: these and everything under them.
    pub(super) hosts: &'static [&'static str],
    /// Codes that mean the same wherever they turn up. An earlier one outranks a later one.
    pub(super) codes: &'static [Code],
    /// Codes that mean this only here: numbers, and words that others use otherwise. They outrank
    /// `codes`, and an earlier one a later one.
    pub(super) own: &'static [Code],
    /// Phrases that mean this only here, in the form of [`super::words::Words`]. They outrank every
    /// code but those of bursts.
    pub(super) own_phrases: &'static [Code],
    /// "Quota" without a period is a limit that refills in seconds.
    pub(super) quota_is_rate: bool,
    /// Whether it is known to refuse under a 200.
    pub(super) looks_into_success: bool,
    /// The hours by which its clock is ahead of UTC, for times without a zone.
    pub(super) zone_hours: i8,
    /// A wait of this many seconds or more is no rate limit any more.
    pub(super) long_wait_s: u32,
    /// How many concurrent calls it works on at a time; 0 is not known.
    pub(super) concurrency: u16,
}

/// A code or phrase and what it means.
pub(super) type Code = (&'static str, Meaning);

/// What a code or phrase means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) class: Class,
    /// The message, if it says more, decides.
    pub(super) is_weak: bool,
    /// Counts only where a refusal is certain: elsewhere the word means other things.
    pub(super) needs_refusal: bool,
    /// A failure that may pass, though no refusal.
    pub(super) may_pass: bool,
}

const BURST: Meaning = of(Class::BurstRate);
const RATE: Meaning = of(Class::Rate);
const CONCURRENCY: Meaning = of(Class::Concurrency);
const BUSY: Meaning = of(Class::Overloaded);
const QUOTA: Meaning = of(Class::QuotaExhausted);
const OTHER: Meaning = of(Class::Other);

const fn of(class: Class) -> Meaning {
    Meaning {
        class,
        is_weak: false,
        needs_refusal: false,
        may_pass: false,
    }
}

const fn weak(meaning: Meaning) -> Meaning {
    Meaning {
        is_weak: true,
        ..meaning
    }
}

const fn in_refusals(meaning: Meaning) -> Meaning {
    Meaning {
        needs_refusal: true,
        ..meaning
    }
}

/// The failure may pass.
const PASSES: Meaning = Meaning {
    may_pass: true,
    ..OTHER
};

/// A profile that says nothing of its own.
const PLAIN: Profile = Profile {
    names: &[],
    hosts: &[],
    codes: &[],
    own: &[],
    own_phrases: &[],
    quota_is_rate: false,
    looks_into_success: false,
    zone_hours: 0,
    long_wait_s: 6 * 3600,
    concurrency: 0,
};

/// Every profile. Codes of an earlier one outrank those of a later one.
pub(super) const PROFILES: &[&[Profile]] = &[
    openai::PROFILES,
    anthropic::PROFILES,
    alibaba::PROFILES,
    volcano::PROFILES,
    google::PROFILES,
    aws::PROFILES,
    microsoft::PROFILES,
    minimax::PROFILES,
    zhipu::PROFILES,
    moonshot::PROFILES,
    chinese::PROFILES,
    labs::PROFILES,
    clouds::PROFILES,
    gateways::PROFILES,
    servers::PROFILES,
];

/// Every profile, in order.
pub(super) fn all() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Every string of the tables.
    fn strings() -> Vec<&'static str> {
        let profiles = all().flat_map(|profile| {
            let codes = [profile.codes, profile.own, profile.own_phrases];
            let codes = codes.into_iter().flatten().map(|(text, _)| *text);
            let names = profile.names.iter().chain(profile.hosts).copied();
            codes.chain(names).collect::<Vec<_>>()
        });
        let phrases = common::PHRASES.iter().flat_map(|(_, phrases)| *phrases);
        profiles.chain(phrases.copied()).collect()
    }

    #[test]
    fn strings_are_short_and_nobodys_own() {
        let cases = concat!(
            include_str!("../../../../tests/data/responses.jsonl"),
            include_str!("../../../../tests/data/responses_more.jsonl"),
        );
        let ids: Vec<&str> = cases
            .lines()
            .filter_map(|line| line.split('"').nth(3))
            .collect();
        assert!(ids.len() > 400 && ids.contains(&"ant-529"));
        let strings = strings();
        assert!(strings.len() > 400);
        for text in strings {
            assert!((1..=48).contains(&text.len()), "{text}");
            assert!(!ids.contains(&text), "{text}");
            for placeholder in ["req-0", "req_x", "chatcmpl-", "user_x", "org-x", "gen-x"] {
                assert!(!text.contains(placeholder), "{text}");
            }
        }
    }

    #[test]
    fn phrases_are_written_as_words_are() {
        let own = all().flat_map(|profile| profile.own_phrases.iter().map(|(phrase, _)| *phrase));
        let common = common::PHRASES.iter().flat_map(|(_, phrases)| *phrases);
        for phrase in own.chain(common.copied()) {
            let mut words = crate::core::classify::words::Words::default();
            words.add(phrase);
            let words = std::str::from_utf8(words.bytes()).unwrap();
            assert_eq!(words.trim(), phrase.trim_end());
            assert!(phrase.len() > 1);
        }
    }

    #[test]
    fn no_code_is_listed_twice() {
        let mut seen = std::collections::BTreeMap::new();
        for (code, meaning) in all().flat_map(|profile| profile.codes) {
            let plain = code.to_ascii_lowercase().replace(['_', '-', '.'], "");
            let before = seen.insert(plain, *meaning);
            assert!(before.is_none(), "{code}");
        }
    }
}
