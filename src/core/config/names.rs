//! Names that end up in stats and headers.

use std::fmt;

/// The name of a policy: 1 to 40 characters of `a-z`, `0-9`, `_` and `-`, so that it can stand in
/// a stat name as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyName(String);

impl PolicyName {
    /// The name of the policy that stands in when none is configured.
    pub(super) fn of_default() -> PolicyName {
        PolicyName("default".to_owned())
    }

    /// None if `text` breaks the rule above.
    pub fn parse(text: &str) -> Option<PolicyName> {
        let allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
        let fits = (1..=40).contains(&text.len()) && text.bytes().all(allowed);
        fits.then(|| PolicyName(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of an HTTP header (RFC 9110 section 5.1), in lower case as Envoy wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderName(String);

impl HeaderName {
    /// None if `text` is empty or no token (RFC 9110 section 5.6.2).
    pub fn parse(text: &str) -> Option<HeaderName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let fits = !text.is_empty() && text.bytes().all(allowed);
        fits.then(|| HeaderName(text.to_ascii_lowercase()))
    }

    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn policy_names() {
        let longest = "x".repeat(40);
        for right in ["a", "ark-cn_2", "-", &longest] {
            assert_eq!(PolicyName::parse(right).unwrap().as_str(), right);
        }
        for wrong in ["", "A", "a.b", "é", "a b", &format!("{longest}x")] {
            assert_eq!(PolicyName::parse(wrong), None, "{wrong}");
        }
        assert_eq!(PolicyName::parse("default"), Some(PolicyName::of_default()));
    }

    #[test]
    fn header_names_are_tokens_in_lower_case() {
        assert_eq!(
            HeaderName::parse("X-No.Wait~1").unwrap().as_str(),
            "x-no.wait~1"
        );
        for wrong in ["", ":path", "a b", "a:", "é", "a\r\n", "a\0", "a,b", "(a)"] {
            assert_eq!(HeaderName::parse(wrong), None, "{wrong:?}");
        }
    }
}
