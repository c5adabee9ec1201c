//! Refusals under a 200, on a real Envoy: what is retried, and that nothing else is touched.

use crate::support;

use bytes::Bytes;
use serde_json::json;
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, Seen};

const OVERLOADED: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
const START: &str =
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n";
const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// An event of assistant text.
fn text(said: &str) -> String {
    let data = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": said}});
    format!("event: content_block_delta\ndata: {data}\n\n")
}

fn pieces(events: &[&str]) -> Vec<Bytes> {
    events.iter().map(|e| e.to_string().into()).collect()
}

/// Answers each call's first attempt with `first`, then streams an answer.
async fn once(first: Reply) -> Provider {
    Provider::start(move |seen: &Seen| match seen.attempt {
        1 => first.clone(),
        _ => Reply::stream(pieces(&[START, &text("hello")])),
    })
    .await
}

async fn weir(provider: &Provider, profile: &str) -> Envoy {
    weir_with(provider, json!({"provider": profile})).await
}

async fn weir_with(provider: &Provider, patch: serde_json::Value) -> Envoy {
    Envoy::start(&Bootstrap::new(provider.addr, &policy(patch))).await
}

async fn assert_retried(first: Reply, profile: &str, class: &str) {
    let provider = once(first).await;
    let envoy = weir(&provider, profile).await;
    let answer = Call::chat("r").send(envoy.addr).await;
    assert_eq!(
        (answer.status, answer.header("x-weir-attempts")),
        (200, Some("2"))
    );
    assert_eq!(answer.text(), format!("{START}{}", text("hello")));
    assert_eq!(answer.header("x-weir-class"), None);
    envoy
        .wait_policy(&format!("retries.class.{class}"), 1)
        .await;
    envoy.assert_idle().await;
    assert_eq!(provider.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_in_the_first_event_is_retried() {
    let stream = Reply::stream(pieces(&[START, PING, OVERLOADED]));
    assert_retried(stream, "anthropic", "overloaded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_in_a_stream_that_stays_open_is_retried() {
    let open = Reply::new(200, OVERLOADED).header("content-type", "text/event-stream");
    assert_retried(open.endless(), "anthropic", "overloaded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_in_an_envelope_is_retried() {
    let body = json!({"base_resp": {"status_code": 2045, "status_msg": "rate growth limit"}});
    assert_retried(Reply::json(200, &body), "minimax", "burst_rate").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_that_stands_reaches_the_client_as_it_was_sent() {
    for (map_200, status) in [(false, 200), (true, 503)] {
        let provider = Provider::start(|_| {
            Reply::stream(pieces(&[OVERLOADED, ": bye\n\n"])).header("x-request-id", "7")
        })
        .await;
        let patch = json!({"provider": "anthropic", "classify": {"map_200": map_200}});
        let envoy = weir_with(&provider, patch).await;
        let answer = Call::chat("s").send(envoy.addr).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.text(), format!("{OVERLOADED}: bye\n\n"));
        assert_eq!(answer.header("x-weir-class"), Some("overloaded"));
        assert_eq!(answer.header("x-weir-attempts"), Some("3"));
        assert_eq!(answer.header("x-request-id"), Some("7"));
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert_eq!(answer.header("x-envoy-ratelimited"), None);
        envoy.assert_idle().await;
        assert_eq!(provider.count(), 3);
    }
}

/// L13: neither the retried nor the final ones count against the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_under_a_200_eject_no_host() {
    let provider = Provider::start(|_| Reply::stream(pieces(&[OVERLOADED]))).await;
    // A key each, or every refusal would make the next call wait for longer.
    let patch = json!({"provider": "anthropic", "classify": {"map_200": true},
        "key": [{"header": "x-id"}]});
    let outlier = json!({"outlier_detection": {"consecutive_5xx": 1, "interval": "0.1s"}});
    let config = Bootstrap::new(provider.addr, &policy(patch)).clusters(&outlier);
    let envoy = Envoy::start(&config).await;
    for i in 0..3 {
        assert_eq!(Call::chat(i).send(envoy.addr).await.status, 503);
    }
    let ejected = "cluster.provider.outlier_detection.ejections_enforced_total";
    assert_eq!(envoy.stat(ejected).await, Some(0));
    assert_eq!(provider.count(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn assistant_text_that_quotes_an_error_is_not_touched() {
    let quoted = text(OVERLOADED);
    let plain = json!({"type": "message", "content": [{"type": "text", "text": OVERLOADED}]});
    for reply in [
        Reply::stream(pieces(&[START, &quoted, OVERLOADED])),
        Reply::json(200, &plain),
    ] {
        let expected = reply.clone();
        let provider = Provider::start(move |_| reply.clone()).await;
        let envoy = weir(&provider, "anthropic").await;
        let answer = Call::chat("q").send(envoy.addr).await;
        assert_eq!((answer.status, answer.header("x-weir-class")), (200, None));
        assert_eq!(answer.body, expected.bytes());
        assert_eq!(provider.count(), 1);
        envoy.assert_idle().await;
    }
}

/// After the look every event is there before the next one is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_flows_event_by_event() {
    let words: Vec<String> = (0..20).map(|i| text(&format!("word {i} "))).collect();
    let mut events = vec![START, PING];
    events.extend(words.iter().map(String::as_str));
    for h2 in [false, true] {
        let gate = Gate::closed();
        let reply = Reply::stream(pieces(&events)).between(&gate);
        let provider = Provider::start(move |_| reply.clone()).await;
        let config = Bootstrap::new(provider.addr, &policy(json!({"provider": "anthropic"})));
        let config = if h2 { config.h2_upstream() } else { config };
        let envoy = Envoy::start(&config).await;
        // The prelude and the first word.
        gate.let_through(2);
        let mut stream = Call::chat("f").open(envoy.addr).await;
        let head = format!("{START}{PING}{}", words[0]);
        let mut got = Vec::new();
        while got.len() < head.len() {
            got.extend(stream.next().await.expect("the looked-at part"));
        }
        assert_eq!(String::from_utf8_lossy(&got), head);
        for word in &words[1..] {
            gate.let_through(1);
            assert_eq!(stream.next().await.expect("an event"), word.as_bytes());
        }
        assert_eq!(stream.next().await, None);
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_comments_goes_on_before_it_says_anything() {
    let gate = Gate::closed();
    let answer = text("at last");
    let reply = Reply::stream(pieces(&[": a\n\n", ": b\n\n", &answer])).between(&gate);
    let provider = Provider::start(move |_| reply.clone()).await;
    let envoy = weir(&provider, "anthropic").await;
    // The head comes though nothing but a comment was sent.
    let mut stream = Call::chat("c").open(envoy.addr).await;
    assert_eq!(stream.next().await.expect("a comment"), ": a\n\n");
    for event in [": b\n\n", &answer] {
        gate.let_through(1);
        assert_eq!(stream.next().await.expect("an event"), event);
    }
    assert_eq!(stream.next().await, None);
    envoy.assert_idle().await;
}

/// Whatever the look saw when it ended, the client gets every byte once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_chunking_arrives_byte_for_byte() {
    let words: String = (0..40).map(|i| text(&format!("{i}"))).collect();
    let streams = [
        format!("{START}{words}"),
        format!(": hi\r\n\r\n{START}{PING}{words}{OVERLOADED}"),
        format!(":{}\n\n{words}", " ".repeat(40_000)),
        words.clone(),
        "data: {}".to_owned(),
    ];
    for stream in streams {
        let whole = Bytes::from(stream);
        let sent = whole.clone();
        let provider = Provider::start(move |seen: &Seen| {
            let size: usize = seen.id.parse().expect("a size");
            Reply::stream(sent.chunks(size).map(Bytes::copy_from_slice).collect())
        })
        .await;
        let envoy = weir(&provider, "anthropic").await;
        for size in [7, 64, 100, 101, 1000, 16 * 1024, 16 * 1024 + 1, 60_000] {
            let answer = Call::chat(size).send(envoy.addr).await;
            assert_eq!(answer.status, 200);
            assert!(answer.body == whole, "in pieces of {size}");
        }
        envoy.assert_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_json_answer_arrives_whole() {
    let content = "x".repeat(300_000);
    let body = json!({"type": "message", "content": [{"type": "text", "text": content}]});
    let plain = body.to_string();
    let chunked = Reply::stream(
        plain
            .as_bytes()
            .chunks(1000)
            .map(Bytes::copy_from_slice)
            .collect(),
    );
    let chunked = Reply {
        headers: vec![("content-type".into(), b"application/json".to_vec())],
        ..chunked
    };
    for reply in [Reply::json(200, &body), chunked] {
        let provider = Provider::start(move |_| reply.clone()).await;
        let envoy = weir(&provider, "anthropic").await;
        let answer = Call::chat("l").send(envoy.addr).await;
        assert!(answer.status == 200 && answer.text() == plain);
        envoy.assert_idle().await;
    }
}

/// A provider that is not known to refuse there: its headers are at the client before its body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_provider_is_kept_waiting() {
    let gate = Gate::closed();
    let reply = Reply::stream(pieces(&["", OVERLOADED])).between(&gate);
    let provider = Provider::start(move |_| reply.clone()).await;
    let envoy = weir(&provider, "groq").await;
    let mut stream = Call::chat("n").open(envoy.addr).await;
    assert_eq!(stream.header("x-weir-attempts"), Some("1"));
    gate.let_through(1);
    assert_eq!(stream.next().await.expect("the event"), OVERLOADED);
    envoy.assert_idle().await;
}

/// Envoy keeps the body back, unseen: the headers go on and it is said what is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_flag_of_the_attempt_half_streams_go_on() {
    let words = text("hello");
    let provider = Provider::start(move |_| Reply::stream(pieces(&[START, &words]))).await;
    let weir = policy(json!({"provider": "anthropic"}));
    let config = Bootstrap::new(provider.addr, &weir).without_stop_iteration();
    let envoy = Envoy::start(&config).await;
    for i in 0..3 {
        let answer = Call::chat(i).send(envoy.addr).await;
        assert_eq!(answer.text(), format!("{START}{}", text("hello")));
    }
    envoy.assert_idle().await;
    let missing = "wasmcustom.weir.plugin.avoided.no_stop_iteration";
    envoy.wait_stat(missing, |n| n == 1).await;
}
