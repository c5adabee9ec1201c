//! Reading JSON with the place always at hand, so that every error can name it.

use std::fmt::Write;

use super::json::{Json, quoted};
use super::limits::NANO;
use super::number;
use super::{ConfigError, Nearest, Rule};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    path: String,
    value: &'a Json,
}

impl<'a> At<'a> {
    pub(super) fn root(value: &'a Json) -> At<'a> {
        At {
            path: String::new(),
            value,
        }
    }

    /// The object here, after refusing any field not in `known` and any given twice.
    pub(super) fn object(&self, known: &'static [&'static str]) -> Result<Fields<'a>, ConfigError> {
        let Json::Object(fields) = self.value else {
            return Err(self.breaks(Rule::Object));
        };
        for (at, (name, value)) in fields.iter().enumerate() {
            let path = || join(&self.path, name);
            let given = || value.shown();
            if !known.contains(&name.as_str()) {
                return Err(ConfigError::UnknownField {
                    path: path(),
                    given: given(),
                    nearest: Nearest::to(name, known),
                });
            }
            // Names are known here, so those before are few.
            if fields.iter().take(at).any(|(before, _)| before == name) {
                return Err(ConfigError::Repeated {
                    path: path(),
                    given: given(),
                });
            }
        }
        Ok(Fields {
            path: self.path.clone(),
            fields,
        })
    }

    /// The values of the list here.
    pub(super) fn list(&self) -> Result<Vec<At<'a>>, ConfigError> {
        let Json::List(items) = self.value else {
            return Err(self.breaks(Rule::List));
        };
        let item = |(index, value)| At {
            path: format!("{}[{index}]", self.path),
            value,
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The values of the list here, which must have some.
    pub(super) fn filled_list(&self) -> Result<Vec<At<'a>>, ConfigError> {
        let items = self.list()?;
        if items.is_empty() {
            return Err(self.breaks(Rule::FilledList));
        }
        Ok(items)
    }

    /// The string here; anything else breaks `rule`.
    pub(super) fn text(&self, rule: Rule) -> Result<&'a str, ConfigError> {
        match self.value {
            Json::Text(text) => Ok(text),
            _ => Err(self.breaks(rule)),
        }
    }

    /// The whole number here. `8.0` is one: a configuration that passed through a protobuf
    /// `Struct` holds nothing but doubles.
    pub(super) fn whole(&self, min: u32, max: u32) -> Result<u32, ConfigError> {
        let whole = match self.value {
            Json::Number(text) => number::whole(text),
            _ => None,
        };
        whole
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| self.breaks(Rule::Whole { min, max }))
    }

    /// The `true` or `false` here.
    pub(super) fn yes_or_no(&self) -> Result<bool, ConfigError> {
        match self.value {
            Json::Bool(value) => Ok(*value),
            _ => Err(self.breaks(Rule::YesOrNo)),
        }
    }

    /// The text here, or the number, `true`, `false` or `null` as JSON writes it.
    pub(super) fn scalar(&self) -> Result<String, ConfigError> {
        match self.value {
            Json::Text(text) => Ok(text.clone()),
            Json::Bool(value) => Ok(value.to_string()),
            Json::Null => Ok("null".to_owned()),
            // A configuration that passed through a protobuf `Struct` has 8.0 for 8.
            Json::Number(text) => Ok(match number::whole(text) {
                Some(whole) => whole.to_string(),
                None => text.clone(),
            }),
            Json::List(_) | Json::Object(_) => Err(self.breaks(Rule::Scalar)),
        }
    }

    /// The number here in billionths, rounded down; it must be above 0 and at most `max`. What is
    /// above 0 is at least one billionth.
    pub(super) fn nano(&self, max: u32) -> Result<u64, ConfigError> {
        let nano = match self.value {
            Json::Number(text) => number::billionths(text),
            _ => None,
        };
        nano.filter(|nano| *nano <= u64::from(max) * NANO)
            .ok_or_else(|| self.breaks(Rule::Above0 { max }))
    }

    /// The fields of the object here, whatever their names, none twice and at most `most`.
    pub(super) fn entries(
        &self,
        names: Names,
        most: usize,
    ) -> Result<Vec<(&'a str, At<'a>)>, ConfigError> {
        let Json::Object(fields) = self.value else {
            return Err(self.breaks(Rule::Object));
        };
        if fields.len() > most {
            return Err(ConfigError::Value {
                path: self.place(),
                given: format!("{} of them", fields.len()),
                rule: Rule::AtMost { most },
            });
        }
        let mut entries: Vec<(&str, At<'_>)> = Vec::new();
        for (index, (name, value)) in fields.iter().enumerate() {
            let path = match names {
                Names::Shown => join(&self.path, name),
                Names::Secret => format!("{}[{index}]", self.path),
            };
            let at = At { path, value };
            if entries.iter().any(|(before, _)| before == name) {
                return Err(at.repeated());
            }
            entries.push((name.as_str(), at));
        }
        Ok(entries)
    }

    pub(super) fn is_null(&self) -> bool {
        *self.value == Json::Null
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.value, Json::Object(_))
    }

    /// The error that the value here breaks `rule`.
    pub(super) fn breaks(&self, rule: Rule) -> ConfigError {
        ConfigError::Value {
            path: self.place(),
            given: self.value.shown(),
            rule,
        }
    }

    /// The error that the field here was given before.
    pub(super) fn repeated(&self) -> ConfigError {
        ConfigError::Repeated {
            path: self.place(),
            given: self.value.shown(),
        }
    }

    /// The error that the value here names none of `known`.
    pub(super) fn unknown(
        &self,
        what: &'static str,
        known: &'static [&'static str],
    ) -> ConfigError {
        let nearest = match self.value {
            Json::Text(text) => Nearest::to(text, known),
            _ => Nearest::Known(known),
        };
        ConfigError::UnknownName {
            path: self.place(),
            given: self.value.shown(),
            what,
            nearest,
        }
    }

    fn place(&self) -> String {
        match self.path.as_str() {
            "" => "the configuration".to_owned(),
            path => path.to_owned(),
        }
    }
}

/// How errors name the fields of an object whose names are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// By name.
    Shown,
    /// By number, from 0: the names are nobody's business.
    Secret,
}

/// The fields of one object; names known, none twice.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    path: String,
    fields: &'a [(String, Json)],
}

impl<'a> Fields<'a> {
    pub(super) fn optional(&self, name: &str) -> Option<At<'a>> {
        let (_, value) = self.fields.iter().find(|(field, _)| field == name)?;
        let path = self.path_of(name);
        Some(At { path, value })
    }

    /// The field `name`; `rule` says in the error what it must be.
    pub(super) fn required(&self, name: &str, rule: Rule) -> Result<At<'a>, ConfigError> {
        self.optional(name).ok_or_else(|| self.missing(name, rule))
    }

    /// The error that the field `name` should be there, as `rule` says.
    pub(super) fn missing(&self, name: &str, rule: Rule) -> ConfigError {
        ConfigError::Missing {
            path: self.path_of(name),
            rule,
        }
    }

    /// The field `name` as a whole number, or its default.
    pub(super) fn whole(
        &self,
        name: &str,
        min: u32,
        max: u32,
        default: u32,
    ) -> Result<u32, ConfigError> {
        self.optional(name)
            .map_or(Ok(default), |at| at.whole(min, max))
    }

    /// The one of the fields `left` and `right` that is given, with its name. `at` is the object.
    pub(super) fn one_of(
        &self,
        left: &'static str,
        right: &'static str,
        at: &At<'_>,
    ) -> Result<(&'static str, At<'a>), ConfigError> {
        match (self.optional(left), self.optional(right)) {
            (Some(value), None) => Ok((left, value)),
            (None, Some(value)) => Ok((right, value)),
            (Some(_), Some(value)) => Err(value.breaks(Rule::LeftOutBeside(left))),
            (None, None) => Err(at.breaks(Rule::OneOf { left, right })),
        }
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }
}

/// `path.name`, or `path["odd name"]` so that a path can be read in one way only.
fn join(path: &str, name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let mut joined = path.to_owned();
    if name.is_empty() || name.len() > PLAIN_NAME || !name.chars().all(plain) {
        // Writing to a String cannot fail.
        let _ = write!(joined, "[{}]", quoted(name));
        return joined;
    }
    if !joined.is_empty() {
        joined.push('.');
    }
    joined.push_str(name);
    joined
}

const PLAIN_NAME: usize = 50;

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn paths_read_one_way_only() {
        assert_eq!(join("", "a"), "a");
        assert_eq!(join("a[0]", "b-c_1"), "a[0].b-c_1");
        assert_eq!(join("a", ""), r#"a[""]"#);
        assert_eq!(join("a", "b.c"), r#"a["b.c"]"#);
        assert_eq!(join("", "b\"]\n"), r#"["b\"]\u000a"]"#);
        assert!(join("", &"x".repeat(9999)).chars().count() < 70);
    }
}
