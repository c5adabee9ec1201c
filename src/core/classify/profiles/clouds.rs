//! Clouds that serve other people's models.

use super::{BURST, BUSY, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[
    // A rate per organisation and model that follows recent success.
    Profile {
        names: &["together"],
        hosts: &["together.xyz", "together.ai"],
        codes: &[
            ("dynamic_request_limited", BURST),
            ("dynamic_token_limited", BURST),
        ],
        ..PLAIN
    },
    Profile {
        names: &["fireworks"],
        hosts: &["fireworks.ai"],
        ..PLAIN
    },
    Profile {
        names: &["nebius"],
        hosts: &["nebius.com", "nebius.ai"],
        ..PLAIN
    },
    // OpenAI's form. `x-ratelimit-reset-requests` is of the day, tokens are per minute.
    Profile {
        names: &["groq"],
        hosts: &["groq.com"],
        ..PLAIN
    },
    // Flat: `{"message","type","param":"quota","code":"token_quota_exceeded"}`, per minute or second.
    Profile {
        names: &["cerebras"],
        hosts: &["cerebras.ai"],
        codes: &[
            ("queue_exceeded", BUSY),
            ("request_quota_exceeded", weak(RATE)),
            ("token_quota_exceeded", weak(RATE)),
            ("too_many_tokens_error", weak(RATE)),
            ("too_many_requests_error", weak(RATE)),
        ],
        quota_is_rate: true,
        ..PLAIN
    },
    Profile {
        names: &["digitalocean"],
        hosts: &["do-ai.run", "digitalocean.com"],
        ..PLAIN
    },
    Profile {
        names: &["crusoe"],
        hosts: &["crusoe.ai", "crusoecloud.com"],
        ..PLAIN
    },
    Profile {
        names: &["databricks"],
        hosts: &["databricks.com", "azuredatabricks.net"],
        ..PLAIN
    },
    Profile {
        names: &["snowflake"],
        hosts: &["snowflakecomputing.com"],
        ..PLAIN
    },
    // `{"errors":[{"code"}],"status_code"}`.
    Profile {
        names: &["ibm-watsonx"],
        hosts: &["ml.cloud.ibm.com"],
        codes: &[
            ("rate_limit_reached_requests", RATE),
            ("rate_limit_reached_tokens", RATE),
            ("token_quota_reached", QUOTA),
        ],
        ..PLAIN
    },
    Profile {
        names: &["oci"],
        hosts: &["oraclecloud.com"],
        ..PLAIN
    },
    Profile {
        names: &["huggingface"],
        hosts: &["huggingface.co"],
        ..PLAIN
    },
    Profile {
        names: &["nvidia-nim"],
        hosts: &["nvidia.com"],
        ..PLAIN
    },
    Profile {
        names: &["replicate"],
        hosts: &["replicate.com"],
        ..PLAIN
    },
    // `{"errors":[{"code","message"}],"success":false}`; the number may also stand in the message.
    Profile {
        names: &["cloudflare"],
        hosts: &["cloudflare.com"],
        own: &[("3036", QUOTA), ("4006", QUOTA), ("3040", BUSY)],
        ..PLAIN
    },
    Profile {
        names: &["wandb-inference"],
        hosts: &["wandb.ai"],
        ..PLAIN
    },
    Profile {
        names: &["ollama-cloud"],
        hosts: &["ollama.com"],
        ..PLAIN
    },
    Profile {
        names: &["neuralwatt"],
        hosts: &["neuralwatt.com"],
        ..PLAIN
    },
    Profile {
        names: &["aimlapi"],
        hosts: &["aimlapi.com"],
        ..PLAIN
    },
    Profile {
        names: &["opengateway"],
        codes: &[("free_quota_exceeded", QUOTA)],
        ..PLAIN
    },
];
