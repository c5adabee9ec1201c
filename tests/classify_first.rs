//! The first classes against answers of real providers, and against anything at all.
//!
//! `data/responses_first.jsonl` holds one answer a line with the class and wait expected of it. A
//! `reason` of `other` stands for no refusal at all.

#![allow(
    clippy::unwrap_used,
    reason = "a broken test file has to stop the test"
)]

use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use weir::core::classify::{Answer, Verdict, classify, is_refusal_status, may_refuse};

type Headers = Vec<(Vec<u8>, Vec<u8>)>;

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    provider: String,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
    expect: Expect,
    #[serde(default)]
    accept_reasons: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Expect {
    reason: String,
    retryable: bool,
    wait_ms: Option<u64>,
}

impl Case {
    fn headers(&self) -> Headers {
        self.headers
            .iter()
            .map(|(name, value)| (name.clone().into(), value.clone().into()))
            .collect()
    }

    fn classify_as(&self, provider: &str) -> Verdict {
        classify(&Answer {
            status: self.status,
            headers: &self.headers(),
            body: self.body.as_bytes(),
            provider,
        })
    }

    fn accepts(&self, verdict: &Verdict) -> bool {
        let class = verdict.refusal.map_or("other", |class| class.name());
        self.expect.reason == class || self.accept_reasons.iter().any(|r| r == class)
    }
}

fn cases() -> Vec<Case> {
    include_str!("data/responses_first.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_answer_has_its_class_and_its_wait() {
    let cases = cases();
    assert!(cases.len() > 60);
    for case in &cases {
        let verdict = case.classify_as(&case.provider);
        assert!(case.accepts(&verdict), "{}: {verdict:?}", case.id);
        assert_eq!(verdict.retryable, case.expect.retryable, "{}", case.id);
        let wait = case.expect.wait_ms.map(Duration::from_millis);
        assert_eq!(verdict.server_min, wait, "{}", case.id);
    }
}

#[test]
fn the_class_does_not_hang_on_the_profile_being_named() {
    for case in cases() {
        let verdict = case.classify_as("auto");
        assert!(case.accepts(&verdict), "{}: {verdict:?}", case.id);
    }
}

/// A body cut off at any byte is still a refusal under a refusal status, and a 400 cut off never
/// becomes one.
#[test]
fn cutting_a_body_invents_no_refusal() {
    for case in cases() {
        for end in 0..case.body.len() {
            let verdict = classify(&Answer {
                status: case.status,
                headers: &[],
                body: &case.body.as_bytes()[..end],
                provider: &case.provider,
            });
            if is_refusal_status(case.status) {
                assert!(verdict.refusal.is_some(), "{} at {end}", case.id);
            } else if case.expect.reason == "other" {
                assert!(verdict.refusal.is_none(), "{} at {end}", case.id);
            }
        }
    }
}

fn check(status: u16, headers: &Headers, body: &[u8], provider: &str) {
    let verdict = classify(&Answer {
        status,
        headers,
        body,
        provider,
    });
    assert!(verdict.refusal.is_some() || !is_refusal_status(status));
    assert!(verdict.refusal.is_none() || may_refuse(status));
    assert_eq!(
        verdict.retryable,
        verdict.refusal.is_some_and(|c| c.is_retryable())
    );
    assert_ne!(verdict.server_min, Some(Duration::ZERO));
    assert!(verdict.evidence.to_string().len() < 64);
}

fn statuses() -> impl Strategy<Value = u16> {
    prop_oneof![
        proptest::sample::select(vec![400, 402, 403, 429, 500, 503, 529]),
        any::<u16>()
    ]
}

proptest! {
    /// L14.
    #[test]
    fn any_bytes_are_answered(
        status in statuses(),
        name in proptest::sample::select(vec!["retry-after", "retry-after-ms", "x"]),
        value in proptest::collection::vec(any::<u8>(), 0..40),
        body in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        check(status, &vec![(name.into(), value)], &body, "auto");
    }

    /// L14, near the shapes that providers send.
    #[test]
    fn mutated_answers_are_answered(
        at in any::<proptest::sample::Index>(),
        status in statuses(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), 0u8..3, any::<u8>()), 1..12),
    ) {
        let cases = cases();
        let case = at.get(&cases);
        let mut body = case.body.clone().into_bytes();
        for (at, edit, byte) in edits {
            let i = at.index(body.len() + 1);
            match edit {
                0 => body.insert(i, byte),
                1 => body.truncate(i),
                _ => if let Some(b) = body.get_mut(i) { *b = byte },
            }
        }
        check(status, &case.headers(), &body, &case.provider);
        check(case.status, &case.headers(), &body, "auto");
    }
}
