//! The few words of a body that may name a class, read without building a tree.
//!
//! Errors stand at `error`, `errors[0]`, `[0].error`, `detail` or at the top level. Nothing else is
//! looked at: prompts and assistant text may hold any word.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// More codes or messages than any provider sends; what follows is ignored.
const MAX_WORDS: usize = 16;
/// Longer than any code.
const MAX_CODE_BYTES: usize = 128;
/// How much of a body that is not whole JSON is searched: all that is ever read of one.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// What a body said, sorted by how far it can be trusted.
#[derive(Default)]
pub(super) struct Said {
    /// Codes, types and statuses, as they were written.
    codes: Vec<String>,
    /// Messages in lower case.
    messages: Vec<String>,
    /// The beginning of a body that did not parse to its end: cut short, plain text, HTML.
    text: Option<Text>,
}

struct Text {
    exact: String,
    lower: String,
}

impl Said {
    /// Reads any bytes. What was read before a body breaks off or turns out malformed counts.
    pub(super) fn read(body: &[u8]) -> Said {
        let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        let mut said = Said::default();
        let mut json = serde_json::Deserializer::from_slice(body);
        let place = Place {
            said: &mut said,
            part: Part::Document,
        };
        let parsed = place.deserialize(&mut json).and_then(|()| json.end());
        if parsed.is_err() {
            let prefix = body.get(..MAX_TEXT_BYTES).unwrap_or(body);
            let exact = String::from_utf8_lossy(prefix).into_owned();
            let lower = exact.to_ascii_lowercase();
            said.text = Some(Text { exact, lower });
        }
        said
    }

    /// Whether a code, type or status is exactly this.
    pub(super) fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|c| c == code)
    }

    /// Whether a message holds this phrase, given in lower case.
    pub(super) fn has_phrase(&self, phrase: &str) -> bool {
        self.messages.iter().any(|m| m.contains(phrase))
    }

    /// Whether a message begins with this phrase, given in lower case, or with "you(r)" and it.
    pub(super) fn opens_with(&self, phrase: &str) -> bool {
        self.messages.iter().any(|m| {
            let m = m.strip_prefix("your ").unwrap_or(m);
            m.strip_prefix("you ").unwrap_or(m).starts_with(phrase)
        })
    }

    /// Whether a body that is not whole JSON holds this code as a JSON string.
    pub(super) fn quotes(&self, code: &str) -> bool {
        self.text.as_ref().is_some_and(|text| {
            text.exact
                .match_indices(code)
                .any(|(at, _)| is_quoted(&text.exact, at, code.len()))
        })
    }

    /// Whether a body that is not whole JSON holds this phrase, given in lower case.
    pub(super) fn mentions(&self, phrase: &str) -> bool {
        self.text.as_ref().is_some_and(|t| t.lower.contains(phrase))
    }

    fn add(&mut self, part: Part, word: &str) {
        match part {
            Part::Code if word.len() > MAX_CODE_BYTES || self.codes.len() >= MAX_WORDS => {}
            Part::Code => self.codes.push(word.to_owned()),
            _ if self.messages.len() >= MAX_WORDS => {}
            _ => self.messages.push(word.to_ascii_lowercase()),
        }
    }
}

fn is_quoted(text: &str, at: usize, len: usize) -> bool {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|i| bytes.get(i));
    before == Some(&b'"') && bytes.get(at + len) == Some(&b'"')
}

/// Where in the body a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The whole body, or the first element of a body that is an array.
    Document,
    /// The value of `error`, `errors` or `detail`: an object, a list of them, or just a message.
    Error,
    Code,
    Message,
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    #[serde(alias = "type", alias = "status", alias = "error_code")]
    #[serde(alias = "error_type")]
    Code,
    Message,
    #[serde(alias = "errors", alias = "detail")]
    Error,
    #[serde(other)]
    Other,
}

/// Adds what stands at one place to what was said, and passes over everything else.
struct Place<'s> {
    said: &'s mut Said,
    part: Part,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inside = matches!(self.part, Part::Document | Part::Error);
        while let Some(key) = map.next_key::<Key>()? {
            let part = match key {
                Key::Code if inside => Part::Code,
                Key::Message if inside => Part::Message,
                Key::Error if self.part == Part::Document => Part::Error,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let said = &mut *self.said;
            map.next_value_seed(Place { said, part })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if matches!(self.part, Part::Document | Part::Error) {
            let (said, part) = (&mut *self.said, self.part);
            seq.next_element_seed(Place { said, part })?;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, word: &str) -> Result<(), E> {
        self.said.add(self.part, word);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn codes_are_found_where_providers_put_them_and_nowhere_else() {
        for (body, found) in [
            (r#"{"error":{"code":"c"}}"#, true),
            (r#"{"error":{"type":"c","code":null}}"#, true),
            (r#"[{"error":{"status":"c"}}]"#, true),
            (r#"{"errors":[{"code":"c"}]}"#, true),
            (r#"{"detail":{"status":"c"}}"#, true),
            (r#"{"code":"c","error":"words"}"#, true),
            (r#"{"error_code":"c"}"#, true),
            ("\u{feff}{\"code\":\"c\"}", true),
            (r#"{"code":"x","code":"c"}"#, true),
            (r#"{"code":"c","code":"x"}"#, true),
            (r#"{"error":{"co\u0064e":"\u0063"}}"#, true),
            (r#"{"error":{"code":"c","message":"cut o"#, true),
            (r#"{"error":{"code":"c",,"message":"stray comma"}}"#, true),
            (r#"{"errors":[{"code":"x"},{"code":"c"}]}"#, false),
            (r#"{"error":{"param":"c"}}"#, false),
            (r#"{"error":{"error":{"code":"c"}}}"#, false),
            (r#"{"error":{"code":{"code":"c"}}}"#, false),
            (r#"{"choices":[{"message":{"code":"c"}}]}"#, false),
            (r#"{"message":"c"}"#, false),
            ("", false),
            ("c", false),
        ] {
            assert_eq!(Said::read(body.as_bytes()).has_code("c"), found, "{body}");
        }
    }

    #[test]
    fn messages_are_read_without_case() {
        for body in [
            r#"{"error":{"message":"Too FAST"}}"#,
            r#"{"error":"Too FAST"}"#,
            r#"{"detail":"Too FAST"}"#,
            r#"{"message":"Too FAST"}"#,
            r#""Too FAST""#,
        ] {
            assert!(Said::read(body.as_bytes()).has_phrase("too fast"), "{body}");
        }
    }

    #[test]
    fn a_code_before_a_message_in_another_encoding_counts() {
        let gbk = b"{\"error\":{\"code\":\"c\",\"message\":\"\xB2\xA2\xB7\xA2\"}}";
        let said = Said::read(gbk);
        assert!(said.has_code("c"));
        assert!(said.text.is_some());
    }

    #[test]
    fn hostile_bodies_are_bounded() {
        let deep = "[".repeat(100_000);
        assert!(Said::read(deep.as_bytes()).text.is_some());
        let nested = format!("{}\"x\"{}", "{\"error\":".repeat(9000), "}".repeat(9000));
        Said::read(nested.as_bytes());
        let many = format!("{{{}\"a\":0}}", "\"code\":\"x\",".repeat(5000));
        assert_eq!(Said::read(many.as_bytes()).codes.len(), MAX_WORDS);
        let long = vec![0xFF; 10 * MAX_TEXT_BYTES];
        let text = Said::read(&long).text.unwrap();
        assert!(text.lower.len() <= 3 * MAX_TEXT_BYTES);
    }
}
