//! Refusals of the slope: traffic grew too fast, whatever its level.

use super::Evidence;
use super::rules::is_refusal_status;
use super::said::Said;

/// Codes that mean a burst and nothing else, under any status.
const CODES: &[&str] = &[
    "limit_burst_rate",        // DashScope, OpenAI mode
    "Throttling.BurstRate",    // DashScope, native
    "RequestBurstTooFast",     // Volcano Ark, BytePlus
    "dynamic_request_limited", // Together
    "dynamic_token_limited",
];

/// OpenAI's code, under 429 and formerly 503. Elsewhere it is OAuth's "poll less often" (a 400).
const SLOW_DOWN: &str = "slow_down";

/// Phrases, in lower case, that providers use under a generic code.
const PHRASES: &[&str] = &[
    "rate increased too quickly", // DashScope
    "usage increase rate",        // Anthropic
    "acceleration limit",         // Anthropic
    "rate growth limit",          // MiniMax
    "ramps up too quickly",       // Fireworks
];

/// What in the body says that this is a burst refusal.
///
/// Phrases, and anything in a body that is not JSON, count only under a status that is a refusal
/// anyway: a 400 may quote the client's own words.
pub(super) fn evidence(status: u16, said: &Said) -> Option<Evidence> {
    let refused = is_refusal_status(status);
    let code = CODES
        .iter()
        .find(|code| said.has_code(code) || refused && said.quotes(code));
    if let Some(code) = code {
        return Some(Evidence::word("body:code", code));
    }
    if !refused {
        return None;
    }
    if said.has_code(SLOW_DOWN) || said.quotes(SLOW_DOWN) {
        return Some(Evidence::word("body:code", SLOW_DOWN));
    }
    PHRASES
        .iter()
        .find(|phrase| said.has_phrase(phrase) || said.mentions(phrase))
        .map(|phrase| Evidence::word("body:message", phrase))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn found(status: u16, body: &str) -> Option<Evidence> {
        evidence(status, &Said::read(body.as_bytes()))
    }

    #[test]
    fn slow_down_counts_under_429_and_503_only() {
        let body = r#"{"error":{"code":"slow_down","type":"rate_limit_error"}}"#;
        let code = Some(Evidence::word("body:code", "slow_down"));
        assert_eq!(found(429, body), code);
        assert_eq!(found(503, body), code);
        assert_eq!(found(400, body), None);
    }

    #[test]
    fn a_400_that_quotes_the_client_is_no_burst() {
        let echo = r#"{"error":{"message":"Invalid: 'request rate increased too quickly'"}}"#;
        assert_eq!(found(400, echo), None);
        assert_eq!(
            found(400, r#"{"error":{"param":"limit_burst_rate"}}"#),
            None
        );
        assert_eq!(found(400, r#"not JSON: "limit_burst_rate""#), None);
        assert!(found(400, r#"{"error":{"code":"limit_burst_rate"}}"#).is_some());
    }

    #[test]
    fn bodies_that_are_not_whole_json_are_searched_in_their_prefix() {
        let cut = r#"{"x":{"error":{"code":"RequestBurstTooFast","mess"#;
        assert_eq!(
            found(429, cut),
            Some(Evidence::word("body:code", "RequestBurstTooFast"))
        );
        let text = "429: Request rate INCREASED too quickly.";
        let phrase = Some(Evidence::word("body:message", "rate increased too quickly"));
        assert_eq!(found(429, text), phrase);
        let frame = "event:error\ndata:{\"code\":\"Throttling\",\
            \"message\":\"Request rate increased too quickly.\"}\n";
        assert_eq!(found(429, frame), phrase);
        // A prompt quoted inside a JSON string has its quotes escaped and names no code.
        let echo = r#"{"echo":"what is \"limit_burst_rate\"?","mess"#;
        assert_eq!(found(429, echo), None);
    }
}
