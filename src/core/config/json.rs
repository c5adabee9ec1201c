//! JSON as it was written: fields in order, repeated ones included, so that the reader can refuse
//! them by path.

use std::fmt::{self, Write};

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// Kept as it is written: what it is worth depends on the field.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value as compact JSON, cut to [`SHOWN_CHARS`] characters.
    pub(super) fn shown(&self) -> String {
        let mut out = Bounded::default();
        // The only error is a full buffer, which `finish` shows.
        let _ = self.write(&mut out);
        out.finish()
    }

    fn write(&self, out: &mut Bounded) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(true) => out.write_str("true"),
            Json::Bool(false) => out.write_str("false"),
            Json::Number(text) => out.write_str(text),
            Json::Text(text) => write_quoted(text, out),
            Json::List(items) => {
                out.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.write_char(',')?;
                    }
                    item.write(out)?;
                }
                out.write_char(']')
            }
            Json::Object(fields) => {
                out.write_char('{')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.write_char(',')?;
                    }
                    write_quoted(name, out)?;
                    out.write_char(':')?;
                    value.write(out)?;
                }
                out.write_char('}')
            }
        }
    }
}

/// `text` as a JSON string, cut to [`SHOWN_CHARS`] characters.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Bounded::default();
    let _ = write_quoted(text, &mut out);
    out.finish()
}

/// How much of a value an error shows.
pub(super) const SHOWN_CHARS: usize = 60;

/// Quotes, backslashes and everything that could disturb a log line are escaped.
fn write_quoted(text: &str, out: &mut Bounded) -> fmt::Result {
    out.write_char('"')?;
    for char in text.chars() {
        match char {
            '"' | '\\' => write!(out, "\\{char}")?,
            _ if char.is_control() => write!(out, "\\u{:04x}", u32::from(char))?,
            _ => out.write_char(char)?,
        }
    }
    out.write_char('"')
}

/// A writer that refuses once it holds one character more than may be shown.
#[derive(Default)]
struct Bounded {
    text: String,
    chars: usize,
}

impl Bounded {
    fn finish(self) -> String {
        if self.chars <= SHOWN_CHARS {
            return self.text;
        }
        let mut cut: String = self.text.chars().take(SHOWN_CHARS - 1).collect();
        cut.push('…');
        cut
    }
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if self.chars > SHOWN_CHARS {
                return Err(fmt::Error);
            }
            self.text.push(char);
            self.chars += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::parse::parse;
    use super::*;

    fn json(text: &str) -> Json {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn repeated_fields_are_kept() {
        let twice = json(r#"{"a":1,"a":2}"#);
        assert_eq!(twice.shown(), r#"{"a":1,"a":2}"#);
    }

    #[test]
    fn values_are_shown_compact_and_escaped() {
        let text = r#" [ null, true, -1, 2.5, "a\n\"b\u0007", { } ] "#;
        assert_eq!(
            json(text).shown(),
            r#"[null,true,-1,2.5,"a\u000a\"b\u0007",{}]"#
        );
    }

    #[test]
    fn long_values_are_cut_by_characters_not_bytes() {
        let exact = "é".repeat(SHOWN_CHARS - 2);
        assert_eq!(quoted(&exact), format!("\"{exact}\""));
        let over = quoted(&"é".repeat(SHOWN_CHARS - 1));
        assert_eq!(over.chars().count(), SHOWN_CHARS);
        assert!(over.ends_with("é…"));
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(json(&nested).shown().chars().count(), SHOWN_CHARS);
    }
}
