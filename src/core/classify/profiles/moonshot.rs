//! Moonshot (Kimi): `{"error":{"message","type"}}`.

use super::{BUSY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[Profile {
    names: &["moonshot"],
    hosts: &["moonshot.cn", "moonshot.ai", "kimi.com"],
    codes: &[
        ("engine_overloaded_error", BUSY),
        ("exceeded_current_quota_error", QUOTA),
        ("rate_limit_reached_error", weak(RATE)),
    ],
    zone_hours: 8,
    ..PLAIN
}];
