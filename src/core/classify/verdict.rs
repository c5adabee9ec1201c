use std::fmt;
use std::time::Duration;

use super::{Class, Provider};

/// What an answer was found to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is a refusal: a "not now". Any class but `other` is.
    pub refusal: bool,
    /// The class; `other` for what is no refusal.
    pub class: Class,
    /// Whether sending the same request again later can succeed. Also set for failures that are no
    /// refusals and may pass, a 502 for instance.
    pub retryable: bool,
    /// The provider's own minimum wait in milliseconds, rounded up, above zero, and not capped:
    /// capping is up to the caller, who knows the deadlines.
    pub wait_ms: Option<u64>,
    /// What the refusal holds for.
    pub scope: Scope,
    /// How much the verdict can be trusted.
    pub confidence: Confidence,
    /// The profile that was used: the named one, or what `auto` found.
    pub profile: Provider,
    /// The numbers that the body states.
    pub limits: Option<StatedLimits>,
    /// What decided the class.
    pub evidence: Evidence,
    /// What gave the wait.
    pub wait_evidence: Option<Evidence>,
    /// What made `retryable` differ from what the class says.
    pub retry_evidence: Option<Evidence>,
}

impl Verdict {
    /// The verdict on an answer that is not a refusal.
    pub const NOT_A_REFUSAL: Verdict = Verdict {
        refusal: false,
        class: Class::Other,
        retryable: false,
        wait_ms: None,
        scope: Scope::Request,
        confidence: Confidence::Status,
        profile: Provider::AUTO,
        limits: None,
        evidence: Evidence::NOTHING,
        wait_evidence: None,
        retry_evidence: None,
    };

    /// The class, if it is a refusal.
    pub fn refused(&self) -> Option<Class> {
        self.refusal.then_some(self.class)
    }

    /// The provider's minimum wait as a span.
    pub fn server_min(&self) -> Option<Duration> {
        self.wait_ms.map(Duration::from_millis)
    }

    /// All that decided: the class first.
    pub fn all_evidence(&self) -> impl Iterator<Item = Evidence> {
        [Some(self.evidence), self.wait_evidence, self.retry_evidence]
            .into_iter()
            .flatten()
    }
}

/// What a refusal holds for, as far as the answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This request alone.
    Request,
    /// All calls with this key.
    Key,
    /// All calls of the account, organisation, team or project.
    Account,
    /// All calls of the account to this model.
    Model,
    /// Whoever calls.
    Provider,
}

impl Scope {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Request => "request",
            Scope::Key => "key",
            Scope::Account => "account",
            Scope::Model => "model",
            Scope::Provider => "provider",
        }
    }
}

/// How much a verdict can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The status alone, or a header beside it.
    Status,
    /// Words of a message.
    Phrase,
    /// A code or type that means this and nothing else.
    Exact,
}

impl Confidence {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Status => "status",
            Confidence::Phrase => "phrase",
            Confidence::Exact => "exact",
        }
    }
}

/// The numbers of a limit that a body states. Calls or tokens, as the limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatedLimits {
    /// The most there may be in a period.
    pub limit: Option<u32>,
    /// What has been used of it.
    pub used: Option<u32>,
    /// What this request asked for.
    pub requested: Option<u32>,
    /// What the limit will be next: a provider that lets traffic grow in steps says the next one.
    pub next: Option<u32>,
    /// What is counted, where the message leaves no doubt that it is calls.
    pub unit: Option<Unit>,
}

/// What a limit on calls counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Starts in a second.
    PerSecond,
    /// Starts in a minute.
    PerMinute,
    /// Calls at once.
    AtOnce,
}

impl StatedLimits {
    /// The limit itself, if it is one on calls.
    pub fn in_calls(&self) -> Option<Stated> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        let per_second =
            |seconds: u64| Stated::PerSecond((u64::from(limit) * NANO / seconds).max(1));
        Some(match self.unit? {
            Unit::PerSecond => per_second(1),
            Unit::PerMinute => per_second(60),
            Unit::AtOnce => Stated::AtOnce(limit),
        })
    }
}

const NANO: u64 = 1_000_000_000;

/// A limit on calls that a refusal states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stated {
    /// Starts a second, in billionths; at least 1.
    PerSecond(u64),
    /// Calls at once; at least 1.
    AtOnce(u32),
}

/// What decided a part of a verdict. Holds words of Weir's own tables and numbers only, never the
/// provider's text, so it is safe to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Where it stood: `status`, `body:error.code`, `header:retry-after`, `rule`.
    pub place: &'static str,
    /// What stood there.
    pub what: What,
}

/// What stood at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A word of the tables.
    Word(&'static str),
    /// An HTTP status, or the position of a rule of the policy, from 0.
    Number(u16),
}

impl Evidence {
    /// Nothing spoke of a refusal.
    pub const NOTHING: Evidence = Evidence::word("nothing", "");

    /// A word of the tables at a place.
    pub const fn word(place: &'static str, word: &'static str) -> Evidence {
        Evidence {
            place,
            what: What::Word(word),
        }
    }

    /// The HTTP status.
    pub const fn status(status: u16) -> Evidence {
        Evidence {
            place: "status",
            what: What::Number(status),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Word(word) => f.write_str(word),
            What::Number(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Word("") => f.write_str(self.place),
            what => write!(f, "{}={what}", self.place),
        }
    }
}
