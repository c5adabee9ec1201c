use std::fmt;
use std::time::Duration;

use super::retry_after;
use crate::core::classify::Class;
use crate::core::json::Object;
use crate::core::retry::uniform;
use crate::core::time::millis_up;

/// Why Weir refused a call itself, before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// The queue holds as many waiters as it may.
    QueueFull,
    /// The call could not start at once and its client does not want it to wait.
    NoWait,
    /// The call waited as long as one stay in the queue may last.
    WaitTooLong,
    /// The wait cannot fit the call's deadline (L10).
    Deadline,
    /// The provider refused others, and the gate is shut for longer than the call can wait.
    Paused,
    /// A quota of the provider is used up.
    Quota,
}

impl Refused {
    /// Every reason, in the order of the enum.
    pub const ALL: [Refused; 6] = [
        Refused::QueueFull,
        Refused::NoWait,
        Refused::WaitTooLong,
        Refused::Deadline,
        Refused::Paused,
        Refused::Quota,
    ];

    /// The name used in headers, bodies and stats.
    pub fn name(self) -> &'static str {
        match self {
            Refused::QueueFull => "queue_full",
            Refused::NoWait => "no_wait",
            Refused::WaitTooLong => "wait_too_long",
            Refused::Deadline => "deadline",
            Refused::Paused => "paused",
            Refused::Quota => "quota",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Refused::QueueFull => "the queue is full",
            Refused::NoWait => "it could not start at once and asked not to wait",
            Refused::WaitTooLong => "it waited as long as a call may wait",
            Refused::Deadline => "its turn would come after its deadline",
            Refused::Paused => "the provider has asked for a pause that it cannot wait for",
            Refused::Quota => "a quota of the provider is used up",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A refusal of Weir's own.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// Why.
    pub reason: Refused,
    /// The policy the call falls under.
    pub policy: &'a str,
    /// The config field whose limit was met, if it was one.
    pub limit: Option<&'static str>,
    /// What the provider ran out of, if that is why.
    pub class: Option<Class>,
    /// Where in the queue the call would stand, the head being 1.
    pub position: Option<u64>,
    /// How long the call would have to wait for its start, if that is known.
    pub expected_wait: Option<Duration>,
    /// When to come back, before jitter.
    pub retry_after: Duration,
}

/// A response made by Weir.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// JSON in the shape of OpenAI's errors.
    pub body: Vec<u8>,
}

impl Refusal<'_> {
    /// The response to the client. `random` is one uniform number: up to a quarter is added to the
    /// time to come back, so that calls refused together do not return together.
    pub fn render(&self, random: u64) -> Reply {
        let wait = self
            .retry_after
            .saturating_add(uniform(self.retry_after / 4, random));
        let reason = self.reason.name();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("x-weir-refused", reason.to_owned()),
            ("x-weir-attempts", "0".to_owned()),
        ];
        headers.extend(retry_after::headers(wait));
        let mut weir = Object::new()
            .text("refused", reason)
            .text("policy", self.policy)
            .optional_text("limit", self.limit);
        if let Some(class) = self.class {
            weir = weir.text("class", class.name());
        }
        let weir = weir
            .optional_number("position", self.position)
            .optional_number("expected_wait_ms", self.expected_wait.map(millis_up))
            .number("retry_after_ms", millis_up(wait).max(1))
            .written("sent_upstream", "false");
        let error = Object::new()
            .text("message", &self.message(wait))
            .text("type", "rate_limit_error")
            .text("code", &format!("weir_{reason}"))
            .optional_text("param", None)
            .written("weir", &weir.finish());
        let body = Object::new().written("error", &error.finish());
        Reply {
            status: 429,
            headers,
            body: body.finish().into_bytes(),
        }
    }

    fn message(&self, wait: Duration) -> String {
        let limit = match self.limit {
            Some(field) => format!(", limit {field}"),
            None => String::new(),
        };
        format!(
            "Weir refused this call and sent nothing to the provider: {} (policy {}{limit}). \
             Come back in {} s.",
            self.reason.in_words(),
            self.policy,
            millis_up(wait).div_ceil(1000).max(1),
        )
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const FULL: Refusal<'_> = Refusal {
        reason: Refused::QueueFull,
        policy: "ark",
        limit: Some("max_waiting"),
        class: None,
        position: Some(1001),
        expected_wait: Some(Duration::from_secs(42)),
        retry_after: Duration::from_secs(8),
    };

    fn header<'a>(reply: &'a Reply, name: &str) -> &'a str {
        let found = reply.headers.iter().find(|(n, _)| *n == name);
        found.map_or("", |(_, value)| value)
    }

    #[test]
    fn a_reply_is_as_stated() {
        let reply = FULL.render(0);
        assert_eq!(reply.status, 429);
        assert_eq!(
            String::from_utf8(reply.body.clone()).unwrap(),
            concat!(
                r#"{"error":{"message":"Weir refused this call and sent nothing to the provider: "#,
                r#"the queue is full (policy ark, limit max_waiting). Come back in 8 s.","#,
                r#""type":"rate_limit_error","code":"weir_queue_full","param":null,"#,
                r#""weir":{"refused":"queue_full","policy":"ark","limit":"max_waiting","#,
                r#""position":1001,"expected_wait_ms":42000,"retry_after_ms":8000,"#,
                r#""sent_upstream":false}}}"#,
            )
        );
        for (name, value) in [
            ("content-type", "application/json"),
            ("x-weir-refused", "queue_full"),
            ("x-weir-attempts", "0"),
            ("retry-after", "8"),
            ("retry-after-ms", "8000"),
        ] {
            assert_eq!(header(&reply, name), value, "{name}");
        }
    }

    #[test]
    fn up_to_a_quarter_is_added_to_headers_and_body_alike() {
        let reply = FULL.render(u64::MAX);
        assert_eq!(header(&reply, "retry-after"), "10");
        assert_eq!(header(&reply, "retry-after-ms"), "10000");
        let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(body["error"]["weir"]["retry_after_ms"], 10_000);
        let reply = FULL.render(1 << 63);
        assert_eq!(header(&reply, "retry-after"), "9");
        assert_eq!(header(&reply, "retry-after-ms"), "9000");
    }

    #[test]
    fn what_is_unknown_is_null() {
        let refusal = Refusal {
            reason: Refused::NoWait,
            limit: None,
            position: None,
            expected_wait: None,
            retry_after: Duration::ZERO,
            ..FULL
        };
        let reply = refusal.render(u64::MAX);
        let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        let weir = &body["error"]["weir"];
        for name in ["limit", "position", "expected_wait_ms"] {
            assert!(weir[name].is_null(), "{name}");
        }
        assert_eq!(body["error"]["code"], "weir_no_wait");
        assert_eq!(header(&reply, "retry-after"), "1");
    }
}
