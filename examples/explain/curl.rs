//! What `curl -i` prints: header blocks, an empty line after each, and a body after the last.

use weir::core::call::Headers;

/// Status, headers and body of the last answer in `printed`. Those before it are an interim 100, a
/// proxy's `200 Connection established`, or a redirect that was followed.
pub(super) fn read(printed: &[u8]) -> Option<(u16, Headers, &[u8])> {
    let mut rest = printed;
    let mut last = None;
    while let Some(status) = status_of(line(rest).0) {
        let mut headers = Headers::new();
        (_, rest) = line(rest);
        loop {
            let (text, after) = line(rest);
            rest = after;
            if text.is_empty() {
                break;
            }
            headers.extend(header(text));
        }
        last = Some((status, headers));
    }
    last.map(|(status, headers)| (status, headers, rest))
}

/// Name and value of a header line, as Envoy hands them over.
pub(super) fn header(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(at);
    let name = name.trim_ascii().to_ascii_lowercase();
    let value = value.strip_prefix(b":")?.trim_ascii();
    (!name.is_empty()).then(|| (name, value.to_vec()))
}

/// The status in `HTTP/1.1 429 Too Many Requests`.
fn status_of(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix("HTTP/")?;
    let (version, rest) = line.split_once(' ')?;
    let is_version = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let code = rest.split(' ').next()?;
    let is_code = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    (version.bytes().all(is_version) && is_code)
        .then(|| code.parse().ok())
        .flatten()
}

/// The first line, without its end, and what follows.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b'\n') {
        None => (text, &[]),
        Some(at) => {
            let (line, rest) = text.split_at(at);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            (line, rest.strip_prefix(b"\n").unwrap_or(rest))
        }
    }
}
