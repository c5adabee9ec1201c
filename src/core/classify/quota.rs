//! Refusals that waiting seconds does not cure: a quota, balance or spending limit is used up.

use super::rules::is_refusal_status;
use super::said::Said;
use super::{Answer, Evidence};

/// Codes and types that mean a used-up quota, under any status, unless [`AMBIGUOUS`].
const CODES: &[&str] = &[
    "insufficient_quota",         // OpenAI and many imitators
    "billing_hard_limit_reached", // OpenAI
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "project_spend_limit_exceeded",
    "billing_error",                // Anthropic
    "exceeded_current_quota_error", // Moonshot
];

/// Phrases, in lower case.
const PHRASES: &[&str] = &[
    "insufficient balance",
    "credit balance is too low",
    "exceeded your current quota",
    FREE_ALLOCATION,
];

/// DashScope's words for a quota that really is used up, under the code that else means a minute.
const FREE_ALLOCATION: &str = "free allocated quota exceeded";

/// Words of a quota that some vendors use for a limit per minute.
const AMBIGUOUS: &[&str] = &["insufficient_quota", "exceeded your current quota"];

/// What in the body says that a quota is used up.
pub(super) fn evidence(answer: &Answer<'_>, said: &Said) -> Option<Evidence> {
    let per_minute = answer.status == 429 && is_per_minute(answer.provider.name(), said);
    let means_quota = |words: &&&str| !(per_minute && AMBIGUOUS.contains(words));
    let code = CODES
        .iter()
        .filter(means_quota)
        .find(|code| said.has_code(code));
    if let Some(code) = code {
        return Some(Evidence::word("body:code", code));
    }
    // Other statuses report mistakes too, and may quote the client: there the message has to open
    // with the phrase.
    let refused = is_refusal_status(answer.status) || answer.status == 402;
    PHRASES
        .iter()
        .filter(means_quota)
        .find(|phrase| match refused {
            true => said.has_phrase(phrase),
            false => said.opens_with(phrase),
        })
        .map(|phrase| Evidence::word("body:message", phrase))
}

/// Whether the answer comes from a vendor that says "quota" for a limit per minute.
///
/// DashScope answers `insufficient_quota` for tokens per minute or second, and names itself by the
/// allocation, its help page, or its batch throttle. Google answers `RESOURCE_EXHAUSTED` and
/// "exceeded your current quota" for requests per minute.
fn is_per_minute(provider: &str, said: &Said) -> bool {
    provider == "dashscope"
        || said.has_code("RESOURCE_EXHAUSTED")
        || ["allocated quota exceeded", "#token-limit", "batch requests"]
            .iter()
            .any(|words| said.has_phrase(words))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn found(status: u16, provider: &str, body: &str) -> Option<Evidence> {
        let answer = Answer {
            body: body.as_bytes(),
            provider: crate::core::classify::Provider::named(provider).unwrap(),
            ..Answer::of_status(status)
        };
        evidence(&answer, &Said::read(answer.body))
    }

    #[test]
    fn dashscope_says_quota_for_a_minute() {
        let plain = r#"{"error":{"code":"insufficient_quota","message":"x"}}"#;
        let quota = Some(Evidence::word("body:code", "insufficient_quota"));
        assert_eq!(found(429, "auto", plain), quota);
        assert_eq!(found(429, "openai", plain), quota);
        assert_eq!(found(429, "dashscope", plain), None);
        let linked = r#"{"error":{"code":"insufficient_quota","message":
            "You exceeded your current quota; see help.aliyun.com/error-code#token-limit"}}"#;
        assert_eq!(found(429, "auto", linked), None);
        let free = r#"{"code":"Throttling.AllocationQuota",
            "message":"Free allocated quota exceeded."}"#;
        assert!(found(429, "dashscope", free).is_some());
        assert!(found(429, "auto", free).is_some());
    }

    #[test]
    fn google_says_quota_for_a_minute() {
        let body = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED",
            "message":"You exceeded your current quota. Please retry in 54s."}}]"#;
        assert_eq!(found(429, "auto", body), None);
    }

    #[test]
    fn a_400_must_open_with_the_phrase() {
        let low = r#"{"error":{"type":"invalid_request_error","message":
            "Your credit balance is too low to access the API."}}"#;
        let phrase = Some(Evidence::word("body:message", "credit balance is too low"));
        assert_eq!(found(400, "anthropic", low), phrase);
        let echo = r#"{"error":{"message":"bad tool name 'credit balance is too low'"}}"#;
        assert_eq!(found(400, "anthropic", echo), None);
        assert_eq!(found(429, "anthropic", echo), phrase);
    }
}
