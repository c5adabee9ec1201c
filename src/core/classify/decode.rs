//! From the bytes on the wire to the bytes of the document.

use std::borrow::Cow;

use super::Answer;
use super::inflate::inflate;

/// The most bytes that a compressed body is unpacked to: as much as is ever read of a plain one.
const MAX_BYTES: usize = 16 * 1024;

/// The document, unpacked and without a byte order mark; nothing if it cannot be read.
///
/// The bytes themselves are believed before the header: bodies are sent unpacked under a
/// `content-encoding`, and packed without one.
pub(super) fn document<'a>(answer: &Answer<'a>) -> Cow<'a, [u8]> {
    let body = answer.body;
    let encoding = encoding(answer);
    let plain: Cow<'a, [u8]> = match body {
        [0x1F, 0x8B, ..] => Cow::Owned(gunzip(body)),
        _ if is_readable(body) => Cow::Borrowed(body),
        _ if encoding == Encoding::Deflate => Cow::Owned(inflate_any(body)),
        _ if encoding == Encoding::Unknown => Cow::Borrowed(&[]),
        _ => Cow::Borrowed(body),
    };
    match plain {
        Cow::Borrowed(bytes) => Cow::Borrowed(without_mark(bytes)),
        Cow::Owned(bytes) => Cow::Owned(without_mark(&bytes).to_vec()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Plain,
    Deflate,
    /// Brotli, Zstandard, and whatever else cannot be unpacked here.
    Unknown,
}

fn encoding(answer: &Answer<'_>) -> Encoding {
    let Some(value) = answer.header("content-encoding").last() else {
        return Encoding::Plain;
    };
    let is = |name: &str| value.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
    if is("deflate") {
        Encoding::Deflate
    } else if ["", "identity", "gzip", "x-gzip"].into_iter().any(is) {
        Encoding::Plain
    } else {
        Encoding::Unknown
    }
}

/// Whether it begins as documents do.
fn is_readable(body: &[u8]) -> bool {
    let body = without_mark(body).trim_ascii_start();
    matches!(body, [b'{' | b'[' | b'<' | b'"' | b':', ..] | [])
        || body
            .iter()
            .take(16)
            .all(|b| matches!(b, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// What can be had of a gzip file, which may be cut short.
fn gunzip(file: &[u8]) -> Vec<u8> {
    let deflated = after_header(file).unwrap_or_default();
    inflate(deflated, MAX_BYTES)
}

/// The compressed bytes behind the header (RFC 1952, 2.3).
fn after_header(file: &[u8]) -> Option<&[u8]> {
    let flags = *file.get(3)?;
    let mut rest = file.get(10..)?;
    if flags & 4 != 0 {
        let (low, high) = (*rest.first()?, *rest.get(1)?);
        rest = rest.get(2 + usize::from(u16::from_le_bytes([low, high]))..)?;
    }
    for text in [8, 16] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    rest.get(if flags & 2 != 0 { 2 } else { 0 }..)
}

/// `deflate` is zlib by the standard and bare by custom.
fn inflate_any(body: &[u8]) -> Vec<u8> {
    let deflated = match body {
        [first, second, rest @ ..]
            if first & 15 == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0 =>
        {
            rest
        }
        _ => body,
    };
    inflate(deflated, MAX_BYTES)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn decoded(encoding: &str, body: &[u8]) -> Vec<u8> {
        let headers = [(b"content-encoding".to_vec(), encoding.into())];
        let answer = Answer {
            headers: &headers,
            body,
            ..Answer::of_status(429)
        };
        document(&answer).into_owned()
    }

    /// `{"error":{"code":"limit_burst_rate"}}`, stored.
    const STORED: &[u8] = b"\x01\x26\x00\xd9\xff{\"error\":{\"code\":\"limit_burst_rate\"}}";

    #[test]
    fn packed_and_plain_bodies() {
        let plain = STORED.get(5..).unwrap();
        let file = [b"\x1f\x8b\x08\x08\0\0\0\0\0\x03name\0".as_slice(), STORED].concat();
        let zlib = [b"\x78\x9c".as_slice(), STORED].concat();
        assert_eq!(decoded("gzip", &file), plain);
        assert_eq!(decoded("identity", &file), plain);
        assert_eq!(decoded("deflate", &zlib), plain);
        assert_eq!(decoded("deflate", STORED), plain);
        assert_eq!(decoded("gzip", plain), plain);
        assert_eq!(decoded("br", plain), plain);
        assert_eq!(decoded("br", b"\x8b\x03\x80\xff\xfe"), b"");
        assert_eq!(decoded("", b"\xef\xbb\xbf{}"), b"{}");
        for end in 2..file.len() {
            assert!(plain.starts_with(&decoded("gzip", file.get(..end).unwrap())));
        }
    }

    #[test]
    fn what_is_packed_a_thousandfold_is_bounded() {
        // 32 KiB of one byte in fixed codes: a literal, then copies of it.
        let mut bits = vec![true, true, false];
        let code = |bits: &mut Vec<bool>, code: u32, length: u32| {
            bits.extend((0..length).rev().map(|place| code >> place & 1 == 1));
        };
        code(&mut bits, 0x30 + u32::from(b'a'), 8);
        for _ in 0..127 {
            code(&mut bits, 0b1100_0101, 8);
            code(&mut bits, 0, 5);
        }
        let bytes: Vec<u8> = bits
            .chunks(8)
            .map(|byte| {
                (0u8..)
                    .zip(byte)
                    .map(|(place, bit)| u8::from(*bit) << place)
                    .sum()
            })
            .collect();
        assert_eq!(inflate(&bytes, MAX_BYTES), vec![b'a'; MAX_BYTES]);
        assert_eq!(inflate(&bytes, 5), b"aaaaa");
    }
}
