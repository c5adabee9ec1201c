//! MiniMax: HTTP 200 with `base_resp.status_code`, in streams in the last event. In Anthropic's form
//! the number ends the message: `usage limit exceeded ... (2056)`.

use super::{BURST, BUSY, CONCURRENCY, OTHER, PASSES, PLAIN, Profile, QUOTA, RATE};

pub(super) const PROFILES: &[Profile] = &[Profile {
    names: &["minimax"],
    hosts: &["minimax.io", "minimaxi.com", "minimax.chat"],
    own: &[
        ("2045", BURST),
        ("1002", RATE),
        ("1008", QUOTA),
        ("1039", RATE),
        ("1041", CONCURRENCY),
        ("2056", QUOTA),
        ("2067", QUOTA),
        ("2064", BUSY),
        ("1004", OTHER),
        ("2049", OTHER),
        ("1000", PASSES),
        ("1001", PASSES),
        ("1024", PASSES),
        ("1033", PASSES),
    ],
    looks_into_success: true,
    zone_hours: 8,
    ..PLAIN
}];
