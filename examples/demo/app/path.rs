//! The three ways from the clients to a provider.

/// How calls reach the provider; each is a listener of its own in one Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    /// Envoy passes everything on.
    Unprotected,
    /// Envoy's own retry policy.
    EnvoyRetry,
    Weir,
}

impl Path {
    pub(crate) const ALL: [Self; 3] = [Self::Unprotected, Self::EnvoyRetry, Self::Weir];

    /// The name in files.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Unprotected => "no-protection",
            Self::EnvoyRetry => "envoy-retry",
            Self::Weir => "weir",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Unprotected => "No protection",
            Self::EnvoyRetry => "Envoy's retry",
            Self::Weir => "Weir",
        }
    }
}
