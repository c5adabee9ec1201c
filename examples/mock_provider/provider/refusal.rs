//! Refusals as the providers word them that have such a limit.
//!
//! OpenAI's shape: a concurrency limit speaks as Moonshot, a slope as Alibaba Model Studio, the
//! rest as OpenAI itself. Anthropic's shape: as Anthropic.

use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::answer::{self, Shape};
use super::body::Outgoing;
use super::format::{go_duration, rfc3339, unix_now};
use super::model::{Refusal, WindowState};

pub(super) fn response(shape: Shape, refusal: &Refusal) -> Response<Outgoing> {
    let body = match shape {
        Shape::OpenAi => openai(refusal),
        Shape::Anthropic => anthropic(refusal),
    };
    let mut response = answer::json(StatusCode::TOO_MANY_REQUESTS, &body);
    let headers = response.headers_mut();
    if let Refusal::TokenBucket { wait, .. } | Refusal::Steps { wait, .. } = refusal {
        set(headers, "retry-after", &whole_seconds(*wait).to_string());
        if shape == Shape::OpenAi {
            let ms = wait.as_micros().div_ceil(1000).max(1);
            set(headers, "retry-after-ms", &ms.to_string());
        }
    }
    response
}

/// The headers that tell where a fixed window stands; on successes as well.
pub(super) fn add_window(headers: &mut HeaderMap, shape: Shape, window: WindowState) {
    let (prefix, suffix, reset) = match shape {
        Shape::OpenAi => ("x-ratelimit-", "-requests", go_duration(window.reset)),
        Shape::Anthropic => (
            "anthropic-ratelimit-requests-",
            "",
            rfc3339(unix_now() + window.reset),
        ),
    };
    let name = |part| format!("{prefix}{part}{suffix}");
    set(headers, &name("limit"), &window.limit.to_string());
    set(headers, &name("remaining"), &window.remaining.to_string());
    set(headers, &name("reset"), &reset);
}

fn openai(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::Concurrency { limit } => json!({"error": {
            "message": format!("Your account org-mock<ak-mock> request reached max organization concurrency: {limit}, please try again after 1 seconds"),
            "type": "rate_limit_reached_error"}}),
        Refusal::Slope => json!({"error": {
            "message": "Request rate increased too quickly. To ensure system stability, please adjust your client logic to scale requests more smoothly over time.",
            "type": "limit_burst_rate", "param": null, "code": "limit_burst_rate"},
            "id": "chatcmpl-mock", "request_id": "mock"}),
        Refusal::TokenBucket {
            wait, per_second, ..
        } => openai_rate(per_minute(*per_second), *wait),
        Refusal::Window(window) => {
            let minutes = window.length.as_secs_f64() / 60.0;
            openai_rate((window.limit as f64 / minutes).round(), window.reset)
        }
        Refusal::Steps { .. } => json!({"error": {
            "message": "Traffic grew too quickly. Slow down and increase your request rate step by step.",
            "type": "rate_limit_error", "param": null, "code": "slow_down"}}),
    }
}

fn openai_rate(limit: f64, wait: Duration) -> Value {
    json!({"error": {
        "message": format!("Rate limit reached for mock in organization org-mock on requests per min (RPM): Limit {limit}, Used {limit}, Requested 1. Please try again in {}.", go_duration(wait)),
        "type": "requests", "param": null, "code": "rate_limit_exceeded"}})
}

fn anthropic(refusal: &Refusal) -> Value {
    let message = match refusal {
        Refusal::Concurrency { .. } => {
            "Number of concurrent connections has exceeded your rate limit. Please try again later.".into()
        }
        Refusal::Slope => {
            "This request would exceed the maximum usage increase rate for requests. Scale up more gradually (acceleration limit).".into()
        }
        Refusal::TokenBucket { per_second, .. } => format!(
            "This request would exceed your organization's rate limit of {} requests per minute.",
            per_minute(*per_second)
        ),
        Refusal::Window(window) => format!(
            "This request would exceed your organization's rate limit of {} requests per {}.",
            window.limit,
            go_duration(window.length)
        ),
        Refusal::Steps { now, next, .. } => format!(
            "This request would exceed the maximum usage increase rate for requests. The current value is {now}, the next value is {next}. Scale up more gradually (acceleration limit)."
        ),
    };
    json!({"type": "error", "request_id": "req_mock",
        "error": {"type": "rate_limit_error", "message": message}})
}

fn per_minute(per_second: f64) -> f64 {
    (per_second * 60.0).round()
}

fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

fn set(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::from_bytes(name.as_bytes());
    if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}
