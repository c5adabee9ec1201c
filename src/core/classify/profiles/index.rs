//! All phrases, found in one pass.

use super::sorted::{BUCKETS, PHRASES};
use crate::core::classify::words::{Words, begins, starts};

/// What a phrase speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Traffic grew too fast.
    Burst,
    /// Something grew,
    Growth,
    /// too fast.
    TooFast,
    /// Money, credits, a plan.
    Quota,
    /// "Your current quota", which some say of a minute.
    CurrentQuota,
    /// A period of hours or more.
    LongPeriod,
    /// A period of an hour or less.
    ShortPeriod,
    /// Calls at a time.
    Concurrency,
    /// What the provider has too little of.
    Capacity,
    /// A quota of any kind.
    WeakQuota,
    /// A rate, said outright.
    Rate,
    /// The request alone is over the limit.
    TooLarge,
    /// LiteLLM names three limits at once.
    Crossed,
    /// The limit is of a model.
    OfModel,
    /// The limit is of a key.
    OfKey,
}

const KINDS: usize = 15;

/// Which kinds of phrases a message holds: of each the first, and where it begins.
#[derive(Debug, Default)]
pub(crate) struct Spoken([Option<(usize, &'static str)>; KINDS]);

impl Spoken {
    /// The first phrase of a kind.
    pub(crate) fn of(&self, kind: Kind) -> Option<&'static str> {
        self.at(kind).map(|(_, phrase)| phrase)
    }

    /// What says that traffic grew too fast.
    pub(crate) fn burst(&self) -> Option<&'static str> {
        let grew = || {
            let (growth, speed) = (self.at(Kind::Growth)?, self.at(Kind::TooFast)?);
            let is_near = (growth.0..growth.0 + NEAR).contains(&speed.0);
            is_near.then_some(speed.1)
        };
        self.of(Kind::Burst).or_else(grew)
    }

    /// The first phrase of a kind and where it begins.
    pub(crate) fn at(&self, kind: Kind) -> Option<(usize, &'static str)> {
        self.0.get(kind as usize).copied().flatten()
    }
}

/// How many bytes behind a word for growth its speed is looked for.
const NEAR: usize = 32;

/// Finds all phrases in one pass over the words.
pub(crate) fn spoken(words: &Words) -> Spoken {
    let mut found = Spoken::default();
    for (at, rest) in starts(words.bytes()) {
        let Some(first) = rest.first() else { continue };
        let bucket = usize::from(*first);
        let from = BUCKETS.get(bucket).copied().unwrap_or(0);
        let to = BUCKETS.get(bucket + 1).copied().unwrap_or(from);
        let candidates = PHRASES.get(usize::from(from)..usize::from(to));
        for (kind, phrase) in candidates.unwrap_or_default() {
            if begins(rest, phrase)
                && let Some(slot @ None) = found.0.get_mut(*kind as usize)
            {
                *slot = Some((at, *phrase));
            }
        }
    }
    found
}
