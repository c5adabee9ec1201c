//! The program `explain`: its exact output, its exit codes, and what it takes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

#[path = "../examples/explain/main.rs"]
#[allow(dead_code, reason = "its main is not called")]
mod explain;

use std::path::PathBuf;

use serde_json::{Value, json};

const BURST: &str = r#"{"error":{"code":"limit_burst_rate","type":"limit_burst_rate","message":"Request rate increased too quickly."}}"#;

/// What a run printed, and its exit code.
struct Ran {
    out: String,
    err: String,
    code: u8,
}

fn run(args: &[&str], stdin: &[u8]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = args.iter().map(|arg| arg.as_bytes().to_vec());
    let code = explain::run(args, &mut &*stdin, &mut out, &mut err);
    Ran {
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
        code,
    }
}

/// Runs without a complaint.
fn good(args: &[&str], stdin: &[u8]) -> String {
    let ran = run(args, stdin);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    ran.out
}

fn verdict(args: &[&str], stdin: &[u8]) -> Value {
    serde_json::from_str(&good(&[args, &["--json"]].concat(), stdin)).unwrap()
}

/// A file that is gone when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: impl AsRef<[u8]>) -> File {
        let path = std::env::temp_dir().join(format!("weir-explain-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_verdict_is_one_object_with_its_keys_in_order() {
    let args = [
        "--status",
        "429",
        "--header",
        "Retry-After: 7",
        "--body",
        BURST,
        "--provider",
        "dashscope",
        "--json",
    ];
    assert_eq!(
        good(&args, b""),
        concat!(
            r#"{"refusal":true,"class":"burst_rate","retryable":true,"wait_ms":7000,"scope":"account","#,
            r#""confidence":"exact","profile":"dashscope","evidence":["#,
            r#"{"where":"body:error.code","what":"limit_burst_rate"},"#,
            r#"{"where":"header","what":"retry-after"}]}"#,
            "\n"
        )
    );
    let plain = verdict(&["--status", "200", "--body", "{}"], b"");
    assert_eq!(
        (&plain["refusal"], &plain["wait_ms"]),
        (&json!(false), &Value::Null)
    );
}

#[test]
fn prose_says_what_it_is_and_what_weir_does() {
    let retried = good(&["--status", "429", "--body", BURST], b"");
    assert!(
        retried.starts_with("A refusal: burst_rate, the traffic grew too fast.\n"),
        "{retried}"
    );
    assert!(
        retried.contains("sends the call again after 5 s to 15 s."),
        "{retried}"
    );
    let with_minimum = [
        "--status",
        "429",
        "--body",
        BURST,
        "--header",
        "retry-after: 20",
    ];
    let with_minimum = good(&with_minimum, b"");
    assert!(
        with_minimum.contains("again after 20 s to 30 s."),
        "{with_minimum}"
    );
    let quota = good(&["--status", "402"], b"");
    assert!(quota.contains("passes it on with status 402"), "{quota}");
    let late = good(&["--status", "429", "--header", "retry-after: 7200"], b"");
    assert!(late.contains("Asks to wait 2 h"), "{late}");
    assert!(late.contains("longer than retry_after_cap_ms"), "{late}");
    let success = good(&["--status", "200"], b"");
    assert!(success.starts_with("Not a refusal.\n"), "{success}");
    assert!(success.ends_with("passes it on as it is.\n"), "{success}");
}

#[test]
fn a_body_may_come_from_a_file_and_a_profile_from_the_host() {
    let file = File::new("body", BURST);
    let seen = verdict(&["--status", "429", "--body-file", file.path()], b"");
    assert_eq!(seen["class"], "burst_rate");
    let hosted = ["--status", "429", "--host", "api.anthropic.com:443"];
    assert_eq!(verdict(&hosted, b"")["profile"], "anthropic");
}

#[test]
fn the_clock_is_the_given_one_and_never_the_machines() {
    let date = "retry-after: Mon, 21 Sep 2026 14:13:25 GMT";
    let at = |now: &[&str]| verdict(&[&["--status", "429", "--header", date], now].concat(), b"");
    // 1790000000000 is 14:13:20.
    assert_eq!(at(&[])["wait_ms"], 5000);
    assert_eq!(at(&["--now-ms", "1789999999000"])["wait_ms"], 6000);
}

#[test]
fn the_last_header_block_of_curl_counts() {
    let refused = format!("HTTP/2 429 \nretry-after: 3\nContent-Type: application/json\n\n{BURST}");
    let before = [
        "",
        "HTTP/1.1 100 Continue\n\n",
        "HTTP/1.1 200 Connection established\nretry-after: 99\n\n",
        "HTTP/1.1 200 Connection established\n\nHTTP/1.1 100 Continue\n\n",
        "HTTP/1.1 301 Moved Permanently\nlocation: https://b.test/\nretry-after: 99\n\nHTTP/3 302\n\n",
    ];
    for before in before {
        let text = format!("{before}{refused}");
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let seen = verdict(&[], text.as_bytes());
            assert_eq!(
                (&seen["class"], &seen["wait_ms"]),
                (&json!("burst_rate"), &json!(3000)),
                "{text}"
            );
        }
    }
    let seen = verdict(&["--provider", "dashscope"], refused.as_bytes());
    assert_eq!(seen["profile"], "dashscope");
}

#[test]
fn curl_without_a_body_or_a_last_line_end_is_taken() {
    for text in [
        "HTTP/1.1 429 Too Many Requests",
        "HTTP/1.1 429\nretry-after: 2",
        "HTTP/2 429\n\n",
    ] {
        assert_eq!(verdict(&[], text.as_bytes())["class"], "rate", "{text}");
    }
    let bytes = b"HTTP/1.1 429 x\r\nx-odd: \xff\r\nno colon\r\n: none\r\n\r\n\xff\xfe";
    assert_eq!(verdict(&[], bytes)["class"], "rate");
}

#[test]
fn what_cannot_be_used_is_exit_code_2() {
    let missing = "/nonexistent/weir";
    let wrong: &[(&[&str], &str)] = &[
        (&[], "no --status, and nothing on stdin"),
        (&["--body", "x"], "--status is missing"),
        (&["--header", "a: b"], "--status is missing"),
        (&["--status"], "--status needs a value"),
        (
            &["--status", "42"],
            "--status cannot be '42': must be a status of three digits",
        ),
        (&["--status", "1e2"], "three digits"),
        (
            &["--status", "429", "--status", "429"],
            "--status is given twice",
        ),
        (
            &["--status", "429", "--header", "novalue"],
            "--header cannot be 'novalue'",
        ),
        (
            &["--status", "429", "--body", "a", "--body-file", "b"],
            "--body and --body-file do not go together",
        ),
        (&["--status", "429", "--body-file", missing], missing),
        (
            &["--status", "429", "--provider", "acme"],
            "--provider cannot be 'acme'",
        ),
        (
            &["--status", "429", "--now-ms", "-1"],
            "--now-ms cannot be '-1'",
        ),
        (&["--jsonl", missing], missing),
        (&["--jsonl", "x", "--status", "429"], "do not go together"),
        (&["--verbose"], "unknown option '--verbose'"),
        (&["429"], "unknown option '429'"),
    ];
    for (args, message) in wrong {
        let ran = run(args, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(
            ran.err.starts_with("explain: ") && ran.err.contains(message),
            "{}",
            ran.err
        );
    }
    for text in [
        "hello\n\nworld",
        "HTTP/1.1 4x9 x\n\n",
        "HTTP/1.1\n\n",
        "\nHTTP/1.1 429 x\n\n",
    ] {
        let ran = run(&[], text.as_bytes());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}");
    }
    let help = run(&["--help"], b"");
    assert_eq!((help.code, help.out.as_str()), (0, ""));
    assert!(help.err.starts_with("usage: explain"));
}

/// Cases with all there is to expect, each with one thing changed.
fn case(changes: Value) -> String {
    let mut case = json!({"id": "a", "provider": "openai", "status": 429, "headers": {"Retry-After": "2"},
        "body": "", "expect": {"reason": "rate", "retryable": true, "wait_ms": 2000}});
    for (name, value) in changes.as_object().unwrap() {
        case[name] = value.clone();
    }
    case.to_string()
}

fn cases(lines: &[String]) -> (Vec<Value>, u8) {
    let name = format!("cases-{:?}", std::thread::current().id());
    let file = File::new(&name, lines.join("\n"));
    let ran = run(&["--jsonl", file.path()], b"");
    assert_eq!(ran.err, "");
    let lines = ran.out.lines();
    (
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        ran.code,
    )
}

#[test]
fn a_case_and_the_summary_have_exactly_these_fields() {
    let file = File::new("exact", case(json!({})));
    assert_eq!(
        good(&["--jsonl", file.path()], b""),
        concat!(
            r#"{"id":"a","class":"rate","retryable":true,"wait_ms":2000,"class_ok":true,"retryable_ok":true,"wait_ok":true}"#,
            "\n",
            r#"{"summary":{"cases":1,"class_ok":1,"retryable_ok":1,"wait_ok":1,"by_class":{"rate":{"cases":1,"ok":1}}}}"#,
            "\n"
        )
    );
}

#[test]
fn expectations_are_scored_as_stated() {
    let expect = |reason: &str, retryable: bool, wait: Value| json!({"reason": reason, "retryable": retryable, "wait_ms": wait});
    // (changes, class_ok, retryable_ok, wait_ok, exit code)
    let table = [
        (json!({}), [true, true, true], 0),
        (
            json!({"expect": expect("overloaded", true, json!(2000))}),
            [false, true, true],
            1,
        ),
        (
            json!({"expect": expect("rate", false, json!(2000))}),
            [true, false, true],
            1,
        ),
        (
            json!({"expect": expect("rate", true, Value::Null)}),
            [true, true, false],
            1,
        ),
        // An alternative passes, and what goes with it is not scored.
        (
            json!({"expect": expect("quota_exhausted", false, json!(2000)), "accept_reasons": ["rate"]}),
            [true, true, true],
            0,
        ),
        // An alternative that is the expectation itself changes nothing.
        (
            json!({"expect": expect("rate", false, json!(2000)), "accept_reasons": ["rate"]}),
            [true, false, true],
            1,
        ),
        (
            json!({"expect": expect("rate", true, json!(9)), "accept_wait_ms": [null, 2000]}),
            [true, true, true],
            0,
        ),
        (
            json!({"headers": {}, "expect": expect("rate", true, json!(9)), "accept_wait_ms": [null]}),
            [true, true, true],
            0,
        ),
    ];
    for (changes, marks, code) in table {
        let (lines, got) = cases(&[case(changes.clone())]);
        let line = &lines[0];
        let seen = [&line["class_ok"], &line["retryable_ok"], &line["wait_ok"]];
        assert_eq!(
            (seen.map(|m| m.as_bool().unwrap()), got),
            (marks, code),
            "{changes}"
        );
    }
}

#[test]
fn cases_without_an_expectation_are_not_scored() {
    let silent = r#"{"id":"s","status":503}"#.to_owned();
    let (lines, code) = cases(&[silent, String::new(), case(json!({}))]);
    assert_eq!(code, 0);
    assert_eq!(
        lines[0],
        json!({"id": "s", "class": "overloaded", "retryable": true, "wait_ms": null,
            "class_ok": null, "retryable_ok": null, "wait_ok": null})
    );
    assert_eq!(
        lines[2]["summary"],
        json!({"cases": 2, "class_ok": 1, "retryable_ok": 1, "wait_ok": 1,
            "by_class": {"rate": {"cases": 1, "ok": 1}}})
    );
}

#[test]
fn a_case_is_read_as_envoy_would_show_it() {
    // The exact bytes win over the text.
    let exact = case(
        json!({"provider": "dashscope", "body": "{}", "headers": {}, "body_b64":
        "eyJlcnJvciI6eyJjb2RlIjoibGltaXRfYnVyc3RfcmF0ZSJ9fQ=="}),
    );
    let now = case(json!({"now_ms": 1000,
        "headers": {"retry-after": "Thu, 01 Jan 1970 00:00:08 GMT"}}));
    let unknown = case(json!({"provider": "acme"}));
    let (lines, _) = cases(&[exact, now, unknown]);
    let classes: Vec<_> = lines[..3].iter().map(|line| &line["class"]).collect();
    assert_eq!(classes, ["burst_rate", "rate", "rate"]);
    assert_eq!(lines[1]["wait_ms"], 7000);
}

#[test]
fn a_body_is_cut_at_16_kib() {
    let padded = |n: usize| format!("{}{BURST}", " ".repeat(n));
    let class = |body: &str| {
        let file = File::new("cut", body);
        verdict(&["--status", "429", "--body-file", file.path()], b"")["class"].clone()
    };
    assert_eq!(class(&padded(16_384 - BURST.len())), "burst_rate");
    assert_eq!(class(&padded(16_384)), "rate");
    let curl = format!("HTTP/2 429\n\n{}", padded(16_384));
    assert_eq!(verdict(&[], curl.as_bytes())["class"], "rate");
    let (lines, _) = cases(&[case(json!({"body": padded(16_384)}))]);
    assert_eq!(lines[0]["class"], "rate");
}

#[test]
fn a_line_that_is_no_case_is_named() {
    let file = File::new("bad", format!("{}\n\n{{\"id\":1}}\n", case(json!({}))));
    let ran = run(&["--jsonl", file.path()], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("line 3"), "{}", ran.err);
}

#[test]
fn the_corpus_is_explained_without_a_miss() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/responses.jsonl");
    let out = good(&["--jsonl", corpus], b"");
    let summary: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    let cases = out.lines().count() - 1;
    assert_eq!(summary["summary"]["cases"], cases);
    assert!(cases > 200);
}
