//! What an HTTP status says by itself.

use super::{Class, Rule};

/// Whether the body of an answer with this status is worth reading.
///
/// These are the error statuses under which providers are known to refuse: 400 and 403 for used-up
/// balances, 402, 413 for a request over a limit, 429, 498 and 503 for capacity, 500 for wrapped
/// overloads, 529. The others that matter (401, 404, 408, 422, 499, 502, 504) speak of the request or
/// the way to the provider, not of "not now". Rules of the user may take any other status.
pub fn may_refuse(status: u16, rules: &[Rule]) -> bool {
    Trust::of(status) != Trust::None && status >= 400
        || rules.iter().any(|rule| rule.is_for(status))
}

/// Whether an answer with this status is a refusal, so that its slot can be given back as soon as its
/// headers are seen. Its body may still tell of something else: a wrong key, for instance.
pub fn is_refusal_status(status: u16) -> bool {
    matches!(status, 429 | 503 | 529)
}

/// How far words can be trusted under a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It is a refusal: any word tells of which class.
    Refusal,
    /// It may be one, and may be a mistake of the client whose words it quotes: codes, and what
    /// stands outside quotes and speaks of money.
    Error,
    /// A success: only what stands where errors do.
    Success,
    /// Nothing in it is a refusal.
    None,
}

impl Trust {
    pub(super) fn of(status: u16) -> Trust {
        match status {
            402 | 413 | 429 | 498 | 503 | 529 => Trust::Refusal,
            400 | 403 | 500 => Trust::Error,
            200..=299 => Trust::Success,
            _ => Trust::None,
        }
    }
}

/// The class of a status whose body is silent.
pub(super) fn class_of(status: u16) -> Class {
    match status {
        402 => Class::QuotaExhausted,
        429 => Class::Rate,
        498 | 503 | 529 => Class::Overloaded,
        _ => Class::Other,
    }
}

/// Whether a failure with this status that is no refusal may pass.
pub(super) fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 499 | 500 | 502 | 504 | 520..=524)
}
