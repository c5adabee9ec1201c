//! Google: Gemini, Cloud Code and Vertex.
//!
//! `{"error":{"code","message","status","details":[...]}}`, at times in a list. "Quota" is any limit:
//! what counts is the period in `quotaId` or the reason in `details`.

use super::{BUSY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["gemini"],
        hosts: &[
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
        ],
        codes: &[
            ("MODEL_CAPACITY_EXHAUSTED", BUSY),
            ("INSUFFICIENT_G1_CREDITS_BALANCE", QUOTA),
            ("QUOTA_EXHAUSTED", QUOTA),
            ("dailyLimitExceeded", QUOTA),
            ("userRateLimitExceeded", weak(RATE)),
            ("RESOURCE_EXHAUSTED", weak(RATE)),
            ("UNAVAILABLE", weak(BUSY)),
            ("service_unavailable", weak(BUSY)),
        ],
        ..GOOGLE
    },
    Profile {
        names: &["vertex"],
        hosts: &["aiplatform.googleapis.com"],
        ..GOOGLE
    },
];

const GOOGLE: Profile = Profile {
    own: &[
        ("MODEL_CAPACITY_EXHAUSTED", BUSY),
        ("quota_exceeded", QUOTA),
    ],
    own_phrases: &[
        ("no capacity available", BUSY),
        // The pool that calls without a quota share; a quota of one's own is told otherwise.
        ("resource exhausted please try again later", BUSY),
        ("provisioned throughput", RATE),
        ("exhausted your capacity", RATE),
    ],
    quota_is_rate: true,
    ..PLAIN
};
