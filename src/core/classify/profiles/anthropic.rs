//! Anthropic: `{"type":"error","error":{"type","message","details"?},"request_id"}`.
//!
//! `rate_limit_error` stands for bursts, rates, concurrency and spent money alike.

use super::{BUSY, PLAIN, Profile, QUOTA};

pub(super) const PROFILES: &[Profile] = &[Profile {
    names: &["anthropic"],
    hosts: &["anthropic.com"],
    codes: &[
        ("enforced_spend_limit_reached", QUOTA),
        ("billing_error", QUOTA),
        ("overloaded_error", BUSY),
    ],
    looks_into_success: true,
    ..PLAIN
}];
