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
