use std::time::Duration;

use crate::core::classify::{Class, Evidence};
use crate::core::json::Object;
use crate::core::time::millis_up;

/// One decision about a refused call, for the operator's log.
///
/// Holds Weir's own words and numbers only: no provider text, credential or body can get in.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// What was decided.
    pub event: Event,
    /// The policy's name.
    pub policy: &'a str,
    /// The hash of the key.
    pub key: u64,
    /// The class of the refusal.
    pub class: Class,
    /// The status the provider sent.
    pub status: u16,
    /// What decided the class.
    pub evidence: Evidence,
    /// The attempt that was refused, the first being 1.
    pub attempt: u32,
    /// The effective maximum of attempts for that class.
    pub of: u32,
    /// The provider's minimum wait.
    pub server_min: Option<Duration>,
}

/// What was decided about a refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Held, to be retried after this delay.
    Retry(Duration),
    /// Passed on to the client.
    GiveUp,
}

impl LogLine<'_> {
    /// The line as one JSON object, without a line break. Spans are whole milliseconds, rounded up.
    pub fn to_json(&self) -> String {
        let (weir, delay) = match self.event {
            Event::Retry(delay) => ("retry", Some(delay)),
            Event::GiveUp => ("give_up", None),
        };
        Object::new()
            .text("weir", weir)
            .text("policy", self.policy)
            .text("key", &format!("{:016x}", self.key))
            .text("class", self.class.name())
            .number("status", self.status.into())
            .text("evidence", &self.evidence.to_string())
            .number("attempt", self.attempt.into())
            .number("of", self.of.into())
            .optional_number("delay_ms", delay.map(millis_up))
            .optional_number("server_min_ms", self.server_min.map(millis_up))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const LINE: LogLine<'_> = LogLine {
        event: Event::Retry(Duration::from_micros(5_000_001)),
        policy: "ark",
        key: 0xbeef,
        class: Class::BurstRate,
        status: 429,
        evidence: Evidence::word("body:error.code", "RequestBurstTooFast"),
        attempt: 1,
        of: 2,
        server_min: Some(Duration::from_secs(3)),
    };

    #[test]
    fn a_retry_is_one_object_in_the_stated_order() {
        assert_eq!(
            LINE.to_json(),
            concat!(
                r#"{"weir":"retry","policy":"ark","key":"000000000000beef","#,
                r#""class":"burst_rate","status":429,"evidence":"body:error.code=RequestBurstTooFast","#,
                r#""attempt":1,"of":2,"delay_ms":5001,"server_min_ms":3000}"#,
            )
        );
    }

    #[test]
    fn giving_up_has_no_delay() {
        let line = LogLine {
            event: Event::GiveUp,
            key: u64::MAX,
            class: Class::Overloaded,
            status: 503,
            evidence: Evidence::status(503),
            server_min: None,
            ..LINE
        };
        assert_eq!(
            line.to_json(),
            concat!(
                r#"{"weir":"give_up","policy":"ark","key":"ffffffffffffffff","#,
                r#""class":"overloaded","status":503,"evidence":"status=503","#,
                r#""attempt":1,"of":2,"delay_ms":null,"server_min_ms":null}"#,
            )
        );
    }
}
