//! The provider profiles by name, and what each declares about itself.

use std::fmt;
use std::num::NonZeroU32;

/// A provider profile: whose dialect of refusals to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Provider(&'static str);

impl Provider {
    /// No profile: recognise the provider by its answers.
    pub const AUTO: Provider = Provider("auto");

    /// The profile called `name`.
    pub fn named(name: &str) -> Option<Provider> {
        NAMES
            .iter()
            .find(|known| **known == name)
            .map(|known| Provider(known))
    }

    /// The name in configurations and logs.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// How many concurrent calls a server of this kind is known to work on at a time, used where
    /// a policy does not say. None: no such number, so no cap.
    pub fn declared_concurrency(self) -> Option<NonZeroU32> {
        NonZeroU32::new(match self.0 {
            "ollama" | "whisperx" => 1,
            "llama-cpp" => 2,
            _ => 0,
        })
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Every name that `provider` may have, in alphabetical order.
pub const NAMES: &[&str] = &[
    "aimlapi",
    "anthropic",
    "auto",
    "aws-bedrock",
    "azure-openai",
    "baidu-qianfan",
    "byteplus-modelark",
    "cerebras",
    "cloudflare",
    "cohere",
    "crusoe",
    "dashscope",
    "databricks",
    "deepseek",
    "dify",
    "digitalocean",
    "elevenlabs",
    "envoy",
    "fireworks",
    "gemini",
    "generic",
    "github-copilot",
    "github-models",
    "groq",
    "huggingface",
    "ibm-watsonx",
    "iflytek-spark",
    "kling",
    "kong",
    "litellm",
    "llama-cpp",
    "minimax",
    "mistral",
    "moonshot",
    "nebius",
    "neuralwatt",
    "new-api",
    "nginx",
    "nvidia-nim",
    "ollama",
    "ollama-cloud",
    "openai",
    "openai-codex",
    "openrouter",
    "replicate",
    "siliconflow",
    "tencent",
    "tgi",
    "together",
    "vertex",
    "vllm",
    "volcano-ark",
    "wandb-inference",
    "whisperx",
    "xai",
    "zhipu",
];

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn names_are_sorted_unique_and_found() {
        assert!(NAMES.is_sorted_by(|left, right| left < right));
        for name in NAMES {
            assert_eq!(Provider::named(name).map(Provider::name), Some(*name));
        }
        assert_eq!(Provider::named("auto"), Some(Provider::AUTO));
    }

    #[test]
    fn only_single_machine_servers_declare_a_concurrency() {
        let declared: Vec<(&str, u32)> = NAMES
            .iter()
            .filter_map(|name| Some((*name, Provider(name).declared_concurrency()?.get())))
            .collect();
        assert_eq!(declared, [("llama-cpp", 2), ("ollama", 1), ("whisperx", 1)]);
    }
}
