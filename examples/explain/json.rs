//! A verdict as JSON.

use serde::Serialize;
use weir::core::classify::Verdict;

#[derive(Serialize)]
struct Shown {
    refusal: bool,
    class: &'static str,
    retryable: bool,
    wait_ms: Option<u64>,
    scope: &'static str,
    confidence: &'static str,
    profile: &'static str,
    evidence: Vec<ShownEvidence>,
}

#[derive(Serialize)]
struct ShownEvidence {
    #[serde(rename = "where")]
    place: &'static str,
    what: String,
}

/// One object on one line.
pub(super) fn verdict(verdict: &Verdict) -> String {
    line(&Shown {
        refusal: verdict.refusal,
        class: verdict.class.name(),
        retryable: verdict.retryable,
        wait_ms: verdict.wait_ms,
        scope: verdict.scope.name(),
        confidence: verdict.confidence.name(),
        profile: verdict.profile.name(),
        evidence: verdict
            .all_evidence()
            .map(|evidence| ShownEvidence {
                place: evidence.place,
                what: evidence.what.to_string(),
            })
            .collect(),
    })
}

/// A value as one line of JSON. Values here have string keys and no failing parts.
pub(super) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
