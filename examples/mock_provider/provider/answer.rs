//! Answers that are no refusal, in the shape that was asked.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::body::Outgoing;
use super::format::unix_now;
use super::model::Start;
use super::state::Running;

/// Whose API a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    OpenAi,
    Anthropic,
}

/// What a request asks for.
pub(super) struct Asked {
    pub(super) shape: Shape,
    pub(super) stream: bool,
    pub(super) model: String,
}

const WORDS: [&str; 4] = ["The ", "river ", "runs ", "on."];

/// Takes the time that was drawn: a stream starts at its first byte's time, a whole answer comes
/// at the end.
pub(super) async fn success(asked: &Asked, start: Start, running: Running) -> Response<Outgoing> {
    let now = Instant::now();
    let (first, end) = (now + start.service.first_byte, now + start.service.whole);
    if !asked.stream {
        sleep_until(end).await;
        drop(running);
        return json(StatusCode::OK, &whole(asked, start.number));
    }
    let events = match asked.shape {
        Shape::OpenAi => openai_events(asked, start.number),
        Shape::Anthropic => anthropic_events(asked, start.number),
    };
    let steps = u32::try_from(events.len().saturating_sub(1))
        .unwrap_or(1)
        .max(1);
    let between = end.duration_since(first) / steps;
    let mut at = first;
    let chunks = events.into_iter().map(|event| {
        let this = at;
        at += between;
        (this, Bytes::from(event))
    });
    let chunks: Vec<_> = chunks.collect();
    sleep_until(first).await;
    let mut response = Response::new(Outgoing::timed(chunks, running));
    set_type(&mut response, "text/event-stream");
    response
}

pub(super) fn json(status: StatusCode, body: &Value) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Whole(Some(body.to_string().into())));
    *response.status_mut() = status;
    set_type(&mut response, "application/json");
    response
}

pub(super) fn error(status: StatusCode, message: &str) -> Response<Outgoing> {
    json(
        status,
        &json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}}),
    )
}

fn set_type(response: &mut Response<Outgoing>, kind: &'static str) {
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
}

fn whole(asked: &Asked, number: usize) -> Value {
    let text = WORDS.concat();
    match asked.shape {
        Shape::OpenAi => json!({
            "id": format!("chatcmpl-mock-{number}"), "object": "chat.completion",
            "created": unix_now().as_secs(), "model": asked.model,
            "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 4, "completion_tokens": 4, "total_tokens": 8}}),
        Shape::Anthropic => json!({
            "id": format!("msg_mock_{number}"), "type": "message", "role": "assistant",
            "model": asked.model, "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 4, "output_tokens": 4}}),
    }
}

fn openai_events(asked: &Asked, number: usize) -> Vec<String> {
    let created = unix_now().as_secs();
    let event = |delta: Value, finish: Value| {
        let body = json!({
            "id": format!("chatcmpl-mock-{number}"), "object": "chat.completion.chunk",
            "created": created, "model": asked.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {body}\n\n")
    };
    let mut events = vec![event(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    events.extend(WORDS.map(|word| event(json!({"content": word}), Value::Null)));
    events.push(event(json!({}), json!("stop")) + "data: [DONE]\n\n");
    events
}

fn anthropic_events(asked: &Asked, number: usize) -> Vec<String> {
    let event = |body: Value| {
        let kind = body.get("type").and_then(Value::as_str).unwrap_or_default();
        format!("event: {kind}\ndata: {body}\n\n")
    };
    let start = event(json!({"type": "message_start", "message": {
        "id": format!("msg_mock_{number}"), "type": "message", "role": "assistant", "content": [],
        "model": asked.model, "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 4, "output_tokens": 1}}}));
    let open = event(json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}}));
    let mut events = vec![start + &open];
    events.extend(WORDS.map(|word| {
        event(json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": word}}))
    }));
    let end = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "usage": {"output_tokens": 4},
            "delta": {"stop_reason": "end_turn", "stop_sequence": null}}),
        json!({"type": "message_stop"}),
    ];
    events.push(end.map(event).concat());
    events
}
