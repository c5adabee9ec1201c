//! Rules of the user, tried before anything Weir knows by itself.

use super::scan::{Key, Place, SKIP, Value, Visit, walk};
use super::{
    Answer, Class, Confidence, Evidence, Scope, Verdict, What, classify::name_of, facts::Facts,
    wait,
};

/// What an answer must have for a [`Rule`] to apply. Every condition that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The HTTP status. Without one the rule is for error statuses only, 400 and above: a success
    /// is not searched for words.
    pub status: Option<u16>,
    /// A header by name, and its value; case does not count in either.
    pub header: Option<(String, String)>,
    /// Where in a JSON body (`error.code`, `errors[0].type`), and the text, number, `true`, `false`
    /// or `null` that must stand there.
    pub json: Option<(String, String)>,
    /// Text that the body must hold; case does not count.
    pub phrase: Option<String>,
}

/// A rule of the user: conditions, and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    conditions: Conditions,
    path: Vec<Step>,
    class: Class,
    wait_header: Option<String>,
}

/// A step into a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Field(String),
    Item(u16),
}

/// Why a rule cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It would apply to every answer.
    #[error("must have a condition: status, header, json_path or phrase")]
    NoCondition,
    /// Statuses are from 200 to 599.
    #[error("status must be from 200 to 599")]
    Status,
    /// Header names are tokens of at most 256 bytes.
    #[error("is no header name")]
    HeaderName,
    /// Not a path.
    #[error("json_path must be fields and positions, as in error.code or errors[0].type")]
    Path,
    /// A path deeper than [`MAX_DEPTH`].
    #[error("json_path must have at most 8 steps")]
    Depth,
    /// Text that is empty or longer than [`MAX_TEXT`].
    #[error("text must be 1 to 256 bytes")]
    Text,
}

/// The most steps of a path.
pub const MAX_DEPTH: usize = 8;

/// The most bytes of a text to compare with.
pub const MAX_TEXT: usize = 256;

impl Rule {
    /// A rule that holds together.
    ///
    /// `wait_header` names a header to read the wait from before any other, in any form in which
    /// waits are known to be written.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        conditions: Conditions,
        class: Class,
        wait_header: Option<String>,
    ) -> Result<Rule, RuleError> {
        let Conditions {
            status,
            header,
            json,
            phrase,
        } = &conditions;
        if status.is_none() && header.is_none() && json.is_none() && phrase.is_none() {
            return Err(RuleError::NoCondition);
        }
        if status.is_some_and(|status| !(200..600).contains(&status)) {
            return Err(RuleError::Status);
        }
        let names = header.iter().map(|(name, _)| name).chain(&wait_header);
        if !names.into_iter().all(|name| is_header_name(name)) {
            return Err(RuleError::HeaderName);
        }
        let values = header.iter().chain(json).map(|(_, value)| value);
        if !values.chain(phrase).all(|text| is_text(text)) {
            return Err(RuleError::Text);
        }
        let path = json
            .as_ref()
            .map_or(Ok(Vec::new()), |(path, _)| steps(path))?;
        Ok(Rule {
            conditions,
            path,
            class,
            wait_header,
        })
    }

    /// Whether the rule may apply to answers of this status.
    pub(super) fn is_for(&self, status: u16) -> bool {
        self.conditions
            .status
            .map_or(status >= 400, |wanted| wanted == status)
    }

    /// What an answer must have.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// What the rule says.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Where the wait stands.
    pub fn wait_header(&self) -> Option<&str> {
        self.wait_header.as_deref()
    }
}

fn is_text(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.len())
}

fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    is_text(name) && name.bytes().all(is_token)
}

fn steps(path: &str) -> Result<Vec<Step>, RuleError> {
    let path = path.strip_prefix("$.").unwrap_or(path);
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (field, positions) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !field.is_empty() {
            steps.push(Step::Field(field.to_owned()));
        } else if positions.is_empty() || !steps.is_empty() {
            return Err(RuleError::Path);
        }
        for position in positions.split_inclusive(']') {
            let digits = position.strip_prefix('[').and_then(|p| p.strip_suffix(']'));
            let position = digits.and_then(|digits| digits.parse().ok());
            steps.push(Step::Item(position.ok_or(RuleError::Path)?));
        }
    }
    match steps.len() {
        0..=MAX_DEPTH => Ok(steps),
        _ => Err(RuleError::Depth),
    }
}

/// The verdict of the first rule that applies.
pub(super) fn tried(answer: &Answer<'_>, document: &[u8]) -> Option<Verdict> {
    let mut rules = answer.rules.iter().enumerate();
    let (position, rule) = rules.find(|(_, rule)| rule.applies(answer, document))?;
    let class = rule.class;
    let mut facts = Facts::default();
    facts.read_json(document, false);
    facts.settle(true);
    let wait = wait::server_minimum(answer.headers, &facts, answer.now_ms, 0, rule.wait_header());
    let wait = wait.filter(|_| class != Class::Other);
    Some(Verdict {
        refusal: class != Class::Other,
        class,
        retryable: class.is_retryable(),
        wait_ms: wait.map(|wait| wait.ms),
        scope: match class {
            Class::Other => Scope::Request,
            Class::Overloaded => Scope::Provider,
            _ => Scope::Account,
        },
        confidence: Confidence::Exact,
        profile: name_of(answer),
        evidence: Evidence {
            place: "rule",
            what: What::Number(u16::try_from(position).unwrap_or(u16::MAX)),
        },
        wait_evidence: wait.map(|wait| wait.evidence),
        ..Verdict::NOT_A_REFUSAL
    })
}

impl Rule {
    fn applies(&self, answer: &Answer<'_>, document: &[u8]) -> bool {
        let Conditions {
            header,
            json,
            phrase,
            ..
        } = &self.conditions;
        let has_header = |(name, wanted): &(String, String)| {
            let name = name.to_ascii_lowercase();
            let mut values = answer.header(&name);
            values.any(|value| value.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
        };
        self.is_for(answer.status)
            && header.as_ref().is_none_or(has_header)
            && json
                .as_ref()
                .is_none_or(|(_, wanted)| self.stands_in(document, wanted))
            && phrase.as_ref().is_none_or(|phrase| holds(document, phrase))
    }

    fn stands_in(&self, document: &[u8], wanted: &str) -> bool {
        let mut look = PathLook {
            path: &self.path,
            wanted,
            is_there: false,
        };
        walk(document, DOCUMENT, false, &mut look);
        look.is_there
    }
}

fn holds(document: &[u8], phrase: &str) -> bool {
    let mut windows = document.windows(phrase.len());
    windows.any(|window| window.eq_ignore_ascii_case(phrase.as_bytes()))
}

/// The place around the document; that of a value `n` steps down the path is `n` above [`ROOT`].
const DOCUMENT: Place = 1;
const ROOT: Place = 2;

struct PathLook<'r> {
    path: &'r [Step],
    wanted: &'r str,
    is_there: bool,
}

impl PathLook<'_> {
    /// Whether `key` under `parent` is the next step of the path, and how far that leads.
    fn step(&self, parent: Place, key: Key<'_>) -> Option<usize> {
        let done = usize::from(parent.checked_sub(ROOT)?);
        let is_next = match (self.path.get(done)?, key) {
            (Step::Field(wanted), Key::Field(name)) => wanted.as_bytes() == name,
            (Step::Item(wanted), Key::Item(position)) => *wanted == position,
            _ => false,
        };
        is_next.then_some(done + 1)
    }
}

impl Visit for PathLook<'_> {
    fn enter(&mut self, parent: Place, key: Key<'_>, _: bool) -> Place {
        if parent == DOCUMENT {
            return ROOT;
        }
        let steps = self
            .step(parent, key)
            .and_then(|steps| u8::try_from(steps).ok());
        steps.map_or(SKIP, |steps| ROOT + steps)
    }

    fn value(&mut self, parent: Place, key: Key<'_>, value: Value<'_>) {
        let is_end = self.step(parent, key) == Some(self.path.len());
        self.is_there |= is_end && value.text() == self.wanted;
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::core::classify::classify;

    fn pair(left: &str, right: &str) -> Option<(String, String)> {
        Some((left.to_owned(), right.to_owned()))
    }

    fn verdict(status: u16, conditions: Conditions, body: &str) -> Verdict {
        let headers = [
            (b"x-why".to_vec(), b"Full".to_vec()),
            (b"x-wait".to_vec(), b"7".to_vec()),
        ];
        let rules = [Rule::new(conditions, Class::Concurrency, Some("X-Wait".into())).unwrap()];
        classify(&Answer {
            headers: &headers,
            body: body.as_bytes(),
            rules: &rules,
            ..Answer::of_status(status)
        })
    }

    #[test]
    fn every_condition_must_hold() {
        let all = Conditions {
            status: Some(418),
            header: pair("x-why", "full"),
            json: pair("errors[1].code", "7"),
            phrase: Some("TEAPOT".into()),
        };
        let body = r#"{"errors":[{"code":1},{"code":7,"message":"a teapot"}]}"#;
        let found = verdict(418, all.clone(), body);
        assert_eq!(
            (found.class, found.wait_ms),
            (Class::Concurrency, Some(7000))
        );
        assert_eq!(found.evidence.to_string(), "rule=0");
        for (status, conditions, body) in [
            (419, all.clone(), body),
            (
                418,
                Conditions {
                    header: pair("x-why", "empty"),
                    ..all.clone()
                },
                body,
            ),
            (
                418,
                Conditions {
                    json: pair("errors[0].code", "7"),
                    ..all.clone()
                },
                body,
            ),
            (
                418,
                Conditions {
                    phrase: Some("kettle".into()),
                    ..all.clone()
                },
                body,
            ),
            (418, all, ""),
        ] {
            assert!(!verdict(status, conditions, body).refusal);
        }
    }

    #[test]
    fn a_rule_without_status_is_not_for_successes() {
        let words = Conditions {
            phrase: Some("x".into()),
            ..Conditions::default()
        };
        assert!(!verdict(200, words.clone(), "x").refusal);
        assert!(verdict(404, words, "x").refusal);
    }

    #[test]
    fn a_rule_comes_before_what_is_known() {
        let rule = Conditions {
            json: pair("$.error.code", "limit_burst_rate"),
            ..Conditions::default()
        };
        let body = r#"{"error":{"code":"limit_burst_rate"}}"#;
        assert_eq!(verdict(429, rule, body).class, Class::Concurrency);
    }

    #[test]
    fn wrong_rules_cannot_be() {
        let of = |conditions| Rule::new(conditions, Class::Rate, None);
        let json = |path: &str| Conditions {
            json: pair(path, "1"),
            ..Conditions::default()
        };
        assert_eq!(of(Conditions::default()), Err(RuleError::NoCondition));
        for path in ["", ".", "a.", "a..b", "[x]", "a[-1]", "a[1", "a.[1]"] {
            assert_eq!(of(json(path)), Err(RuleError::Path), "{path}");
        }
        assert_eq!(of(json("a.b.c.d.e.f.g.h.i")), Err(RuleError::Depth));
        for status in [0, 199, 600] {
            let status = Some(status);
            let conditions = Conditions {
                status,
                ..Conditions::default()
            };
            assert_eq!(of(conditions), Err(RuleError::Status));
        }
        let header = Conditions {
            header: pair("a b", "1"),
            ..Conditions::default()
        };
        assert_eq!(of(header), Err(RuleError::HeaderName));
        let long = Conditions {
            phrase: Some("x".repeat(257)),
            ..Conditions::default()
        };
        assert_eq!(of(long), Err(RuleError::Text));
        assert!(of(json("[0].error.code")).is_ok());
    }
}
