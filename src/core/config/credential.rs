//! Who calls: the credential in a call's headers, apart from how it is written.

use super::names::HeaderName;

/// Headers as received: names in lower case, values as they came.
type Headers = [(Vec<u8>, Vec<u8>)];

/// Where a credential usually stands, the first one that has one counts.
const USUAL: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// The credential in one of the usual headers; empty if there is none.
pub(in crate::core) fn credential(headers: &Headers) -> &[u8] {
    let given = USUAL.iter().map(|name| bare(value(headers, name)));
    given.clone().find(|token| !token.is_empty()).unwrap_or(b"")
}

/// The credential in the header `name`; empty if there is none.
pub(super) fn credential_in<'a>(headers: &'a Headers, name: &HeaderName) -> &'a [u8] {
    bare(value(headers, name.as_str()))
}

/// The first value of a header that is not empty, without white space around it; empty if there is
/// none.
pub(super) fn value<'a>(headers: &'a Headers, name: &str) -> &'a [u8] {
    headers
        .iter()
        .filter(|(given, _)| given == name.as_bytes())
        .map(|(_, value)| value.trim_ascii())
        .find(|value| !value.is_empty())
        .unwrap_or(b"")
}

/// A credential without its scheme: `Bearer x`, `bearer  x` and `x` are one client, since they are
/// one account at the provider. Of a signature that changes with each request, the access key that
/// it is made with (`Credential=` up to the first `/`, as in AWS signature version 4).
pub(super) fn bare(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    let Some(end) = value.iter().position(u8::is_ascii_whitespace) else {
        return value;
    };
    let (scheme, rest) = value.split_at(end);
    if !scheme.iter().all(is_of_scheme) {
        return value;
    }
    let rest = rest.trim_ascii();
    match after(rest, b"Credential=") {
        Some(access) if after(rest, b"Signature=").is_some() => up_to_end(access),
        _ => rest,
    }
}

fn is_of_scheme(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.+".contains(byte)
}

fn after<'a>(text: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(mark.len()).position(|part| part == mark)?;
    text.get(at + mark.len()..)
}

fn up_to_end(access: &[u8]) -> &[u8] {
    let ends = |byte: &u8| b"/,".contains(byte) || byte.is_ascii_whitespace();
    access.split(ends).next().unwrap_or(access)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn headers(list: &[(&str, &str)]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let bytes = |text: &str| text.as_bytes().to_vec();
        list.iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect()
    }

    #[test]
    fn a_credential_is_the_same_however_it_is_written() {
        let same = [
            "sk-1",
            "Bearer sk-1",
            "bearer  sk-1",
            " BEARER\tsk-1 ",
            "Token sk-1",
        ];
        for value in same {
            assert_eq!(bare(value.as_bytes()), b"sk-1", "{value}");
        }
        for value in ["Sk-1", "Bearer sk-2", "sk-1;", "Bearer sk-1 x"] {
            assert_ne!(bare(value.as_bytes()), b"sk-1", "{value}");
        }
        assert_eq!(bare(b"a=1; b=2"), b"a=1; b=2");
        assert_eq!(bare(b"  "), b"");
        assert_eq!(bare(b"\xff \xfe"), b"\xff \xfe");
    }

    #[test]
    fn a_signature_stands_for_the_key_that_made_it() {
        let signed = |signature| {
            format!(
                "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu/bedrock/aws4_request, \
                 SignedHeaders=host, Signature={signature}"
            )
        };
        assert_eq!(bare(signed("aa").as_bytes()), b"AKID");
        assert_eq!(bare(signed("bb").as_bytes()), b"AKID");
        assert_eq!(bare(b"Bearer Credential=x"), b"Credential=x");
    }

    #[test]
    fn the_first_usual_header_that_is_not_empty_counts() {
        let table = [
            (vec![], ""),
            (vec![("cookie", "a")], ""),
            (vec![("x-goog-api-key", "g"), ("api-key", "p")], "p"),
            (vec![("x-api-key", "x"), ("authorization", "Bearer a")], "a"),
            (vec![("x-api-key", "x"), ("authorization", " ")], "x"),
            (vec![("x-api-key", ""), ("x-api-key", "y")], "y"),
            (vec![("x-api-key", "first"), ("x-api-key", "y")], "first"),
        ];
        for (list, expected) in table {
            assert_eq!(credential(&headers(&list)), expected.as_bytes(), "{list:?}");
        }
    }

    #[test]
    fn a_named_header_is_the_only_one_that_counts() {
        let name = HeaderName::parse("xi-api-key").unwrap();
        let list = headers(&[("authorization", "a"), ("xi-api-key", "Bearer b")]);
        assert_eq!(credential_in(&list, &name), b"b");
        assert_eq!(credential_in(&list[..1], &name), b"");
    }
}
