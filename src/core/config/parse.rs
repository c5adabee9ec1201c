//! JSON text to values (RFC 8259): strict, with the place of the first thing that is wrong.

use super::ConfigError;
use super::json::Json;
use super::number;

/// How deep lists and objects may nest.
const MAX_DEPTH: u8 = 127;

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// [`ConfigError::Json`] at the first byte that does not fit.
pub(super) fn parse(bytes: &[u8]) -> Result<Json, ConfigError> {
    let mut reader = Reader { bytes, at: 0 };
    let value = reader.value(MAX_DEPTH);
    let ended = value.and_then(|value| match reader.peek_word() {
        None => Ok(value),
        Some(_) => reader.wrong_here("trailing characters"),
    });
    ended.map_err(|problem| {
        let (line, column) = reader.place();
        ConfigError::Json {
            problem,
            line,
            column,
        }
    })
}

/// What is wrong; the reader stands behind it.
type Problem = &'static str;

struct Reader<'a> {
    bytes: &'a [u8],
    /// How many bytes are read.
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: u8) -> Result<Json, Problem> {
        match self.peek_word() {
            None => self.wrong_here(END_IN_VALUE),
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'"') => self.text().map(Json::Text),
            Some(b'[' | b'{') if depth == 0 => self.wrong_here("recursion limit exceeded"),
            Some(b'[') => self.list(depth - 1),
            Some(b'{') => self.object(depth - 1),
            Some(_) => self.wrong_here("expected value"),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, Problem> {
        for expected in word.bytes() {
            match self.next() {
                None => return Err(END_IN_VALUE),
                Some(byte) if byte != expected => return Err("expected ident"),
                Some(_) => {}
            }
        }
        Ok(value)
    }

    fn list(&mut self, depth: u8) -> Result<Json, Problem> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.peek_word() {
                None => return self.wrong_here("EOF while parsing a list"),
                Some(b']') => break,
                Some(_) if items.is_empty() => {}
                Some(b',') => {
                    self.at += 1;
                    if self.peek_word() == Some(b']') {
                        return self.wrong_here("trailing comma");
                    }
                }
                Some(_) => return self.wrong_here("expected `,` or `]`"),
            }
            items.push(self.value(depth)?);
        }
        self.at += 1;
        Ok(Json::List(items))
    }

    fn object(&mut self, depth: u8) -> Result<Json, Problem> {
        self.at += 1;
        let mut fields = Vec::new();
        loop {
            match self.peek_word() {
                None => return self.wrong_here(END_IN_OBJECT),
                Some(b'}') => break,
                Some(_) if fields.is_empty() => {}
                Some(b',') => {
                    self.at += 1;
                    match self.peek_word() {
                        None => return self.wrong_here(END_IN_VALUE),
                        Some(b'}') => return self.wrong_here("trailing comma"),
                        Some(_) => {}
                    }
                }
                Some(_) => return self.wrong_here("expected `,` or `}`"),
            }
            if self.peek() != Some(b'"') {
                return self.wrong_here("key must be a string");
            }
            let name = self.text()?;
            match self.peek_word() {
                None => return self.wrong_here(END_IN_OBJECT),
                Some(b':') => self.at += 1,
                Some(_) => return self.wrong_here("expected `:`"),
            }
            fields.push((name, self.value(depth)?));
        }
        self.at += 1;
        Ok(Json::Object(fields))
    }

    /// A number, kept as it is written.
    fn number(&mut self) -> Result<Json, Problem> {
        let start = self.at;
        self.skip(|byte| byte == b'-');
        match self.next() {
            None => return Err(END_IN_VALUE),
            Some(b'0') if self.peek().is_some_and(|byte| byte.is_ascii_digit()) => {
                return self.wrong_here(INVALID_NUMBER);
            }
            Some(b'0'..=b'9') => self.digits(),
            Some(_) => return Err(INVALID_NUMBER),
        }
        if self.skip(|byte| byte == b'.') {
            match self.peek() {
                None => return self.wrong_here(END_IN_VALUE),
                Some(b'0'..=b'9') => self.digits(),
                Some(_) => return self.wrong_here(INVALID_NUMBER),
            }
        }
        if self.skip(|byte| byte == b'e' || byte == b'E') {
            self.skip(|byte| byte == b'+' || byte == b'-');
            match self.next() {
                None => return Err(END_IN_VALUE),
                Some(b'0'..=b'9') => self.digits(),
                Some(_) => return Err(INVALID_NUMBER),
            }
        }
        let text = self.since(start);
        match number::is_in_range(&text) {
            true => Ok(Json::Number(text)),
            false => Err("number out of range"),
        }
    }

    fn digits(&mut self) {
        while self.skip(|byte| byte.is_ascii_digit()) {}
    }

    fn text(&mut self) -> Result<String, Problem> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.next().ok_or(END_IN_STRING)? {
                b'"' => break,
                b'\\' => self.escape(&mut text)?,
                0..=0x1F => {
                    return Err("control character (\\u0000-\\u001F) found while parsing a string");
                }
                byte => text.push(byte),
            }
        }
        String::from_utf8(text).map_err(|error| {
            // Back to the first byte that is wrong; to about there, if escapes follow.
            let rest = error.as_bytes().len() - error.utf8_error().valid_up_to();
            self.at = self.at.saturating_sub(rest);
            "invalid unicode code point"
        })
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        let byte = match self.next().ok_or(END_IN_STRING)? {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.character()?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(INVALID_ESCAPE),
        };
        text.push(byte);
        Ok(())
    }

    /// The character of one `\u` escape or of a pair of them.
    fn character(&mut self) -> Result<char, Problem> {
        const LONE: Problem = "lone leading surrogate in hex escape";
        let mut code = self.hex4()?;
        if (0xD800..0xDC00).contains(&code) {
            for expected in [b'\\', b'u'] {
                if self.next().ok_or(END_IN_STRING)? != expected {
                    return Err("unexpected end of hex escape");
                }
            }
            let low = self.hex4()?;
            if !(0xDC00..0xE000).contains(&low) {
                return Err(LONE);
            }
            code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
        }
        char::from_u32(code).ok_or(LONE)
    }

    fn hex4(&mut self) -> Result<u32, Problem> {
        let end = self.at + 4;
        let Some(digits) = self.bytes.get(self.at..end) else {
            self.at = self.bytes.len();
            return Err(END_IN_STRING);
        };
        self.at = end;
        let digits = digits.iter().map(|byte| char::from(*byte).to_digit(16));
        let code = digits.reduce(|code, digit| Some((code? << 4) | digit?));
        code.flatten().ok_or(INVALID_ESCAPE)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is no white space.
    fn peek_word(&mut self) -> Option<u8> {
        while self.skip(|byte| b" \n\t\r".contains(&byte)) {}
        self.peek()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Reads the next byte if it is one of those.
    fn skip(&mut self, fits: impl Fn(u8) -> bool) -> bool {
        let skips = self.peek().is_some_and(fits);
        self.at += usize::from(skips);
        skips
    }

    fn since(&self, start: usize) -> String {
        let bytes = self.bytes.get(start..self.at).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The byte that comes next is what is wrong.
    fn wrong_here<T>(&mut self, problem: Problem) -> Result<T, Problem> {
        let _ = self.next();
        Err(problem)
    }

    /// Line and column of the last byte that is read, both from 1.
    fn place(&self) -> (usize, usize) {
        let read = self.bytes.get(..self.at).unwrap_or_default();
        let lines = read.iter().filter(|byte| **byte == b'\n').count();
        let column = read.iter().rev().take_while(|byte| **byte != b'\n').count();
        (lines + 1, column)
    }
}

const END_IN_VALUE: Problem = "EOF while parsing a value";
const END_IN_OBJECT: Problem = "EOF while parsing an object";
const END_IN_STRING: Problem = "EOF while parsing a string";
const INVALID_NUMBER: Problem = "invalid number";
const INVALID_ESCAPE: Problem = "invalid escape";

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// The value as serde_json writes it; numbers by value.
    fn known(json: &Json) -> serde_json::Value {
        match json {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => (*value).into(),
            Json::Number(text) => serde_json::from_str(text).unwrap(),
            Json::Text(text) => text.as_str().into(),
            Json::List(items) => items.iter().map(known).collect(),
            Json::Object(fields) => {
                let field = |(name, value): &(String, Json)| (name.clone(), known(value));
                fields.iter().map(field).collect()
            }
        }
    }

    /// Reads as serde_json does, and finds the same wrong at the same place.
    fn agrees(bytes: &[u8]) {
        let expected: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
        match (parse(bytes), expected) {
            (Ok(json), Ok(expected)) => assert_eq!(known(&json), expected),
            (
                Err(ConfigError::Json {
                    problem,
                    line,
                    column,
                }),
                Err(error),
            ) => {
                let found = format!("{problem} at line {line} column {column}");
                assert_eq!(found, error.to_string(), "{}", bytes.escape_ascii());
            }
            (found, expected) => panic!("{found:?} but {expected:?}: {}", bytes.escape_ascii()),
        }
    }

    #[test]
    fn nesting_has_an_end() {
        for depth in [126, 127, 128, 129, 9999] {
            agrees(&b"[".repeat(depth));
            agrees(&[b"[".repeat(depth), b"]".repeat(depth)].concat());
            agrees(&b"{\"a\":".repeat(depth));
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_refused_in_strings() {
        for bytes in [
            &b"\"\xff\""[..],
            b"\"\xc3\"",
            b"\xff",
            b"[\"a\xed\xa0\x80\"]",
        ] {
            agrees(bytes);
        }
    }

    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"b\":",
        "\\",
        "\\\"",
        "\\n",
        "\\u",
        "\\u00e9",
        "\\ud83d",
        "\\ude00",
        "\\ud83d\\ude00",
        "\\u12",
        "0",
        "1",
        "-",
        "+",
        ".",
        "e",
        "E",
        "1.5",
        "-0",
        "1e5",
        "1e309",
        "00",
        "null",
        "true",
        "false",
        "nul",
        "t",
        " ",
        "\n",
        "\t",
        "\r",
        "é",
        "\u{1}",
        "x",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn any_pieces_read_as_by_serde_json(pieces in prop::collection::vec(select(PIECES), 0..14)) {
            agrees(pieces.concat().as_bytes());
        }

        #[test]
        fn a_good_text_with_one_wrong_byte_reads_as_by_serde_json(at in 0..TEXT.len(), byte: u8) {
            let mut bytes = TEXT.as_bytes().to_vec();
            agrees(&bytes);
            agrees(&bytes[..at]);
            bytes[at] = byte;
            agrees(&bytes);
        }
    }

    const TEXT: &str = "{\"a\": [1, -2.5e-3, 0.1E+2, true],\n \"b\\u00e9\\ud83d\\ude00\": {\"c\": null,\t\"d\": \"\\\"x\\/\"}, \"e\": [ ], \"f\": { } }\r\n";
}
