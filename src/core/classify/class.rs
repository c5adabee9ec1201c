use std::fmt;

/// The class of a refusal: what the provider ran out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Traffic grew too fast; the level itself may be fine.
    BurstRate,
    /// Too many requests or tokens in a period.
    Rate,
    /// Too many calls at once.
    Concurrency,
    /// The provider is short of capacity, whoever asks.
    Overloaded,
    /// A quota or balance is used up: waiting seconds does not help.
    QuotaExhausted,
    /// A refusal for another reason.
    Other,
}

impl Class {
    /// Every class, in the order of the enum.
    pub const ALL: [Class; 6] = [
        Class::BurstRate,
        Class::Rate,
        Class::Concurrency,
        Class::Overloaded,
        Class::QuotaExhausted,
        Class::Other,
    ];

    /// Whether waiting can help, so that a call refused this way may be sent again.
    pub fn is_retryable(self) -> bool {
        match self {
            Class::BurstRate | Class::Rate | Class::Concurrency | Class::Overloaded => true,
            Class::QuotaExhausted | Class::Other => false,
        }
    }

    /// The name used in stats, headers, logs and errors.
    pub fn name(self) -> &'static str {
        match self {
            Class::BurstRate => "burst_rate",
            Class::Rate => "rate",
            Class::Concurrency => "concurrency",
            Class::Overloaded => "overloaded",
            Class::QuotaExhausted => "quota_exhausted",
            Class::Other => "other",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
