use super::said::Said;
use super::{Answer, Class, Evidence, Rule, Verdict, burst, quota, wait};
use crate::core::time::millis_up;

/// Says whether an answer is a refusal, of which class, and how long the provider asks to wait.
///
/// Takes any bytes: time is linear in the body's length, memory a small multiple of it.
pub fn classify(answer: &Answer<'_>) -> Verdict {
    let nothing = Verdict {
        profile: answer.provider,
        ..Verdict::NOT_A_REFUSAL
    };
    if !may_refuse(answer.status, answer.rules) {
        return nothing;
    }
    match decide(answer, &Said::read(answer.body)) {
        None => nothing,
        Some((class, evidence)) => Verdict {
            refusal: true,
            class,
            retryable: class.is_retryable(),
            wait_ms: wait::server_minimum(answer).map(millis_up),
            evidence,
            ..nothing
        },
    }
}

/// Whether the body of an answer with this status is worth reading.
///
/// These are the error statuses under which providers are known to refuse: 400 and 403 for used-up
/// balances, 402, 429, 500 for wrapped overloads, 503 and 529. The others that matter (401, 404,
/// 408, 413, 422, 499, 502, 504) speak of the request or the way to the provider, not of "not now".
///
/// Rules of the user may take any other status.
pub fn may_refuse(status: u16, rules: &[Rule]) -> bool {
    is_refusal_status(status)
        || matches!(status, 400 | 402 | 403 | 500)
        || rules.iter().any(|rule| rule.is_for(status))
}

/// Whether an answer with this status is a refusal whatever its body says, so that its slot can be
/// given back as soon as its headers are seen.
pub fn is_refusal_status(status: u16) -> bool {
    matches!(status, 429 | 503 | 529)
}

/// The type that Anthropic and its imitators give an overload, under statuses from 429 to 529.
const OVERLOADED_TYPE: &str = "overloaded_error";

fn decide(answer: &Answer<'_>, said: &Said) -> Option<(Class, Evidence)> {
    if let Some(evidence) = burst::evidence(answer.status, said) {
        return Some((Class::BurstRate, evidence));
    }
    // An exact type beats any phrase, so this stands before the quota phrases.
    if said.has_code(OVERLOADED_TYPE) {
        return Some((
            Class::Overloaded,
            Evidence::word("body:code", OVERLOADED_TYPE),
        ));
    }
    if let Some(evidence) = quota::evidence(answer, said) {
        return Some((Class::QuotaExhausted, evidence));
    }
    let class = match answer.status {
        402 => Class::QuotaExhausted,
        429 => Class::Rate,
        503 | 529 => Class::Overloaded,
        _ => return None,
    };
    Some((class, Evidence::status(answer.status)))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn verdict(status: u16, body: &str) -> Verdict {
        classify(&Answer {
            body: body.as_bytes(),
            ..Answer::of_status(status)
        })
    }

    #[test]
    fn statuses_decide_when_the_body_is_silent() {
        for (status, class) in [
            (402, Class::QuotaExhausted),
            (429, Class::Rate),
            (503, Class::Overloaded),
            (529, Class::Overloaded),
        ] {
            let v = verdict(status, "");
            assert_eq!(v.refused(), Some(class), "{status}");
            assert_eq!(v.evidence.to_string(), format!("status={status}"));
            assert_eq!(v.retryable, status != 402);
        }
    }

    #[test]
    fn a_refusal_status_is_a_refusal_whatever_the_body_says() {
        for status in 0..=1000 {
            for body in [
                "",
                "{}",
                r#"{"error":{"code":"invalid_api_key"}}"#,
                "<html>",
            ] {
                let refused = verdict(status, body).refusal;
                assert!(refused || !is_refusal_status(status), "{status} {body}");
                assert!(!refused || may_refuse(status, &[]), "{status} {body}");
            }
        }
    }

    #[test]
    fn an_exact_code_makes_any_readable_status_a_refusal() {
        let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
        for (status, class) in [
            (200, None),
            (400, Some(Class::Overloaded)),
            (401, None),
            (429, Some(Class::Overloaded)),
            (500, Some(Class::Overloaded)),
        ] {
            assert_eq!(verdict(status, overloaded).refused(), class, "{status}");
        }
        assert_eq!(
            verdict(500, r#"{"error":{"type":"server_error"}}"#),
            Verdict::NOT_A_REFUSAL
        );
    }

    #[test]
    fn a_burst_outranks_a_quota() {
        let v = verdict(
            429,
            r#"{"error":{"type":"insufficient_quota","code":"limit_burst_rate",
                "message":"You exceeded your current quota"}}"#,
        );
        assert_eq!(v.refused(), Some(Class::BurstRate));
        assert_eq!(v.evidence, Evidence::word("body:code", "limit_burst_rate"));
    }
}
