//! Whatever comes in, a verdict comes out, and it hangs on what is said, not on how.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use weir::core::classify::{
    Answer, Class, Look, PROVIDER_NAMES, Provider, Verdict, classify, is_refusal_status,
    judge_event, may_refuse,
};

use crate::cases::{Case, Headers, corpus};

static CASES: LazyLock<Vec<Case>> = LazyLock::new(corpus);

/// What holds for any verdict.
fn check(answer: &Answer<'_>) -> Verdict {
    let verdict = classify(answer);
    assert_eq!(verdict.refusal, verdict.class != Class::Other);
    let is_success = (200..300).contains(&answer.status);
    assert!(!verdict.refusal || is_success || may_refuse(answer.status, &[]));
    assert!(!verdict.refusal || !verdict.retryable || verdict.class.is_retryable());
    assert_ne!(verdict.wait_ms, Some(0));
    assert!(verdict.refusal || verdict.wait_ms.is_none());
    for evidence in verdict.all_evidence() {
        assert!(evidence.to_string().len() < 96);
    }
    if let Look::Error(verdict) = judge_event(answer) {
        assert_ne!(verdict.wait_ms, Some(0));
    }
    verdict
}

fn statuses() -> impl Strategy<Value = u16> {
    prop_oneof![
        select(vec![200, 400, 402, 403, 413, 429, 500, 503, 529]),
        any::<u16>()
    ]
}

fn providers() -> impl Strategy<Value = Provider> {
    select(PROVIDER_NAMES).prop_map(|name| Provider::named(name).unwrap())
}

/// The fields of every object in the opposite order, the white space of a pretty printer.
fn turned_around(json: &Value) -> String {
    fn write(json: &Value, out: &mut String) {
        match json {
            Value::Object(fields) => {
                out.push_str("{\r\n\t");
                let fields: Vec<_> = fields.iter().rev().collect();
                for (at, (name, value)) in fields.into_iter().enumerate() {
                    out.push_str(if at > 0 { " ,\n " } else { "" });
                    out.push_str(&Value::from(name.as_str()).to_string());
                    out.push_str(" : ");
                    write(value, out);
                }
                out.push_str("\n}");
            }
            Value::Array(items) => {
                out.push_str("[ ");
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { " , " } else { "" });
                    write(item, out);
                }
                out.push_str(" ]");
            }
            other => out.push_str(&other.to_string()),
        }
    }
    let mut out = String::new();
    write(json, &mut out);
    out
}

#[test]
fn the_order_of_fields_and_white_space_do_not_matter() {
    let mut compared = 0;
    for case in corpus() {
        let Ok(json) = serde_json::from_slice::<Value>(&case.body()) else {
            continue;
        };
        // What is cut off cannot count.
        if case.body().len() > 8 * 1024 {
            continue;
        }
        compared += 1;
        let provider = Provider::named(&case.provider).unwrap_or(Provider::AUTO);
        let written = turned_around(&json);
        assert_eq!(
            case.classify_as(provider, written.as_bytes()),
            case.classify_as(provider, json.to_string().as_bytes()),
            "{}",
            case.id
        );
    }
    assert!(compared > 150);
}

/// A body cut off anywhere is still a refusal under a refusal status, unless what is left says that
/// it is something else, and never becomes one elsewhere.
#[test]
fn cutting_a_body_invents_no_refusal() {
    for case in corpus() {
        let body = case.body();
        if body.len() > 512 {
            continue;
        }
        let provider = Provider::named(&case.provider).unwrap_or(Provider::AUTO);
        for end in 0..body.len() {
            let verdict = case.classify_as(provider, &body[..end]);
            if is_refusal_status(case.status) {
                assert!(verdict.refusal, "{} at {end}", case.id);
            } else if case.expect.reason == "other" {
                assert!(!verdict.refusal, "{} at {end}", case.id);
            }
        }
    }
}

#[test]
fn unknown_bodies_fall_back_by_status() {
    let bodies = [
        "",
        "{}",
        "[]",
        "null",
        r#"{"a":{"b":[1,2]}}"#,
        "<html><body>Sorry</body></html>",
        "something",
    ];
    for status in 0..=1000 {
        let expected = match status {
            402 => Class::QuotaExhausted,
            429 => Class::Rate,
            498 | 503 | 529 => Class::Overloaded,
            _ => Class::Other,
        };
        for body in bodies {
            let verdict = check(&Answer {
                body: body.as_bytes(),
                ..Answer::of_status(status)
            });
            assert_eq!(verdict.class, expected, "{status} {body}");
            assert_eq!(verdict.evidence.to_string(), format!("status={status}"));
        }
    }
}

proptest! {
    /// L14.
    #[test]
    fn any_bytes_are_answered(
        status in statuses(),
        provider in providers(),
        name in select(vec![
            "retry-after", "retry-after-ms", "content-encoding", "x-ratelimit-reset", "ratelimit",
        ]),
        value in proptest::collection::vec(any::<u8>(), 0..40),
        body in proptest::collection::vec(any::<u8>(), 0..400),
        now_ms in any::<u64>(),
    ) {
        let headers: Headers = vec![
            (name.into(), value),
            (b"x-ratelimit-remaining".to_vec(), b"0".to_vec()),
        ];
        check(&Answer { headers: &headers, body: &body, provider, now_ms, ..Answer::of_status(status) });
    }

    /// L14, near the shapes that providers send.
    #[test]
    fn mutated_answers_are_answered(
        at in any::<Index>(),
        status in statuses(),
        provider in providers(),
        now_ms in any::<u64>(),
        edits in proptest::collection::vec((any::<Index>(), 0u8..3, any::<u8>()), 1..12),
    ) {
        let case: &Case = at.get(&CASES);
        let mut body = case.body();
        for (at, edit, byte) in edits {
            let i = at.index(body.len() + 1);
            match edit {
                0 => body.insert(i, byte),
                1 => body.truncate(i),
                _ => if let Some(b) = body.get_mut(i) { *b = byte },
            }
        }
        let headers = case.headers();
        let answer = Answer { headers: &headers, body: &body, provider, now_ms, ..Answer::of_status(status) };
        check(&answer);
        check(&Answer { status: case.status, ..answer });
    }

    /// Texts made of what waits are made of.
    #[test]
    fn texts_full_of_numbers_are_answered(
        text in "(try again in|reset at|limit:|[0-9]{1,22}|[-+:.,TZ/ ]|s|ms|m|h|days|UTC|\\+08:00){0,24}",
        now_ms in any::<u64>(),
    ) {
        let headers: Headers = vec![(b"retry-after".to_vec(), text.clone().into_bytes())];
        check(&Answer { headers: &headers, body: text.as_bytes(), now_ms, ..Answer::of_status(429) });
    }
}
