//! The host a call is for, apart from how it is written.

/// A host as patterns see it: without port and brackets, in lower case.
///
/// Bytes that are not ASCII stay apart as the characters of the same number; a pattern never
/// holds them, only its `*` can take them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// Reads the value of a `:authority` or `host` header.
    pub fn of(authority: &[u8]) -> Host {
        let folded = |byte: &u8| char::from(byte.to_ascii_lowercase());
        Host(without_port(authority).iter().map(folded).collect())
    }

    /// The host as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        // Every character was made from one byte.
        let byte = |char| u8::try_from(u32::from(char)).unwrap_or(b'?');
        self.0.chars().map(byte).collect()
    }

    /// The host as the text that patterns are compared with.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// `authority` without port and without the brackets of an IPv6 address. What is neither is left
/// as it is.
fn without_port(authority: &[u8]) -> &[u8] {
    if let Some(rest) = authority.strip_prefix(b"[") {
        let mut parts = rest.splitn(2, |byte| *byte == b']');
        if let (Some(address), Some(tail)) = (parts.next(), parts.next())
            && (tail.is_empty() || tail.strip_prefix(b":").is_some_and(is_port))
        {
            return address;
        }
        return authority;
    }
    let mut parts = authority.split(|byte| *byte == b':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(host), Some(port), None) if is_port(port) => host,
        _ => authority,
    }
}

/// RFC 3986 allows a port without digits.
fn is_port(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn authorities_lose_port_and_brackets_only() {
        let table: [(&[u8], &[u8]); 11] = [
            (b"a", b"a"),
            (b"a:1", b"a"),
            (b"a:", b"a"),
            (b"a:b", b"a:b"),
            (b"::1", b"::1"),
            (b"[::1]", b"::1"),
            (b"[::1]:1", b"::1"),
            (b"[::1]x", b"[::1]x"),
            (b"[::1", b"[::1"),
            (b"", b""),
            (b":80", b""),
        ];
        for (authority, host) in table {
            assert_eq!(without_port(authority), host);
        }
    }

    #[test]
    fn every_byte_survives_in_lower_case() {
        let bytes: Vec<u8> = (0..=255).filter(|byte| *byte != b':').collect();
        assert_eq!(Host::of(&bytes).bytes(), bytes.to_ascii_lowercase());
    }
}
