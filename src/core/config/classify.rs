//! How a policy's refusals are classified, beyond what Weir knows by itself.

use super::cursor::{At, Fields};
use super::names::HeaderName;
use super::values::parsed;
use super::{ConfigError, Rule};
use crate::core::classify::{self, Class, Conditions, MAX_TEXT, RuleError};

/// The user's rules, and what to do with refusals in a 200.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classify {
    pub(super) rules: Vec<classify::Rule>,
    pub(super) map_200: bool,
}

impl Classify {
    /// Rules tried before the provider's profile, the first that applies decides; at most 256.
    pub fn rules(&self) -> &[classify::Rule] {
        &self.rules
    }

    /// Whether a refusal found in a 200 reaches the client as a 429, or as a 503 if the provider is
    /// overloaded.
    pub fn map_200(&self) -> bool {
        self.map_200
    }
}

/// The most rules of a policy: each costs time on every refusal.
const MAX_RULES: usize = 256;

pub(super) fn read(at: &At<'_>) -> Result<Classify, ConfigError> {
    let fields = at.object(&["rules", "map_200"])?;
    let rules = match fields.optional("rules") {
        None => Vec::new(),
        Some(at) => {
            let rules = at.list()?;
            if rules.len() > MAX_RULES {
                return Err(at.breaks(Rule::ListUpTo { max: MAX_RULES }));
            }
            rules.iter().map(rule).collect::<Result<_, _>>()?
        }
    };
    Ok(Classify {
        rules,
        map_200: match fields.optional("map_200") {
            None => false,
            Some(at) => at.yes_or_no()?,
        },
    })
}

fn rule(at: &At<'_>) -> Result<classify::Rule, ConfigError> {
    let fields = at.object(&[
        "status",
        "header",
        "json_path",
        "equals",
        "phrase",
        "class",
        "wait_header",
    ])?;
    let optional_text = |name| fields.optional(name).map(|at| text(&at)).transpose();
    let status = match fields.optional("status") {
        None => None,
        // In range, so nothing is lost.
        Some(at) => Some(at.whole(200, 599)? as u16),
    };
    let conditions = Conditions {
        status,
        header: fields
            .optional("header")
            .map(|at| header(&at))
            .transpose()?,
        json: json(&fields)?,
        phrase: optional_text("phrase")?,
    };
    let class = class(&fields.required("class", Rule::Class)?)?;
    let wait_header = match fields.optional("wait_header") {
        None => None,
        Some(at) => Some(header_name(&at)?),
    };
    classify::Rule::new(conditions, class, wait_header).map_err(|error| {
        match (error, fields.optional("json_path")) {
            (RuleError::Path | RuleError::Depth, Some(path)) => path.breaks(Rule::JsonPath),
            _ => at.breaks(Rule::Condition),
        }
    })
}

fn header(at: &At<'_>) -> Result<(String, String), ConfigError> {
    let fields = at.object(&["name", "value"])?;
    let name = header_name(&fields.required("name", Rule::HeaderName)?)?;
    let value = text(&fields.required("value", Rule::ShortText)?)?;
    Ok((name, value))
}

/// Path and value: the one says nothing without the other.
fn json(fields: &Fields<'_>) -> Result<Option<(String, String)>, ConfigError> {
    let (path, equals) = (fields.optional("json_path"), fields.optional("equals"));
    if path.is_none() && equals.is_none() {
        return Ok(None);
    }
    let path = text(&fields.required("json_path", Rule::JsonPath)?)?;
    let equals = fields.required("equals", Rule::Scalar)?.scalar()?;
    match is_short(&equals) {
        true => Ok(Some((path, equals))),
        false => Err(fields
            .required("equals", Rule::Scalar)?
            .breaks(Rule::Scalar)),
    }
}

fn class(at: &At<'_>) -> Result<Class, ConfigError> {
    let name = at.text(Rule::Class)?;
    let class = Class::ALL.into_iter().find(|class| class.name() == name);
    class.ok_or_else(|| at.unknown("class", CLASSES))
}

const CLASSES: &[&str] = &[
    "burst_rate",
    "rate",
    "concurrency",
    "overloaded",
    "quota_exhausted",
    "other",
];

fn header_name(at: &At<'_>) -> Result<String, ConfigError> {
    let name = parsed(at, Rule::HeaderName, HeaderName::parse)?;
    match is_short(name.as_str()) {
        true => Ok(name.as_str().to_owned()),
        false => Err(at.breaks(Rule::ShortText)),
    }
}

fn text(at: &At<'_>) -> Result<String, ConfigError> {
    let short = |text: &str| is_short(text).then(|| text.to_owned());
    parsed(at, Rule::ShortText, short)
}

fn is_short(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.len())
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn every_class_has_its_name() {
        assert_eq!(Class::ALL.map(Class::name), CLASSES);
    }
}
