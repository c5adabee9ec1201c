//! Judges the answers of `tests/data` one by one, for `tools/bench.py` to count what each costs.
//!
//! `bench_classify SIZE FILE...` prints a line for each case: its id and the size of its body. A SIZE
//! above 0 brings every JSON body to that size: its longest text grows by plain words.

#![allow(clippy::unwrap_used, reason = "a tool may stop at what it cannot read")]

use std::hint::black_box;

use serde_json::Value;
use weir::core::classify::{Answer, Provider, Verdict, classify};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let size: usize = arguments.next().unwrap().parse().unwrap();
    for file in arguments {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            judge_case(&serde_json::from_str(line).unwrap(), size);
        }
    }
}

fn judge_case(case: &Value, size: usize) {
    let text = |name: &str| case[name].as_str().unwrap();
    let fields = case["headers"].as_object().unwrap().iter();
    let headers: Vec<(Vec<u8>, Vec<u8>)> = fields
        .map(|(name, value)| (name.clone().into(), value.as_str().unwrap().into()))
        .collect();
    let Some(body) = sized(text("body"), size) else {
        return;
    };
    let answer = Answer {
        headers: &headers,
        body: body.as_bytes(),
        provider: Provider::named(text("provider")).unwrap_or(Provider::AUTO),
        now_ms: 1_790_000_000_000,
        ..Answer::of_status(u16::try_from(case["status"].as_u64().unwrap()).unwrap())
    };
    black_box(counted(black_box(&answer)));
    println!("{} {}", text("id"), body.len());
}

/// What is counted: this name is given to callgrind.
#[inline(never)]
fn counted(answer: &Answer<'_>) -> Verdict {
    classify(answer)
}

/// The body at this size; none if it is no JSON, or larger already.
fn sized(body: &str, size: usize) -> Option<String> {
    if size == 0 {
        return Some(body.to_owned()).filter(|body| body.len() <= 2048);
    }
    let json: Value = serde_json::from_str(body).ok()?;
    let mut texts = Vec::new();
    collect(&json, &mut texts);
    let longest = texts.into_iter().max_by_key(|text| text.len())?;
    let written = Value::from(longest).to_string();
    let missing = size.checked_sub(body.len())?;
    let words = "See the documentation for details of what was sent. ";
    let more: String = words.chars().cycle().take(missing).collect();
    let grown = Value::from(format!("{longest}{more}")).to_string();
    Some(body.replacen(&written, &grown, 1))
}

fn collect<'j>(json: &'j Value, texts: &mut Vec<&'j str>) {
    match json {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}
