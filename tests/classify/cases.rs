//! Lines of `data/*.jsonl`: an answer, and the class and wait expected of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir::core::classify::{Answer, Provider, Verdict, classify};

pub(crate) type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// The most of a body that is read in Envoy.
pub(crate) const BODY_CAP: usize = 16 * 1024;

/// The time where a case gives none.
const NOW_MS: u64 = 1_790_000_000_000;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) provider: String,
    pub(crate) status: u16,
    headers: Map<String, Value>,
    body: String,
    body_b64: Option<String>,
    now_ms: Option<u64>,
    pub(crate) expect: Expect,
    #[serde(default)]
    accept_reasons: Vec<String>,
    #[serde(default)]
    accept_wait_ms: Vec<Option<u64>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Expect {
    pub(crate) reason: String,
    pub(crate) retryable: bool,
    pub(crate) wait_ms: Option<u64>,
}

impl Case {
    pub(crate) fn headers(&self) -> Headers {
        let text = |value: &Value| value.as_str().unwrap().into();
        self.headers
            .iter()
            .map(|(name, value)| (name.clone().into(), text(value)))
            .collect()
    }

    /// The body as it came over the wire, to its end.
    pub(crate) fn body(&self) -> Vec<u8> {
        match &self.body_b64 {
            Some(encoded) => STANDARD.decode(encoded).unwrap(),
            None => self.body.clone().into(),
        }
    }

    pub(crate) fn classify(&self) -> Verdict {
        let provider = Provider::named(&self.provider).unwrap_or(Provider::AUTO);
        self.classify_as(provider, &self.body())
    }

    pub(crate) fn classify_as(&self, provider: Provider, body: &[u8]) -> Verdict {
        let cut = body.get(..BODY_CAP).unwrap_or(body);
        classify(&Answer {
            headers: &self.headers(),
            body: cut,
            is_whole: cut.len() == body.len(),
            provider,
            now_ms: self.now_ms.unwrap_or(NOW_MS),
            ..Answer::of_status(self.status)
        })
    }

    /// What is wrong with a verdict on this case.
    pub(crate) fn misses(&self, verdict: &Verdict) -> Vec<&'static str> {
        let class = verdict.class.name();
        let is_first = self.expect.reason == class;
        let checks = [
            (
                "class",
                is_first || self.accept_reasons.iter().any(|r| r == class),
            ),
            (
                "retryable",
                !is_first || verdict.retryable == self.expect.retryable,
            ),
            (
                "wait",
                verdict.wait_ms == self.expect.wait_ms
                    || self.accept_wait_ms.contains(&verdict.wait_ms),
            ),
        ];
        let wrong = checks.into_iter().filter(|(_, is_right)| !is_right);
        wrong.map(|(what, _)| what).collect()
    }
}

pub(crate) fn corpus() -> Vec<Case> {
    read(include_str!("../data/responses.jsonl"))
}

/// Written from what is known of the providers, before the classifier was tried on them.
pub(crate) fn more() -> Vec<Case> {
    read(include_str!("../data/responses_more.jsonl"))
}

fn read(lines: &str) -> Vec<Case> {
    let cases = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    cases.collect()
}
