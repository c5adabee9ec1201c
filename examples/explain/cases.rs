//! A file of answers, one JSON object a line, each checked against what it says to expect.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use weir::core::classify::{Provider, Verdict, classify};

use super::args::Problem;
use super::given::{Body, Given};
use super::json;

/// One line. Fields that say where a case comes from are not read.
#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    provider: String,
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    body_b64: Option<String>,
    now_ms: Option<u64>,
    expect: Option<Expect>,
    #[serde(default)]
    accept_reasons: Vec<String>,
    #[serde(default)]
    accept_wait_ms: Vec<Option<u64>>,
}

#[derive(Deserialize)]
struct Expect {
    reason: String,
    retryable: bool,
    wait_ms: Option<u64>,
}

#[derive(Serialize)]
struct Result<'a> {
    id: &'a str,
    class: &'static str,
    retryable: bool,
    wait_ms: Option<u64>,
    class_ok: Option<bool>,
    retryable_ok: Option<bool>,
    wait_ok: Option<bool>,
}

#[derive(Default, Serialize)]
struct Summary {
    cases: usize,
    class_ok: usize,
    retryable_ok: usize,
    wait_ok: usize,
    by_class: BTreeMap<String, Tally>,
}

#[derive(Default, Serialize)]
struct Tally {
    cases: usize,
    ok: usize,
}

/// Explains every case, then sums up. Returns whether none was missed.
pub(super) fn run(path: &Path, out: &mut impl Write) -> std::result::Result<bool, Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| Problem::File {
        path: path.to_owned(),
        error,
    })?;
    let mut summary = Summary::default();
    let mut missed = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let unusable = |problem: String| Problem::Case {
            path: path.to_owned(),
            line: at + 1,
            problem,
        };
        let case: Case = serde_json::from_str(line).map_err(|e| unusable(e.to_string()))?;
        let given = case.given().map_err(|e| unusable(e.to_string()))?;
        let result = case.check(&classify(&given.answer()));
        let marks = [result.class_ok, result.retryable_ok, result.wait_ok];
        missed |= marks.contains(&Some(false));
        summary.add(&case, marks);
        writeln!(out, "{}", json::line(&result)).map_err(Problem::Output)?;
    }
    let summary = BTreeMap::from([("summary", summary)]);
    writeln!(out, "{}", json::line(&summary)).map_err(Problem::Output)?;
    Ok(!missed)
}

impl Case {
    fn given(&self) -> std::result::Result<Given, base64::DecodeError> {
        let body = match &self.body_b64 {
            Some(encoded) => BASE64_STANDARD.decode(encoded)?,
            None => self.body.clone().into_bytes(),
        };
        let headers = self.headers.iter();
        let lower = |(name, value): (&String, &String)| {
            (
                name.to_ascii_lowercase().into_bytes(),
                value.clone().into_bytes(),
            )
        };
        let mut given = Given {
            headers: headers.map(lower).collect(),
            body: Body::cut(body),
            provider: Provider::named(&self.provider).unwrap_or(Provider::AUTO),
            ..Given::of(self.status)
        };
        given.now_ms = self.now_ms.unwrap_or(given.now_ms);
        Ok(given)
    }

    fn check(&self, verdict: &Verdict) -> Result<'_> {
        let class = verdict.class.name();
        let expect = self.expect.as_ref();
        let is_alternative = |expect: &Expect| {
            class != expect.reason && self.accept_reasons.iter().any(|reason| reason == class)
        };
        Result {
            id: &self.id,
            class,
            retryable: verdict.retryable,
            wait_ms: verdict.wait_ms,
            class_ok: expect.map(|e| class == e.reason || is_alternative(e)),
            // What goes with another class is not said.
            retryable_ok: expect.map(|e| verdict.retryable == e.retryable || is_alternative(e)),
            wait_ok: expect.map(|e| {
                verdict.wait_ms == e.wait_ms || self.accept_wait_ms.contains(&verdict.wait_ms)
            }),
        }
    }
}

impl Summary {
    fn add(&mut self, case: &Case, [class, retryable, wait]: [Option<bool>; 3]) {
        let one = |mark| usize::from(mark == Some(true));
        self.cases += 1;
        self.class_ok += one(class);
        self.retryable_ok += one(retryable);
        self.wait_ok += one(wait);
        if let Some(expect) = &case.expect {
            let tally = self.by_class.entry(expect.reason.clone()).or_default();
            tally.cases += 1;
            tally.ok += one(class);
        }
    }
}
