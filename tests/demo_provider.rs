//! The mock provider over HTTP: both shapes, the words and headers of each limit, and that Weir
//! takes them for what they are.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

#[path = "../examples/demo/app/mod.rs"]
#[allow(dead_code, reason = "the tests use their own part of the demo")]
mod app;
mod support;

use std::time::Duration;

use app::provider::model::{Concurrency, FixedWindow, Limits, Slope, Steps, TokenBucket};
use app::provider::{Options, Provider};
use serde_json::json;
use support::{Answer, Call};
use weir::core::classify::{Answer as Refused, classify};

const OPENAI: &str = "/v1/chat/completions";
const ANTHROPIC: &str = "/v1/messages";
const MINUTE: Duration = Duration::from_secs(60);

async fn start(limits: Limits) -> Provider {
    let options = Options {
        limits,
        seed: 1,
        ..Options::default()
    };
    Provider::start(options).await.unwrap()
}

async fn ask(provider: &Provider, path: &str, stream: bool) -> Answer {
    let body = json!({"model": "m", "stream": stream, "messages": []}).to_string();
    Call::chat("a")
        .path(path)
        .body(body)
        .send(provider.addr)
        .await
}

#[tokio::test]
async fn both_shapes_answer_whole_and_in_events() {
    let provider = start(Limits::default()).await;
    let whole = ask(&provider, OPENAI, false).await.json();
    assert_eq!(whole["object"], "chat.completion");
    assert_eq!(whole["choices"][0]["message"]["role"], "assistant");
    let whole = ask(&provider, ANTHROPIC, false).await.json();
    assert_eq!(
        (&whole["type"], &whole["model"]),
        (&json!("message"), &json!("m"))
    );

    let stream = ask(&provider, OPENAI, true).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert!(
        stream
            .text()
            .contains(r#""object":"chat.completion.chunk""#)
    );
    assert!(stream.text().ends_with("data: [DONE]\n\n"));
    assert!(stream.chunks.len() > 3, "in pieces");
    let stream = ask(&provider, ANTHROPIC, true).await;
    assert!(stream.text().starts_with("event: message_start\n"));
    assert!(stream.text().contains("event: message_stop\n"));
    assert_eq!(
        Call::get("/v1/models").send(provider.addr).await.status,
        404
    );
}

#[tokio::test]
async fn an_answer_takes_its_time_and_the_log_tells_it() {
    let provider = start(Limits::default()).await;
    let before = provider.now();
    let stream = ask(&provider, OPENAI, true).await;
    let took = (provider.now() - before).as_secs_f64() * 1000.0;
    let log = Call::get("/log").send(provider.addr).await.json();
    let service = log["starts"][0]["service_ms"].as_f64().unwrap();
    assert!(took >= service - 1.0, "{took} {service}");
    let body = stream.chunks[stream.chunks.len() - 1].0 - stream.chunks[0].0;
    let body = body.as_secs_f64() * 1000.0;
    assert!(
        (body - 0.7 * service).abs() < 0.2 * service,
        "{body} {service}"
    );
    assert_eq!((&log["accepted"], &log["refused"]), (&json!(1), &json!(0)));
    assert_eq!((&log["running"], &log["peak"]), (&json!(0), &json!(1)));
    assert_eq!(log["transports"], json!({"HTTP/1.1 sni=none": 1}));
}

#[tokio::test]
async fn a_client_that_goes_away_runs_no_longer() {
    let provider = start(Limits::default()).await;
    for stream in [true, false] {
        let body = json!({"stream": stream}).to_string();
        let call = Call::chat("a").body(body).start(provider.addr);
        while provider.count().running == 0 {
            tokio::task::yield_now().await;
        }
        call.abort();
        let gone = async {
            while provider.count().running > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let soon = Duration::from_millis(200);
        assert!(
            tokio::time::timeout(soon, gone).await.is_ok(),
            "stream {stream}"
        );
    }
}

#[tokio::test]
async fn a_wrong_key_is_told() {
    let options = Options {
        key: Some("right".into()),
        ..Options::default()
    };
    let provider = Provider::start(options).await.unwrap();
    for (name, value, status) in [
        ("authorization", "Bearer right", 200),
        ("x-api-key", "right", 200),
        ("authorization", "right", 401),
        ("x-api-key", "wrong", 401),
    ] {
        let call = Call::chat("a").header(name, value);
        assert_eq!(call.send(provider.addr).await.status, status, "{name}");
    }
}

/// What refuses every call but the first few, and what Weir makes of the refusal.
fn limits() -> [(Limits, &'static str); 5] {
    let limits = Limits::default;
    [
        (
            Limits {
                concurrency: Some(Concurrency(1)),
                ..limits()
            },
            "concurrency",
        ),
        (
            Limits {
                slope: Some(Slope::default()),
                ..limits()
            },
            "burst_rate",
        ),
        (
            Limits {
                token_bucket: Some(TokenBucket::new(0.1, 1.0)),
                ..limits()
            },
            "rate",
        ),
        (
            Limits {
                window: Some(FixedWindow::new(1, MINUTE)),
                ..limits()
            },
            "rate",
        ),
        (
            Limits {
                steps: Some(Steps::new(0, 0, MINUTE)),
                ..limits()
            },
            "burst_rate",
        ),
    ]
}

#[tokio::test]
async fn weir_takes_each_refusal_for_what_it_is() {
    for (limits, class) in limits() {
        for path in [OPENAI, ANTHROPIC] {
            let provider = start(limits.clone()).await;
            let mut streams = Vec::new();
            let refusal = loop {
                let call = Call::chat("a").path(path).body(r#"{"stream":true}"#);
                let answer = call.open(provider.addr).await;
                if answer.status() == 429 {
                    break Call::chat("a").path(path).send(provider.addr).await;
                }
                streams.push(answer);
            };
            assert_eq!(refusal.status, 429, "{class} {path}");
            let headers = refusal.headers.iter();
            let headers: Vec<_> = headers
                .map(|(n, v)| (n.as_str().into(), v.as_bytes().into()))
                .collect();
            let verdict = classify(&Refused {
                headers: &headers,
                body: &refusal.body,
                ..Refused::of_status(429)
            });
            let found = verdict.refused().map(|c| c.name());
            // Both are retried alike; whether they are told apart is the classifier's own test.
            let alike = class == "concurrency" && found == Some("rate");
            assert!(
                alike || found == Some(class),
                "{path}: {found:?} {}",
                refusal.text()
            );
        }
    }
}

#[tokio::test]
async fn waits_are_in_the_headers() {
    let provider = start(Limits {
        token_bucket: Some(TokenBucket::new(0.1, 1.0)),
        ..Limits::default()
    })
    .await;
    assert_eq!(ask(&provider, OPENAI, true).await.status, 200);
    let refusal = ask(&provider, OPENAI, true).await;
    let seconds: u64 = refusal.header("retry-after").unwrap().parse().unwrap();
    let ms: u64 = refusal.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((1..=10).contains(&seconds), "{seconds}");
    assert_eq!(ms.div_ceil(1000), seconds);
    assert!(
        ask(&provider, ANTHROPIC, true)
            .await
            .header("retry-after")
            .is_some()
    );

    let provider = start(Limits {
        window: Some(FixedWindow::new(2, MINUTE)),
        ..Limits::default()
    })
    .await;
    let accepted = ask(&provider, OPENAI, true).await;
    assert_eq!(accepted.header("x-ratelimit-limit-requests"), Some("2"));
    assert_eq!(accepted.header("x-ratelimit-remaining-requests"), Some("1"));
    assert!(
        accepted
            .header("x-ratelimit-reset-requests")
            .unwrap()
            .ends_with('s')
    );
    let accepted = ask(&provider, ANTHROPIC, true).await;
    assert_eq!(
        accepted.header("anthropic-ratelimit-requests-remaining"),
        Some("0")
    );
    assert!(
        accepted
            .header("anthropic-ratelimit-requests-reset")
            .unwrap()
            .ends_with('Z')
    );
    let refused = ask(&provider, OPENAI, true).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-ratelimit-remaining-requests"), Some("0"));
    assert!(refused.header("retry-after").is_none());
}
