use std::fmt;

use super::{Provider, Rule};

/// A provider's answer as far as it has been read, and what else a verdict hangs on.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values, in the order they came.
    pub headers: &'a [(Vec<u8>, Vec<u8>)],
    /// The body, as it came over the wire. It may be cut short or empty.
    pub body: &'a [u8],
    /// Whether the body goes to its end.
    pub is_whole: bool,
    /// The profile to read it by.
    pub provider: Provider,
    /// The host that answered, by which `auto` finds the profile. A port is ignored.
    pub host: Option<&'a [u8]>,
    /// The time of day in milliseconds since 1970 UTC, to turn dates into spans.
    pub now_ms: u64,
    /// What the user says, tried first.
    pub rules: &'a [Rule],
}

impl<'a> Answer<'a> {
    /// An answer without headers or body, to be filled in with `..`.
    pub fn of_status(status: u16) -> Answer<'a> {
        Answer {
            status,
            headers: &[],
            body: &[],
            is_whole: true,
            provider: Provider::AUTO,
            host: None,
            now_ms: 0,
            rules: &[],
        }
    }

    /// Every value of a header, given its name in lower case.
    pub fn header(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(n, _)| n == name.as_bytes())
            .map(|(_, value)| value.as_slice())
    }
}

/// Sizes only: header values and bodies may hold secrets and must not reach a log.
impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body_bytes", &self.body.len())
            .field("is_whole", &self.is_whole)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn debug_output_holds_no_header_and_no_body() {
        let headers = [(b"set-cookie".to_vec(), b"secret".to_vec())];
        let answer = Answer {
            headers: &headers,
            body: b"secret",
            host: Some(b"secret.example"),
            ..Answer::of_status(429)
        };
        assert!(!format!("{answer:?}").contains("secret"));
        assert_eq!(answer.header("set-cookie").count(), 1);
        assert_eq!(answer.header("cookie").count(), 0);
    }
}
