//! Baidu Qianfan, iFlytek Spark, Tencent, SiliconFlow, DeepSeek, Huawei.

use super::{BUSY, CONCURRENCY, OTHER, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    // HTTP 200 and `{"error_code","error_msg"}`; the second version is OpenAI's form.
    Profile {
        names: &["baidu-qianfan"],
        hosts: &["baidubce.com"],
        codes: &[
            ("rpm_rate_limit_exceeded", RATE),
            ("tpm_rate_limit_exceeded", RATE),
            // Spelt like this.
            ("video_genration_concurrency_exceeded", CONCURRENCY),
            ("RATE_LIMIT_TOTAL_QPS", RATE),
            ("RATE_LIMIT_SEARCH_QPS", RATE),
            ("QUOTA_USER_DAILY_REQUEST", QUOTA),
            ("QUOTA_USER_DAILY_FREE", QUOTA),
            ("BILLING_INSUFFICIENT_BALANCE", QUOTA),
        ],
        own: &[
            ("4", weak(RATE)),
            ("17", QUOTA),
            ("18", RATE),
            ("19", QUOTA),
            ("336100", BUSY),
            ("336501", RATE),
            ("336502", RATE),
        ],
        looks_into_success: true,
        zone_hours: 8,
        ..PLAIN
    },
    // WebSocket messages with `header.code`, or `code` beside `sid`.
    Profile {
        names: &["iflytek-spark"],
        hosts: &["xf-yun.com", "xfyun.cn"],
        own: &[
            ("10007", CONCURRENCY),
            ("10008", BUSY),
            ("10110", BUSY),
            ("10907", OTHER),
            ("11200", QUOTA),
            ("11201", QUOTA),
            ("11202", RATE),
            ("11203", CONCURRENCY),
            ("11210", RATE),
        ],
        looks_into_success: true,
        zone_hours: 8,
        ..PLAIN
    },
    // HTTP 200 and `{"Response":{"Error":{"Code","Message"}}}`; CloudBase and TokenHub otherwise.
    Profile {
        names: &["tencent"],
        hosts: &[
            "tencentcloudapi.com",
            "tencent.com",
            "tcloudbasegateway.com",
        ],
        codes: &[
            ("EXCEED_CONCURRENT_REQUEST_LIMIT", CONCURRENCY),
            ("EXCEED_TOKEN_QUOTA_LIMIT", QUOTA),
            ("EXCEED_REQUEST_LIMIT", QUOTA),
            ("EXCEED_RATELIMIT", RATE),
            ("RequestLimitExceeded", RATE),
            ("ChargeResourceExhaust", QUOTA),
            ("ResourcePackExhausted", QUOTA),
            ("FreeResourcePackExhausted", QUOTA),
            ("ResourceUnavailable.InArrears", QUOTA),
            ("ResourceUnavailable.LowBalance", QUOTA),
        ],
        own: &[("429006", BUSY), ("401008", QUOTA)],
        looks_into_success: true,
        zone_hours: 8,
        ..PLAIN
    },
    Profile {
        names: &["siliconflow"],
        hosts: &["siliconflow.cn", "siliconflow.com"],
        own: &[("50505", BUSY), ("30001", QUOTA)],
        zone_hours: 8,
        ..PLAIN
    },
    Profile {
        names: &["deepseek"],
        hosts: &["deepseek.com"],
        zone_hours: 8,
        ..PLAIN
    },
    Profile {
        names: &["huawei-maas"],
        hosts: &["myhuaweicloud.com", "modelarts-maas.com"],
        codes: &[("ModelArts.81101", RATE)],
        zone_hours: 8,
        ..PLAIN
    },
];
