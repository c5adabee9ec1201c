use std::fmt;

/// A provider's answer as far as it has been read.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values, in the order they came.
    pub headers: &'a [(Vec<u8>, Vec<u8>)],
    /// The body, which may be cut short or empty.
    pub body: &'a [u8],
    /// The provider's profile name, or `auto`.
    pub provider: &'a str,
}

impl<'a> Answer<'a> {
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
            .field("provider", &self.provider)
            .finish()
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
            status: 429,
            headers: &headers,
            body: b"secret",
            provider: "auto",
        };
        assert!(!format!("{answer:?}").contains("secret"));
        assert_eq!(answer.header("set-cookie").count(), 1);
        assert_eq!(answer.header("cookie").count(), 0);
    }
}
