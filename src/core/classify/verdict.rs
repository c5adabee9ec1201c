use std::fmt;
use std::time::Duration;

use super::Class;

/// What an answer was found to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The class of the refusal; `None` if the answer is not a refusal.
    pub refusal: Option<Class>,
    /// Whether sending the same request again later can succeed.
    pub retryable: bool,
    /// The provider's own minimum wait, in whole milliseconds and not capped: capping is up to the
    /// caller, who knows the deadlines.
    pub server_min: Option<Duration>,
    /// What decided.
    pub evidence: Evidence,
}

impl Verdict {
    /// The verdict on an answer that is not a refusal.
    pub const NOT_A_REFUSAL: Verdict = Verdict {
        refusal: None,
        retryable: false,
        server_min: None,
        evidence: Evidence::Nothing,
    };
}

/// What decided a verdict. Holds Weir's own words only, never the provider's, so it is safe to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing spoke of a refusal.
    Nothing,
    /// An exact code or type in the body.
    Code(&'static str),
    /// A phrase in the body's message, or in a body that is not JSON.
    Phrase(&'static str),
    /// The HTTP status alone.
    Status(u16),
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Nothing => f.write_str("nothing"),
            Evidence::Code(code) => write!(f, "code:{code}"),
            Evidence::Phrase(phrase) => write!(f, "phrase:{phrase}"),
            Evidence::Status(status) => write!(f, "status:{status}"),
        }
    }
}
