//! A walk over JSON that may be cut short, malformed, in a wrong encoding or nested without end.
//!
//! It builds nothing and does not recurse: a visitor says of each object and list whether it wants
//! to see inside, and gets the values that stand there. Whatever is no JSON is passed over.

use std::borrow::Cow;

/// What stands before a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key<'a> {
    /// The name of a field, as it was written.
    Field(&'a [u8]),
    /// The position in a list. The document itself stands at 0 of nothing.
    Item(u16),
}

/// A value that is no object and no list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// What stands between the quotes, escapes and all.
    Text(&'a [u8]),
    /// A number, `true`, `false` or `null`, or anything else without quotes.
    Bare(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The value as it was written, without quotes.
    pub(super) fn raw(self) -> &'a [u8] {
        match self {
            Value::Text(raw) | Value::Bare(raw) => raw,
        }
    }

    /// The text with its escapes resolved; bytes that are no UTF-8 are replaced.
    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Value::Text(raw) if raw.contains(&b'\\') => Cow::Owned(unescaped(raw)),
            Value::Text(raw) | Value::Bare(raw) => String::from_utf8_lossy(raw),
        }
    }
}

/// A place in the document that a visitor knows by a number of its own. [`SKIP`] is no place.
pub(super) type Place = u8;

/// Where nothing is looked at.
pub(super) const SKIP: Place = 0;

/// What is told of a walk.
pub(super) trait Visit {
    /// An object or list begins: the place it is, or [`SKIP`].
    fn enter(&mut self, parent: Place, key: Key<'_>, is_list: bool) -> Place;

    /// A value in a place.
    fn value(&mut self, parent: Place, key: Key<'_>, value: Value<'_>);
}

/// Objects and lists that are looked into at a time. Errors lie less deep.
const MAX_DEPTH: usize = 12;

#[derive(Clone, Copy)]
struct Frame<'a> {
    place: Place,
    is_list: bool,
    index: u16,
    key: Option<&'a [u8]>,
}

/// Walks over `json`; the document is in the place `start`.
///
/// `is_python` also takes single quotes, in which a Python program writes a dictionary.
pub(super) fn walk(json: &[u8], start: Place, is_python: bool, visit: &mut dyn Visit) {
    let mut frames: Vec<Frame<'_>> = Vec::with_capacity(MAX_DEPTH);
    let mut top = Frame {
        place: start,
        is_list: true,
        index: 0,
        key: None,
    };
    // Open objects and lists below `top` that nobody looks into.
    let mut skipped = 0usize;
    let mut at = 0;
    while let Some(byte) = json.get(at).copied() {
        let mut value = None;
        match byte {
            b'{' | b'[' => {
                at += 1;
                if skipped > 0 {
                    skipped += 1;
                    continue;
                }
                let is_list = byte == b'[';
                let place = match top.key() {
                    Some(key) if frames.len() < MAX_DEPTH => visit.enter(top.place, key, is_list),
                    _ => SKIP,
                };
                if place == SKIP {
                    skipped = 1;
                } else {
                    frames.push(top);
                    top = Frame {
                        place,
                        is_list,
                        index: 0,
                        key: None,
                    };
                }
                continue;
            }
            b'}' | b']' => {
                at += 1;
                if skipped > 0 {
                    skipped -= 1;
                } else if let Some(outer) = frames.pop() {
                    top = outer;
                }
                continue;
            }
            b',' => {
                if skipped == 0 {
                    top.key = None;
                    top.index = top.index.saturating_add(1);
                }
                at += 1;
                continue;
            }
            b'"' => {
                let end = end_of_text(json, at + 1, b'"');
                value = json.get(at + 1..end).map(Value::Text);
                at = end + 1;
            }
            b'\'' if is_python => {
                let end = end_of_text(json, at + 1, b'\'');
                value = json.get(at + 1..end).map(Value::Text);
                at = end + 1;
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            _ => {
                let rest = json.get(at..).unwrap_or_default();
                let length = rest.iter().position(|b| is_delimiter(*b));
                let length = length.unwrap_or(rest.len()).max(1);
                value = rest.get(..length).map(Value::Bare);
                at += length;
            }
        }
        let Some(value) = value else { continue };
        if skipped > 0 {
            continue;
        }
        match (top.key(), value) {
            (Some(key), _) => {
                visit.value(top.place, key, value);
                top.key = None;
            }
            (None, Value::Text(name)) => top.key = Some(name),
            (None, Value::Bare(_)) => {}
        }
    }
}

impl<'a> Frame<'a> {
    fn key(&self) -> Option<Key<'a>> {
        match self.is_list {
            true => Some(Key::Item(self.index)),
            false => self.key.map(Key::Field),
        }
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"' | b' ' | b'\t' | b'\r' | b'\n'
    )
}

/// Where the closing quote stands, or the end of the bytes.
fn end_of_text(json: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = json.get(at).copied() {
        if byte == quote {
            return at;
        }
        at += match byte {
            b'\\' => 2,
            // In GBK the second byte of a character may be a backslash.
            0x80.. if json.get(at + 1) == Some(&b'\\') && !ends_character(json, at) => 2,
            _ => 1,
        };
    }
    json.len()
}

/// Whether the byte at `at` ends a character of UTF-8.
fn ends_character(json: &[u8], at: usize) -> bool {
    let lead = (0..4usize).find_map(|back| {
        let byte = json.get(at.checked_sub(back)?)?;
        (byte & 0xC0 != 0x80).then_some((back, *byte))
    });
    matches!(
        lead,
        Some((1, 0xC2..=0xDF)) | Some((2, 0xE0..=0xEF)) | Some((3, 0xF0..=0xF4))
    )
}

fn unescaped(raw: &[u8]) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let Some((escape, tail)) = rest.split_first() else {
            break;
        };
        rest = tail;
        match escape {
            b'n' | b'r' | b't' | b'b' | b'f' => out.push(b' '),
            b'u' => {
                let (code, tail) = hex4(rest);
                rest = tail;
                let character = match (code, rest.strip_prefix(b"\\u")) {
                    (0xD800..=0xDBFF, Some(tail)) => {
                        let (low, tail) = hex4(tail);
                        rest = tail;
                        0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
                    }
                    _ => code,
                };
                let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(*other),
        }
    }
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn hex4(raw: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = raw.split_at(raw.len().min(4));
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    (u32::from_str_radix(digits, 16).unwrap_or(0), rest)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Everything that stands one level deep.
    #[derive(Default)]
    struct All(Vec<String>);

    impl Visit for All {
        fn enter(&mut self, parent: Place, _: Key<'_>, _: bool) -> Place {
            if parent == 1 { 2 } else { SKIP }
        }

        fn value(&mut self, _: Place, key: Key<'_>, value: Value<'_>) {
            let key = match key {
                Key::Field(name) => String::from_utf8_lossy(name).into_owned(),
                Key::Item(position) => position.to_string(),
            };
            self.0.push(format!("{key}={}", value.text()));
        }
    }

    fn seen(json: &[u8], is_python: bool) -> Vec<String> {
        let mut all = All::default();
        walk(json, 1, is_python, &mut all);
        all.0
    }

    #[test]
    fn good_and_bad_json() {
        for (json, values) in [
            (
                r#"{"a":1,"b":"x\"y","c":{"d":2},"e":null}"#,
                vec!["a=1", "b=x\"y", "e=null"],
            ),
            (r#"{"a":"\u4f60\ud83d\ude00\n"}"#, vec!["a=你😀 "]),
            (r#"{"a":1,,"b":2"#, vec!["a=1", "b=2"]),
            (r#"{"a":1 , ,"b" : "cut"#, vec!["a=1", "b=cut"]),
            (r#"[7,[8],"x"]"#, vec!["0=7", "2=x"]),
            (r#"{"a":[[[]]],"b":3}}}]"#, vec!["b=3"]),
            (r#"{"a":"\"#, vec!["a="]),
            ("", vec![]),
        ] {
            assert_eq!(seen(json.as_bytes(), false), values, "{json}");
        }
        assert_eq!(seen(b"{'a': 'x', \"b\": None}", true), ["a=x", "b=None"]);
    }

    #[test]
    fn a_backslash_in_a_chinese_character_is_none() {
        assert_eq!(
            seen(b"{\"a\":\"\xb2\x5c\",\"b\":1}", false).last().unwrap(),
            "b=1"
        );
        assert_eq!(
            seen("{\"a\":\"你\\\"\",\"b\":1}".as_bytes(), false)
                .last()
                .unwrap(),
            "b=1"
        );
    }

    #[test]
    fn nesting_without_end_is_passed_over() {
        let deep = [b"{\"a\":".repeat(5000), b"1".to_vec()].concat();
        assert!(seen(&deep, false).is_empty());
        assert!(seen(&[b'['; 9999], false).is_empty());
    }
}
