//! OpenAI, its Codex backend, and whoever copies their words.
//!
//! `{"error":{"message","type","param","code"}}`, in streams `response.failed` or `event: error`.

use super::{BURST, BUSY, PLAIN, Profile, QUOTA, RATE, in_refusals, weak};

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["openai"],
        hosts: &["api.openai.com"],
        codes: &[
            // Under a 400 it is OAuth's "poll less often".
            ("slow_down", in_refusals(BURST)),
            ("insufficient_quota", QUOTA),
            ("credit_balance_exhausted", QUOTA),
            ("organization_spend_limit_exceeded", QUOTA),
            ("project_spend_limit_exceeded", QUOTA),
            ("organization_usage_limit_exceeded", QUOTA),
            ("project_usage_limit_exceeded", QUOTA),
            ("billing_hard_limit_reached", QUOTA),
            ("billing_not_active", QUOTA),
            ("usage_limit_reached", QUOTA),
            ("usage_not_included", QUOTA),
            ("server_is_overloaded", BUSY),
            ("service_unavailable_error", weak(BUSY)),
            ("rate_limit_exceeded", weak(RATE)),
            ("rate_limit_error", weak(RATE)),
            ("too_many_requests", weak(RATE)),
            ("tokens", weak(RATE)),
            ("requests", weak(RATE)),
        ],
        ..OPENAI
    },
    Profile {
        names: &["openai-codex"],
        hosts: &["chatgpt.com"],
        ..OPENAI
    },
];

const OPENAI: Profile = Profile {
    looks_into_success: true,
    ..PLAIN
};
