//! The framing around documents: server-sent events, and AWS's binary event stream.

/// One server-sent event.
#[derive(Debug, Default)]
pub(super) struct Event {
    /// Its name; empty if it has none.
    pub(super) name: Vec<u8>,
    /// Its data lines, joined.
    pub(super) data: Vec<u8>,
    /// A status in a comment, as DashScope writes: `:HTTP_STATUS/429`.
    pub(super) status: Option<u16>,
}

/// The first complete event of a stream, up to and with its blank line, and what follows it.
pub fn next_event(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut line_start = 0;
    let mut has_line = false;
    for (at, byte) in stream.iter().enumerate() {
        if *byte != b'\n' {
            continue;
        }
        let is_blank = matches!(stream.get(line_start..at)?, b"" | b"\r");
        if is_blank && has_line {
            return stream.split_at_checked(at + 1);
        }
        has_line |= !is_blank;
        line_start = at + 1;
    }
    None
}

/// Whether a document is a stream of events.
pub(super) fn is_stream(document: &[u8]) -> bool {
    let document = document.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"]
        .iter()
        .any(|field| document.starts_with(field))
}

/// Every event of a stream; the last may be incomplete.
pub(super) fn events(stream: &[u8]) -> impl Iterator<Item = Event> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (event, after) = next_event(rest).unwrap_or((rest, &[]));
        rest = after;
        Some(read_event(event))
    })
}

/// Takes an event apart. A space after the colon is optional, and DashScope leaves it out.
pub(super) fn read_event(event: &[u8]) -> Event {
    let mut found = Event::default();
    for line in event.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if let Some(data) = line.strip_prefix(b"data:") {
            found.data.extend_from_slice(data.trim_ascii_start());
            found.data.push(b'\n');
        } else if let Some(name) = line.strip_prefix(b"event:") {
            found.name = name.trim_ascii_start().to_vec();
        } else if let Some(status) = line.strip_prefix(b":HTTP_STATUS/") {
            found.status = std::str::from_utf8(status)
                .ok()
                .and_then(|s| s.parse().ok());
        }
    }
    found
}

/// A frame of AWS's event stream that reports an exception: its type, and the JSON in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exception<'a> {
    pub(super) name: &'a [u8],
    pub(super) payload: &'a [u8],
}

/// The exceptions in a binary event stream: frames of total length, header length, checksum, headers,
/// payload, checksum. A frame that does not hold together ends it.
pub(super) fn exceptions(stream: &[u8]) -> impl Iterator<Item = Exception<'_>> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        loop {
            let (frame, after) = next_frame(rest)?;
            rest = after;
            if let Some(exception) = exception(frame) {
                return Some(exception);
            }
        }
    })
}

/// Whether a document begins with a frame of an event stream, whole or not.
pub(super) fn is_binary_stream(document: &[u8]) -> bool {
    let total = number(document, 0);
    let headers = number(document, 4);
    matches!((total, headers), (Some(16..=0xFF_FFFF), Some(headers)) if headers < 0x2_0000)
        && document.get(13) == Some(&b':')
}

const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

fn next_frame(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let total = number(stream, 0)?;
    if total < PRELUDE_BYTES + CHECKSUM_BYTES {
        return None;
    }
    // The last frame may be cut short; its headers come first.
    Some(stream.split_at(total.min(stream.len())))
}

fn exception(frame: &[u8]) -> Option<Exception<'_>> {
    let total = number(frame, 0)?;
    let headers_end = PRELUDE_BYTES.checked_add(number(frame, 4)?)?;
    let mut headers = frame.get(PRELUDE_BYTES..headers_end.min(frame.len()))?;
    let payload_end = total.checked_sub(CHECKSUM_BYTES)?.min(frame.len());
    let payload = frame.get(headers_end..payload_end).unwrap_or_default();
    while let Some((name, value, rest)) = next_header(headers) {
        if matches!(name, b":exception-type" | b":error-code") {
            return Some(Exception {
                name: value,
                payload,
            });
        }
        headers = rest;
    }
    None
}

/// A header that is a string; others end the search, as none stands before what is looked for.
fn next_header(headers: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    const STRING: u8 = 7;
    let (length, rest) = headers.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let [STRING, high, low, rest @ ..] = rest else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let (value, rest) = rest.split_at_checked(length)?;
    Some((name, value, rest))
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_be_bytes(four.try_into().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn an_event_ends_at_its_blank_line() {
        let stream = b"\n: hello\r\n\r\ndata: 1\ndata:2\n\nda";
        let (first, rest) = next_event(stream).unwrap();
        assert_eq!(first, b"\n: hello\r\n\r\n");
        let (second, rest) = next_event(rest).unwrap();
        assert_eq!(read_event(second).data, b"1\n2\n");
        assert_eq!(next_event(rest), None);
        assert_eq!(events(stream).count(), 3);
    }

    #[test]
    fn a_status_in_a_comment() {
        let event = read_event(b"id:1\nevent:error\n:HTTP_STATUS/429\ndata:{}\n\n");
        assert_eq!(event.name, b"error");
        assert_eq!(event.status, Some(429));
    }

    #[test]
    fn frames_are_read_as_far_as_they_go() {
        let mut frame = vec![0, 0, 0, 60, 0, 0, 0, 36, 1, 2, 3, 4];
        frame.push(15);
        frame.extend(b":exception-type");
        frame.extend([7, 0, 17]);
        frame.extend(b"throttlingExcepti");
        frame.extend(b"{\"a\":1}!");
        frame.extend([9; 4]);
        assert!(is_binary_stream(&frame));
        let found = exceptions(&frame).next().unwrap();
        assert_eq!(found.name, b"throttlingExcepti");
        assert_eq!(found.payload, b"{\"a\":1}!");
        for end in 0..frame.len() {
            let _ = exceptions(frame.get(..end).unwrap()).count();
        }
    }
}
