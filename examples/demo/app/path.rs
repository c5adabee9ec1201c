//! The ways from the clients to a provider.

/// How calls reach the provider; each is a listener of its own in one Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    /// Envoy passes everything on.
    Unprotected,
    /// Envoy's own retry policy.
    EnvoyRetry,
    /// Envoy's `local_ratelimit`.
    LocalRateLimit(Known),
    /// Envoy's `adaptive_concurrency`.
    AdaptiveConcurrency(Known),
    /// `local_ratelimit`, `adaptive_concurrency` and retry together.
    AllNative(Known),
    Weir,
}

/// What the operator knows of the provider and tuned Envoy's own filters to. Weir is told nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Known {
    /// Calls a second, also the most at one moment.
    pub(crate) per_second: u32,
    /// Calls that run at that rate.
    pub(crate) at_once: u32,
}

impl Path {
    /// Those that the demo shows.
    pub(crate) const ALL: [Self; 3] = [Self::Unprotected, Self::EnvoyRetry, Self::Weir];

    /// The name in files.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Unprotected => "no-protection",
            Self::EnvoyRetry => "envoy-retry",
            Self::LocalRateLimit(_) => "local-ratelimit",
            Self::AdaptiveConcurrency(_) => "adaptive-concurrency",
            Self::AllNative(_) => "all-native",
            Self::Weir => "weir",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Unprotected => "No protection",
            Self::EnvoyRetry => "Envoy's retry",
            Self::LocalRateLimit(_) => "local_ratelimit",
            Self::AdaptiveConcurrency(_) => "adaptive_concurrency",
            Self::AllNative(_) => "All of Envoy's",
            Self::Weir => "Weir",
        }
    }
}
