//! What a provider answers, in the words of real ones.

use std::time::Duration;

use weir::core::call::Headers;

use super::model::{Refusal, WindowState};

/// What a refusal says beyond that it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tells {
    /// `retry-after`: whole seconds, rounded up.
    pub(crate) seconds: bool,
    /// `retry-after-ms`.
    pub(crate) millis: bool,
    /// `x-ratelimit-*` on every answer.
    pub(crate) remaining: bool,
}

/// An answer's head, and its body if it is a refusal.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: &'static [u8],
    /// The least wait that its headers ask for.
    pub(crate) min: Option<Duration>,
}

impl Answer {
    pub(crate) fn is_refusal(&self) -> bool {
        self.status != 200
    }
}

/// A success begins.
pub(crate) fn accepted(tells: Tells, window: Option<WindowState>) -> Answer {
    let mut headers = head(b"200");
    add_window(&mut headers, tells, window);
    Answer {
        status: 200,
        headers,
        body: b"",
        min: None,
    }
}

pub(crate) fn refused(tells: Tells, refusal: &Refusal, window: Option<WindowState>) -> Answer {
    let (body, wait): (&'static [u8], _) = match refusal {
        Refusal::Concurrency { .. } => (
            br#"{"error":{"message":"Your account reached max organization concurrency, please try again","type":"rate_limit_reached_error"}}"#,
            None,
        ),
        Refusal::Slope => (
            br#"{"error":{"message":"Request rate increased too quickly.","type":"limit_burst_rate","param":null,"code":"limit_burst_rate"}}"#,
            None,
        ),
        Refusal::Steps { wait, .. } => (
            br#"{"error":{"message":"Traffic grew too quickly.","type":"rate_limit_error","param":null,"code":"slow_down"}}"#,
            Some(*wait),
        ),
        Refusal::TokenBucket { wait, .. } => (RATE, Some(*wait)),
        Refusal::Window(window) => (RATE, Some(window.reset)),
    };
    let mut headers = head(b"429");
    let mut min = None;
    if let Some(wait) = wait {
        let seconds = wait.as_nanos().div_ceil(1_000_000_000).max(1) as u64;
        let millis = wait.as_nanos().div_ceil(1_000_000).max(1) as u64;
        if tells.seconds {
            add(&mut headers, "retry-after", seconds);
            min = Some(Duration::from_secs(seconds));
        }
        if tells.millis {
            add(&mut headers, "retry-after-ms", millis);
            min = Some(Duration::from_millis(millis));
        }
    }
    add_window(&mut headers, tells, window);
    Answer {
        status: 429,
        headers,
        body,
        min,
    }
}

const RATE: &[u8] = br#"{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#;

fn head(status: &[u8]) -> Headers {
    vec![(b":status".to_vec(), status.to_vec())]
}

fn add(headers: &mut Headers, name: &str, value: u64) {
    headers.push((name.as_bytes().to_vec(), value.to_string().into_bytes()));
}

fn add_window(headers: &mut Headers, tells: Tells, window: Option<WindowState>) {
    if let Some(window) = window.filter(|_| tells.remaining) {
        add(headers, "x-ratelimit-limit-requests", window.limit as u64);
        let remaining = window.remaining as u64;
        add(headers, "x-ratelimit-remaining-requests", remaining);
        let reset = format!("{}ms", window.reset.as_millis());
        headers.push((b"x-ratelimit-reset-requests".to_vec(), reset.into_bytes()));
    }
}
