//! JSON objects as Weir writes them: fields in the order in which they are given.

use std::fmt::Write;

/// An object in the making.
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Object {
        Object("{".to_owned())
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Object {
        self.optional_text(name, Some(value))
    }

    pub(crate) fn optional_text(mut self, name: &str, value: Option<&str>) -> Object {
        self.name(name);
        match value {
            Some(value) => self.quoted(value),
            None => self.0.push_str("null"),
        }
        self
    }

    pub(crate) fn number(self, name: &str, value: u64) -> Object {
        self.optional_number(name, Some(value))
    }

    pub(crate) fn optional_number(self, name: &str, value: Option<u64>) -> Object {
        match value {
            Some(value) => self.written(name, &value.to_string()),
            None => self.written(name, "null"),
        }
    }

    /// A field whose value is JSON.
    pub(crate) fn written(mut self, name: &str, value: &str) -> Object {
        self.name(name);
        self.0.push_str(value);
        self
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.quoted(name);
        self.0.push(':');
    }

    fn quoted(&mut self, text: &str) {
        self.0.push('"');
        for char in text.chars() {
            match char {
                '"' | '\\' => self.0.extend(['\\', char]),
                // Writing to a String cannot fail.
                '\0'..='\x1f' => drop(write!(self.0, "\\u{:04x}", u32::from(char))),
                _ => self.0.push(char),
            }
        }
        self.0.push('"');
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn any_text_is_read_back_as_it_was() {
        let text: String = ('\0'..='\u{ff}').chain(['你', '😀']).collect();
        let object = Object::new().text("a", &text).optional_text("b", None);
        let object = object.number("c", u64::MAX).optional_number("d", None);
        let json = object.written("e", "[1]").finish();
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected =
            serde_json::json!({"a": text, "b": null, "c": u64::MAX, "d": null, "e": [1]});
        assert_eq!(read, expected);
        assert_eq!(Object::new().finish(), "{}");
    }
}
