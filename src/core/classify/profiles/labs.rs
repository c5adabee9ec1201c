//! Laboratories that serve their own models, or one service of their own.

use super::{BUSY, CONCURRENCY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    // `{"object":"error","message","type","code":"1300"}`.
    Profile {
        names: &["mistral"],
        hosts: &["mistral.ai"],
        codes: &[("service_tier_capacity_exceeded", BUSY)],
        own: &[("3505", BUSY), ("1300", weak(RATE))],
        ..PLAIN
    },
    // `{"message"}`.
    Profile {
        names: &["cohere"],
        hosts: &["cohere.com", "cohere.ai"],
        ..PLAIN
    },
    // `{"code","error":"<text>"}`.
    Profile {
        names: &["xai"],
        hosts: &["x.ai"],
        ..PLAIN
    },
    Profile {
        names: &["perplexity"],
        hosts: &["perplexity.ai"],
        ..PLAIN
    },
    // `{"detail":{"status","message"}}`.
    Profile {
        names: &["elevenlabs"],
        hosts: &["elevenlabs.io"],
        codes: &[
            ("too_many_concurrent_requests", CONCURRENCY),
            ("concurrent_limit_exceeded", CONCURRENCY),
            ("system_busy", BUSY),
        ],
        own: &[("quota_exceeded", QUOTA)],
        ..PLAIN
    },
];
