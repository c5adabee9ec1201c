//! Zhipu GLM (Z.ai), and Kling, which numbers in the same style and means the opposite.
//!
//! Zhipu: `{"error":{"code":"1302","message"}}`, in Anthropic's form the number is `error.type`, as
//! text `[1302][...]`. Kling: `{"code":1302,"message","request_id"}`.

use super::{BUSY, CONCURRENCY, OTHER, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["zhipu"],
        hosts: &["bigmodel.cn", "z.ai"],
        own: &[
            ("1112", QUOTA),
            ("1113", QUOTA),
            ("1301", OTHER),
            // Concurrency by the manual; newer messages speak of a rate.
            ("1302", weak(CONCURRENCY)),
            ("1303", RATE),
            ("1304", QUOTA),
            ("1305", BUSY),
            ("1308", QUOTA),
            ("1309", QUOTA),
            ("1310", QUOTA),
            ("1311", OTHER),
            ("1312", BUSY),
            ("1313", QUOTA),
        ],
        zone_hours: 8,
        ..PLAIN
    },
    Profile {
        names: &["kling"],
        hosts: &["klingai.com"],
        own: &[
            ("1101", QUOTA),
            ("1102", QUOTA),
            ("1302", RATE),
            ("1303", CONCURRENCY),
        ],
        zone_hours: 8,
        ..PLAIN
    },
];
