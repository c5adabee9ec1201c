//! What an operator can get wrong in `classify`, and what comes of what is right.
#![allow(clippy::unwrap_used, clippy::panic)]

use weir::core::classify::{Class, Conditions};
use weir::core::config::{Classify, Config};

/// (a policy's `classify`, the message after `policies[0].classify`).
const WRONG: &[(&str, &str)] = &[
    ("[]", ": must be an object, not []"),
    (
        r#"{"map_20": true}"#,
        r#".map_20: unknown field, given as true; did you mean "map_200"?"#,
    ),
    (
        r#"{"map_200": 1}"#,
        ".map_200: must be true or false, not 1",
    ),
    (r#"{"rules": {}}"#, ".rules: must be a list, not {}"),
    (
        r#"{"rules": [{"status": 429}]}"#,
        ".rules[0].class: missing, but required; must be the class that the rule gives",
    ),
    (
        r#"{"rules": [{"status": 429, "class": "burst"}]}"#,
        r#".rules[0].class: "burst" is not a known class; did you mean "burst_rate"?"#,
    ),
    (
        r#"{"rules": [{"status": 429, "class": 1}]}"#,
        ".rules[0].class: must be the class that the rule gives, not 1",
    ),
    (
        r#"{"rules": [{"class": "rate"}]}"#,
        r#".rules[0]: must be a rule with a condition ("status", "header", "json_path" and "equals", or "phrase"), not {"class":"rate"}"#,
    ),
    (
        r#"{"rules": [{"class": "rate", "wait_header": "x-wait"}]}"#,
        r#".rules[0]: must be a rule with a condition ("status", "header", "json_path" and "equals", or "phrase"), not {"class":"rate","wait_header":"x-wait"}"#,
    ),
    (
        r#"{"rules": [{"status": 199, "class": "rate"}]}"#,
        ".rules[0].status: must be a whole number from 200 to 599, not 199",
    ),
    (
        r#"{"rules": [{"header": {"name": "x"}, "class": "rate"}]}"#,
        ".rules[0].header.value: missing, but required; must be a string of 1 to 256 bytes",
    ),
    (
        r#"{"rules": [{"header": {"name": "x y", "value": "1"}, "class": "rate"}]}"#,
        r#".rules[0].header.name: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not "x y""#,
    ),
    (
        r#"{"rules": [{"json_path": "error.code", "class": "rate"}]}"#,
        ".rules[0].equals: missing, but required; must be a string of 1 to 256 bytes, a number, true, false or null",
    ),
    (
        r#"{"rules": [{"equals": "x", "class": "rate"}]}"#,
        r#".rules[0].json_path: missing, but required; must be at most 8 fields and positions, as in "error.code" or "errors[0].type""#,
    ),
    (
        r#"{"rules": [{"json_path": "a..b", "equals": "x", "class": "rate"}]}"#,
        r#".rules[0].json_path: must be at most 8 fields and positions, as in "error.code" or "errors[0].type", not "a..b""#,
    ),
    (
        r#"{"rules": [{"json_path": "a.b.c.d.e.f.g.h.i", "equals": "x", "class": "rate"}]}"#,
        r#".rules[0].json_path: must be at most 8 fields and positions, as in "error.code" or "errors[0].type", not "a.b.c.d.e.f.g.h.i""#,
    ),
    (
        r#"{"rules": [{"json_path": "a", "equals": [], "class": "rate"}]}"#,
        ".rules[0].equals: must be a string of 1 to 256 bytes, a number, true, false or null, not []",
    ),
    (
        r#"{"rules": [{"json_path": "a", "equals": "", "class": "rate"}]}"#,
        r#".rules[0].equals: must be a string of 1 to 256 bytes, a number, true, false or null, not """#,
    ),
    (
        r#"{"rules": [{"phrase": "", "class": "rate"}]}"#,
        r#".rules[0].phrase: must be a string of 1 to 256 bytes, not """#,
    ),
    (
        r#"{"rules": [{"phrase": "x", "class": "rate"}, {"phrase": "x", "class": "rate", "wait_header": ""}]}"#,
        r#".rules[1].wait_header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not """#,
    ),
];

fn read(classify: &str) -> Result<Classify, String> {
    let json = format!(r#"{{"policies":[{{"name":"a","classify":{classify}}}]}}"#);
    let config = Config::parse(json.as_bytes()).map_err(|error| error.to_string())?;
    Ok(config.policies().first().unwrap().classify().clone())
}

#[test]
fn every_rule_has_its_message() {
    for (given, message) in WRONG {
        let expected = format!("policies[0].classify{message}");
        assert_eq!(read(given), Err(expected), "{given}");
    }
}

#[test]
fn texts_and_lists_are_bounded() {
    let rule = |phrase: &str| format!(r#"{{"phrase":"{phrase}","class":"rate"}}"#);
    let rules = |n: usize| format!(r#"{{"rules":[{}]}}"#, vec![rule("x"); n].join(","));
    assert_eq!(read(&rules(256)).unwrap().rules().len(), 256);
    let error = read(&rules(257)).unwrap_err();
    assert!(error.contains("must be a list of at most 256"), "{error}");
    let long = |bytes| format!(r#"{{"rules":[{}]}}"#, rule(&"x".repeat(bytes)));
    assert!(read(&long(256)).is_ok());
    let error = read(&long(257)).unwrap_err();
    assert!(error.contains("1 to 256 bytes"), "{error}");
}

#[test]
fn a_rule_says_what_was_written() {
    let classify = read(
        r#"{"map_200": true, "rules": [
            {"status": 430, "header": {"name": "X-Why", "value": "Slow"}, "json_path": "error.code",
             "equals": 8.0, "phrase": "slow down", "class": "burst_rate", "wait_header": "X-Wait"},
            {"json_path": "ok", "equals": false, "class": "other"},
            {"json_path": "ok", "equals": null, "class": "other"}]}"#,
    )
    .unwrap();
    assert!(classify.map_200());
    let [first, second, third] = classify.rules() else {
        panic!("three rules")
    };
    assert_eq!(
        *first.conditions(),
        Conditions {
            status: Some(430),
            header: Some(("x-why".into(), "Slow".into())),
            json: Some(("error.code".into(), "8".into())),
            phrase: Some("slow down".into()),
        }
    );
    assert_eq!(
        (first.class(), first.wait_header()),
        (Class::BurstRate, Some("x-wait"))
    );
    let value = |rule: &weir::core::classify::Rule| rule.conditions().json.clone().unwrap().1;
    assert_eq!(
        (value(second), value(third)),
        ("false".into(), "null".into())
    );
}

#[test]
fn without_a_word_there_are_no_rules_and_statuses_stay() {
    for silent in ["{}", r#"{"rules": []}"#, r#"{"map_200": false}"#] {
        assert_eq!(read(silent).unwrap(), Classify::default(), "{silent}");
    }
}

#[test]
fn the_documented_rules_are_read() {
    let page = include_str!("../docs/classify.md");
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (policy, _) = rest.split_once("```").unwrap();
    let config = Config::parse(format!(r#"{{"policies":[{policy}]}}"#).as_bytes()).unwrap();
    let rules = config.policies().first().unwrap().classify().rules();
    let classes: Vec<_> = rules.iter().map(|rule| rule.class()).collect();
    assert_eq!(
        classes,
        [Class::QuotaExhausted, Class::Overloaded, Class::Concurrency]
    );
}
