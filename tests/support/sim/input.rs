//! Reading JSON with errors that name path, value and rule.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {value} {rule}")]
pub(crate) struct InputError {
    /// Where it is: a file and a path in it, or an option.
    pub(crate) path: String,
    pub(crate) value: String,
    /// What it breaks, as the end of a sentence that begins with the value.
    pub(crate) rule: String,
}

impl InputError {
    pub(crate) fn new(path: impl Into<String>, value: impl ToString, rule: &str) -> InputError {
        InputError {
            path: path.into(),
            value: value.to_string(),
            rule: rule.to_owned(),
        }
    }
}

/// An object that is being read: every field has to be asked for before [`Object::finish`].
#[derive(Debug)]
pub(crate) struct Object<'a> {
    path: String,
    fields: &'a Map<String, Value>,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Object<'a> {
    pub(crate) fn new(path: String, value: &'a Value) -> Result<Object<'a>, InputError> {
        match value {
            Value::Object(fields) => Ok(Object {
                path,
                fields,
                asked: RefCell::default(),
            }),
            _ => Err(InputError::new(path, value, "is not an object")),
        }
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    pub(crate) fn field(&self, name: &'static str) -> Option<&'a Value> {
        self.asked.borrow_mut().insert(name);
        self.fields.get(name)
    }

    pub(crate) fn error(&self, name: &'static str, rule: &str) -> InputError {
        match self.fields.get(name) {
            Some(value) => InputError::new(self.path_of(name), value, rule),
            None => InputError::new(self.path_of(name), "a missing field", rule),
        }
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&'a str, InputError> {
        let text = self.field(name).and_then(Value::as_str);
        text.ok_or_else(|| self.error(name, "is not a string"))
    }

    /// A number of at least `least`.
    pub(crate) fn number(&self, name: &'static str, least: f64) -> Result<f64, InputError> {
        let number = self.field(name).and_then(Value::as_f64);
        // Far above every limit there is, and far below where sums overflow.
        let fits = |n: &f64| *n >= least && *n <= 1e12;
        let rule = format!("is not a number of at least {least} and at most 1e12");
        number.filter(fits).ok_or_else(|| self.error(name, &rule))
    }

    /// A number, or `default` if the field is absent.
    pub(crate) fn number_or(
        &self,
        name: &'static str,
        least: f64,
        default: f64,
    ) -> Result<f64, InputError> {
        match self.field(name) {
            Some(_) => self.number(name, least),
            None => Ok(default),
        }
    }

    /// A whole number of at least `least`.
    pub(crate) fn whole(&self, name: &'static str, least: u64) -> Result<u64, InputError> {
        let number = self.field(name).and_then(Value::as_u64);
        let fits = |n: &u64| *n >= least && *n <= 1_000_000_000;
        let rule = format!("is not a whole number from {least} to 1000000000");
        number.filter(fits).ok_or_else(|| self.error(name, &rule))
    }

    pub(crate) fn whole_or(
        &self,
        name: &'static str,
        least: u64,
        default: u64,
    ) -> Result<u64, InputError> {
        match self.field(name) {
            Some(_) => self.whole(name, least),
            None => Ok(default),
        }
    }

    /// The elements of a list; none if the field is absent.
    pub(crate) fn list(&self, name: &'static str) -> Result<&'a [Value], InputError> {
        match self.field(name) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(self.error(name, "is not a list")),
        }
    }

    /// No field is there that nobody asked for.
    pub(crate) fn finish(self) -> Result<(), InputError> {
        let asked = self.asked.into_inner();
        match self
            .fields
            .keys()
            .find(|name| !asked.contains(name.as_str()))
        {
            None => Ok(()),
            Some(name) => {
                let known: Vec<_> = asked.into_iter().collect();
                let rule = format!("is not one of: {}", known.join(", "));
                Err(InputError::new(
                    self.path,
                    format!("field \"{name}\""),
                    &rule,
                ))
            }
        }
    }
}
