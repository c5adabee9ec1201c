//! Gateways, which pass on what others say and add refusals of their own.

use super::{BUSY, CONCURRENCY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    // `{"error":{"code":<int>,"message","metadata"}}`, with the provider's error in `metadata.raw`.
    Profile {
        names: &["openrouter"],
        hosts: &["openrouter.ai"],
        codes: &[
            ("in_flight_budget_exhausted", CONCURRENCY),
            ("openrouter_in_flight_budget", CONCURRENCY),
            ("provider_overloaded", BUSY),
            ("openrouter_credits", QUOTA),
            ("openrouter_key_limit", QUOTA),
            ("openrouter_guardrail_budget", QUOTA),
            ("weight_exceeds_budget", QUOTA),
            ("upstream_provider_shared_pool", weak(RATE)),
        ],
        looks_into_success: true,
        ..PLAIN
    },
    Profile {
        names: &["litellm"],
        codes: &[("budget_exceeded", QUOTA), ("throttling_error", weak(RATE))],
        ..PLAIN
    },
    Profile {
        names: &["new-api"],
        codes: &[
            ("insufficient_user_quota", QUOTA),
            ("pre_consume_token_quota_failed", QUOTA),
        ],
        zone_hours: 8,
        ..PLAIN
    },
    // `{"code","message","status"}`, with words of its own for both.
    Profile {
        names: &["dify"],
        hosts: &["dify.ai"],
        codes: &[("provider_quota_exceeded", QUOTA)],
        own: &[
            ("too_many_requests", CONCURRENCY),
            ("rate_limit_error", QUOTA),
        ],
        ..PLAIN
    },
    Profile {
        names: &["envoy", "kong", "nginx"],
        codes: &[("local_rate_limited", RATE)],
        ..PLAIN
    },
];
