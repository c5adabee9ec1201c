//! From the bytes on the wire to the bytes of the document.

use std::borrow::Cow;

use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::Answer;

/// The most bytes that a compressed body is unpacked to: as much as is ever read of a plain one.
const MAX_BYTES: usize = 16 * 1024;

/// The document, unpacked and without a byte order mark; nothing if it cannot be read.
///
/// The bytes themselves are believed before the header: bodies are sent unpacked under a
/// `content-encoding`, and packed without one.
pub(super) fn document<'a>(answer: &Answer<'a>) -> Cow<'a, [u8]> {
    let body = answer.body;
    let encoding = answer.header("content-encoding").next_back_token();
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

trait LastToken<'a> {
    fn next_back_token(self) -> Encoding;
}

impl<'a, I: Iterator<Item = &'a [u8]>> LastToken<'a> for I {
    fn next_back_token(self) -> Encoding {
        let Some(value) = self.last() else {
            return Encoding::Plain;
        };
        match value.trim_ascii().to_ascii_lowercase().as_slice() {
            b"" | b"identity" | b"gzip" | b"x-gzip" => Encoding::Plain,
            b"deflate" => Encoding::Deflate,
            _ => Encoding::Unknown,
        }
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
    after_header(file)
        .map(|deflated| inflate(deflated, 0))
        .unwrap_or_default()
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
    let as_zlib = inflate(body, TINFL_FLAG_PARSE_ZLIB_HEADER);
    match as_zlib.is_empty() {
        true => inflate(body, 0),
        false => as_zlib,
    }
}

fn inflate(deflated: &[u8], flags: u32) -> Vec<u8> {
    let mut out = vec![0; MAX_BYTES];
    let flags = flags | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = Box::<DecompressorOxide>::default();
    // However it ends, what came out until then is good.
    let (_, _, written) = decompress(&mut state, deflated, &mut out, 0, flags);
    out.truncate(written);
    out
}
