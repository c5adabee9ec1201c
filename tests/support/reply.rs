//! What a scripted provider does with one request.

use bytes::Bytes;
use serde_json::{Value, json};

use super::gate::Gate;

/// One reply: a status with headers and a body, or one of the ways to fail.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// Passed before anything is sent.
    pub(crate) before: Option<Gate>,
    pub(crate) body: Payload,
}

/// The body of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    Whole(Bytes),
    /// The gate is passed before each chunk but the first.
    Chunks(Vec<Bytes>, Option<Gate>),
    /// Ends with trailers (over HTTP/2).
    Trailed(Bytes),
    /// Starts and never ends.
    Endless(Bytes),
    /// Starts and breaks the connection.
    Broken(Bytes),
    /// Breaks the connection before any answer.
    Reset,
    /// Never answers.
    Hang,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![],
            before: None,
            body: Payload::Whole(body.into()),
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, body.to_string()).header("content-type", "application/json")
    }

    pub(crate) fn ok() -> Self {
        Self::json(200, &json!({"object": "chat.completion", "choices": []}))
    }

    /// A refusal of the slope, as DashScope words it.
    pub(crate) fn burst() -> Self {
        Self::json(
            429,
            &json!({"error": {
                "message": "Request rate increased too quickly. To ensure system stability, please adjust your client logic to scale requests more smoothly over time.",
                "type": "limit_burst_rate", "code": "limit_burst_rate", "param": null}}),
        )
    }

    /// A plain rate limit.
    pub(crate) fn rate() -> Self {
        Self::json(
            429,
            &json!({"error": {
                "message": "Rate limit reached for requests",
                "type": "requests", "code": "rate_limit_exceeded", "param": null}}),
        )
    }

    /// A used-up balance: waiting does not help.
    pub(crate) fn quota() -> Self {
        Self::json(
            429,
            &json!({"error": {
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "type": "insufficient_quota", "code": "insufficient_quota", "param": null}}),
        )
    }

    /// An overload that comes as a 503.
    pub(crate) fn overloaded() -> Self {
        Self::json(
            503,
            &json!({"error": {
                "message": "The engine is currently overloaded, please try again later",
                "type": "overloaded_error", "code": "overloaded", "param": null}}),
        )
    }

    /// `events` server-sent events and the end mark.
    pub(crate) fn sse(events: usize) -> Self {
        let mut chunks: Vec<Bytes> = (0..events)
            .map(|i| format!("data: {{\"chunk\":{i}}}\n\n").into())
            .collect();
        chunks.push("data: [DONE]\n\n".into());
        Self::stream(chunks)
    }

    /// A stream of events in these pieces.
    pub(crate) fn stream(chunks: Vec<Bytes>) -> Self {
        Self {
            body: Payload::Chunks(chunks, None),
            ..Self::new(200, "")
        }
        .header("content-type", "text/event-stream")
    }

    /// The whole body of a reply that has one.
    pub(crate) fn bytes(&self) -> Bytes {
        match &self.body {
            Payload::Whole(bytes) => bytes.clone(),
            Payload::Chunks(chunks, _) => chunks.concat().into(),
            other => panic!("{other:?} has no whole body"),
        }
    }

    pub(crate) fn reset() -> Self {
        Self {
            body: Payload::Reset,
            ..Self::ok()
        }
    }

    pub(crate) fn hang() -> Self {
        Self {
            body: Payload::Hang,
            ..Self::ok()
        }
    }

    /// Ends the body with trailers; the connection must be HTTP/2.
    pub(crate) fn trailed(self) -> Self {
        let Payload::Whole(body) = self.body else {
            panic!("only a whole body can have trailers")
        };
        Self {
            body: Payload::Trailed(body),
            ..self
        }
    }

    /// Keeps status, headers and the start of the body, but never ends it.
    pub(crate) fn endless(self) -> Self {
        let Payload::Whole(start) = self.body else {
            panic!("only a whole body can be made endless")
        };
        Self {
            body: Payload::Endless(start),
            ..self
        }
    }

    /// Keeps status, headers and the start of the body, then breaks off.
    pub(crate) fn broken(self) -> Self {
        let Payload::Whole(start) = self.body else {
            panic!("only a whole body can be broken")
        };
        Self {
            body: Payload::Broken(start),
            ..self
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sends nothing before the gate is passed.
    pub(crate) fn after(self, gate: &Gate) -> Self {
        Self {
            before: Some(gate.clone()),
            ..self
        }
    }

    /// Passes the gate before each chunk but the first.
    pub(crate) fn between(self, gate: &Gate) -> Self {
        let Payload::Chunks(chunks, _) = self.body else {
            panic!("only chunks have a between")
        };
        Self {
            body: Payload::Chunks(chunks, Some(gate.clone())),
            ..self
        }
    }
}
