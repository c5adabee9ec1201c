//! Azure OpenAI and API Management, GitHub Models and Copilot.

use super::{PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["azure-openai"],
        hosts: &[
            "openai.azure.com",
            "azure-api.net",
            "cognitiveservices.azure.com",
            "services.ai.azure.com",
        ],
        codes: &[("RateLimitReached", weak(RATE))],
        ..PLAIN
    },
    Profile {
        names: &["github-models"],
        hosts: &["models.github.ai", "models.inference.ai.azure.com"],
        ..PLAIN
    },
    Profile {
        names: &["github-copilot"],
        hosts: &["githubcopilot.com"],
        codes: &[
            ("user_weekly_rate_limited", QUOTA),
            ("rate_limited", weak(RATE)),
        ],
        own: &[("quota_exceeded", QUOTA)],
        // "Try again in 71 minutes" is no limit that refills.
        long_wait_s: 1800,
        ..PLAIN
    },
];
