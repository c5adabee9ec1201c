//! An answer written as text, so that a corpus can be read: a line with status and provider, header
//! lines, an empty line, the body.

use weir::core::classify::Provider;

pub type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// Header lines read; a provider's answer has some tens.
const HEADERS: usize = 32;

/// What a fuzzer's bytes say.
#[derive(Debug)]
pub struct Told<'a> {
    pub status: u16,
    pub provider: Provider,
    pub headers: Headers,
    pub body: &'a [u8],
}

impl<'a> Told<'a> {
    pub fn read(data: &'a [u8]) -> Told<'a> {
        let (first, mut rest) = line(data);
        let mut words = first.split(|byte| *byte == b' ');
        let status = words.next().and_then(number).unwrap_or(429);
        let provider = words.next().and_then(known).unwrap_or(Provider::AUTO);
        let mut headers = Headers::new();
        loop {
            let (header, after) = line(rest);
            rest = after;
            if header.is_empty() || headers.len() == HEADERS {
                break;
            }
            headers.push(pair(header));
        }
        Told {
            status,
            provider,
            headers,
            body: rest,
        }
    }
}

/// Name and value of a header line, as Envoy would hand them over.
pub fn pair(line: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let at = line
        .iter()
        .position(|byte| *byte == b':')
        .unwrap_or(line.len());
    let (name, value) = line.split_at(at);
    let value = value.strip_prefix(b":").unwrap_or(value);
    (name.to_ascii_lowercase(), value.trim_ascii().to_vec())
}

fn line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        None => (data, &[]),
        Some(at) => {
            let (line, rest) = data.split_at(at);
            (line, rest.get(1..).unwrap_or_default())
        }
    }
}

fn number(word: &[u8]) -> Option<u16> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn known(word: &[u8]) -> Option<Provider> {
    std::str::from_utf8(word).ok().and_then(Provider::named)
}
