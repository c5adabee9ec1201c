//! Alibaba DashScope, Bailian, Model Studio, Qwen Cloud.
//!
//! Native `{"request_id","code","message"}`, or OpenAI's form with OpenAI's words for other things:
//! `insufficient_quota` is a limit per minute or second.

use super::{BURST, BUSY, CONCURRENCY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[Profile {
    names: &["dashscope"],
    hosts: &["aliyuncs.com", "alibabacloud.com"],
    codes: &[
        ("limit_burst_rate", BURST),
        ("Throttling.BurstRate", BURST),
        ("Throttling.Concurrency", CONCURRENCY),
        ("Throttling.RateQuota", RATE),
        ("Throttling.AllocationQuota", weak(RATE)),
        ("limit_requests", RATE),
        ("AllocationQuota.FreeTierOnly", QUOTA),
        ("CommodityNotPurchased", QUOTA),
        ("PrepaidBillOverdue", QUOTA),
        ("PostpaidBillOverdue", QUOTA),
        ("Arrearage", QUOTA),
        ("Throttling", weak(RATE)),
    ],
    own: &[
        ("Throttling.AllocationQuota", RATE),
        ("insufficient_quota", RATE),
    ],
    own_phrases: &[
        ("free allocated quota", QUOTA),
        ("free quota", QUOTA),
        ("free tier", QUOTA),
        ("batch requests", BUSY),
        ("system capacity", BUSY),
    ],
    quota_is_rate: true,
    looks_into_success: true,
    zone_hours: 8,
    ..PLAIN
}];
