//! Which hosts and paths a policy takes.

use super::host::Host;

/// A host, or a glob over hosts in which `*` stands for any run of characters, also none.
/// Case does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    /// What stands between the stars, in lower case: one piece more than there are stars.
    first: String,
    rest: Vec<String>,
}

impl HostPattern {
    /// Reads a pattern; None if no host could ever match it as its author meant: empty, with a
    /// scheme, a port or a path, or with characters that hosts do not have.
    pub fn parse(text: &str) -> Option<HostPattern> {
        let host = match bracketed(text) {
            Some(address) => address,
            // One colon begins a port (`a:80`, `a:*`), unless brackets say that it is an address.
            None if text.matches(':').count() == 1 => return None,
            None => text,
        };
        if host.is_empty() || !host.bytes().all(in_host) {
            return None;
        }
        let host = host.to_ascii_lowercase();
        let mut pieces = host.split('*').map(str::to_owned);
        Some(HostPattern {
            first: pieces.next()?,
            rest: pieces.collect(),
        })
    }

    /// Whether the pattern takes `host`. Time is linear in the lengths of both: each piece
    /// between stars is taken at the first place it fits, which never spoils a later one.
    pub fn matches(&self, host: &Host) -> bool {
        let Some((last, middle)) = self.rest.split_last() else {
            return host.text() == self.first;
        };
        let inner = host.text().strip_prefix(self.first.as_str());
        let Some(mut inner) = inner.and_then(|inner| inner.strip_suffix(last.as_str())) else {
            return false;
        };
        for piece in middle {
            let Some((_, after)) = inner.split_once(piece.as_str()) else {
                return false;
            };
            inner = after;
        }
        true
    }

    /// The pattern as one text, in lower case, an IPv6 address without its brackets.
    pub fn text(&self) -> String {
        let pieces = std::iter::once(&self.first).chain(&self.rest);
        pieces.map(String::as_str).collect::<Vec<_>>().join("*")
    }
}

/// The beginning of a path: `/` first, without `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPrefix(String);

impl PathPrefix {
    /// Reads a prefix; None if no path could ever begin with it.
    pub fn parse(text: &str) -> Option<PathPrefix> {
        (text.starts_with('/') && !text.contains('?')).then(|| PathPrefix(text.to_owned()))
    }

    /// Whether `path` begins with this before its query.
    pub fn matches(&self, path: &[u8]) -> bool {
        // The prefix holds no `?`, so it can only fit before the first one.
        path.starts_with(self.0.as_bytes())
    }

    /// The prefix as configured.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The IPv6 address or pattern in brackets; `[*]` is none, as without its brackets it would take
/// every host.
fn bracketed(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    inner.contains(':').then_some(inner)
}

fn in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_:*".contains(&byte)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn takes(pattern: &str, host: &str) -> bool {
        let pattern = HostPattern::parse(pattern).unwrap();
        pattern.matches(&Host::of(host.as_bytes()))
    }

    #[test]
    fn hosts() {
        let table = [
            ("api.openai.com", "api.openai.com", true),
            ("API.OpenAI.com", "api.openai.COM:443", true),
            ("api.openai.com", "api.openai.com.evil.net", false),
            ("api.openai.com", "xapi.openai.com", false),
            ("ark.*.volces.com", "ark.cn-beijing.volces.com", true),
            ("ark.*.volces.com", "ark.volces.com", false),
            ("ark.*.volces.com", "ark..volces.com", true),
            ("*", "", true),
            ("*", "anything:1", true),
            ("**", "x", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*.com", "com", false),
            ("*ab*ab*", "xabyabz", true),
            ("*ab*ab*", "xaby", false),
            ("*aab", "aaab", true),
            ("10.0.0.*", "10.0.0.7:8080", true),
            ("::1", "[::1]", true),
            ("::1", "[::1]:8080", true),
            ("[::1]", "[::1]:8080", true),
            ("[fd00:*]", "[FD00::7]:1", true),
            ("localhost", "localhost:", true),
            ("localhost", "localhost:80x", false),
            ("*", "\u{fffd}", true),
            ("a*b", "aéb", true),
        ];
        for (pattern, host, expected) in table {
            assert_eq!(takes(pattern, host), expected, "{pattern} on {host}");
        }
    }

    #[test]
    fn patterns_that_could_never_match_are_refused() {
        let table = [
            "",
            "a:80",
            "*:443",
            "[::1]:80",
            "[*]",
            "[a]",
            "https://a",
            "a/b",
            "a b",
            "é.com",
            "a?",
        ];
        for pattern in table {
            assert_eq!(HostPattern::parse(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn paths_match_up_to_the_query() {
        let prefix = PathPrefix::parse("/api/").unwrap();
        assert!(prefix.matches(b"/api/chat?x=/y"));
        assert!(prefix.matches(b"/api/"));
        assert!(!prefix.matches(b"/api"));
        assert!(!prefix.matches(b"/api?/"));
        assert!(!prefix.matches(b"/API/"));
        assert!(!prefix.matches(b""));
        assert_eq!(PathPrefix::parse("api/"), None);
        assert_eq!(PathPrefix::parse("/api?"), None);
        assert_eq!(PathPrefix::parse(""), None);
    }

    /// L14: with backtracking, or with a naive search for a piece, this would run for hours.
    #[test]
    fn time_is_linear() {
        let host = Host::of(&b"a".repeat(2_000_000));
        let piece = "a".repeat(200_000);
        let many = format!("{}*b*", "*a".repeat(200_000));
        for pattern in [format!("*{piece}b{piece}*"), format!("*{piece}b"), many] {
            assert!(!HostPattern::parse(&pattern).unwrap().matches(&host));
        }
    }

    #[cfg(not(target_family = "wasm"))]
    mod properties {
        use super::*;
        use proptest::prelude::*;

        /// The definition of a glob, as slow as it is plain.
        fn naive(pattern: &[u8], host: &[u8]) -> bool {
            match pattern.split_first() {
                None => host.is_empty(),
                Some((b'*', rest)) => (0..=host.len()).any(|skip| naive(rest, &host[skip..])),
                Some((byte, rest)) => host
                    .split_first()
                    .is_some_and(|(first, host)| first == byte && naive(rest, host)),
            }
        }

        proptest! {
            #[test]
            fn equals_the_definition(pattern in "[ab*]{1,8}", host in "[ab]{0,10}") {
                let expected = naive(pattern.as_bytes(), host.as_bytes());
                prop_assert_eq!(takes(&pattern, &host), expected);
            }

            #[test]
            fn text_reads_back_as_the_same_pattern(text in "[a-zA-Z*.:\\[\\]-]{1,12}") {
                if let Some(pattern) = HostPattern::parse(&text) {
                    let text = match pattern.text() {
                        address if address.contains(':') => format!("[{address}]"),
                        name => name,
                    };
                    prop_assert_eq!(HostPattern::parse(&text), Some(pattern));
                }
            }
        }
    }
}
