//! Volcano Engine Ark (Doubao) and BytePlus ModelArk.
//!
//! `{"error":{"code","message","param","type":"TooManyRequests"}}`; the type is the same for all.

use super::{BURST, BUSY, CONCURRENCY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["volcano-ark"],
        hosts: &["volces.com", "volcengineapi.com"],
        codes: &[
            ("RequestBurstTooFast", BURST),
            ("ServerOverloaded", BUSY),
            ("ModelLoadingError", BUSY),
            ("EndpointRPMExceeded", RATE),
            ("EndpointTPMExceeded", RATE),
            ("ModelAccountRpmRateLimitExceeded", RATE),
            ("ModelAccountTpmRateLimitExceeded", RATE),
            ("ModelAccountIpmRateLimitExceeded", RATE),
            ("APIAccountRpmRateLimitExceeded", RATE),
            ("AccountRateLimitExceeded", RATE),
            ("InflightBatchsizeExceeded", CONCURRENCY),
            ("SetLimitExceeded", QUOTA),
            ("AccountQuotaExceeded", QUOTA),
            ("AccountOverdueError", QUOTA),
            ("ServiceOverdue", QUOTA),
        ],
        ..ARK
    },
    Profile {
        names: &["byteplus-modelark"],
        hosts: &["bytepluses.com", "byteplusapi.com"],
        ..ARK
    },
];

const ARK: Profile = Profile {
    own: &[("QuotaExceeded", weak(RATE))],
    own_phrases: &[
        ("free trial quota", QUOTA),
        ("free quota", QUOTA),
        ("usage quota", QUOTA),
    ],
    quota_is_rate: true,
    looks_into_success: true,
    zone_hours: 8,
    ..PLAIN
};
