//! Why a configuration was refused: where, what was given, and the rule in plain words.

use std::fmt;

use thiserror::Error;

use super::Nearest;

/// The first thing found wrong in a configuration.
///
/// `path` is the place in the JSON, as `policies[0].queue.max_waiting`; `given` is the value found
/// there as compact JSON, at most 60 characters of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The bytes are not JSON.
    #[error("the configuration is not valid JSON: {problem} at line {line}, column {column}")]
    Json {
        /// What the parser met.
        problem: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 if the line had not begun.
        column: usize,
    },

    /// A value breaks the rule of its field.
    #[error("{path}: must be {rule}, not {given}")]
    Value {
        /// Where.
        path: String,
        /// The value.
        given: String,
        /// What it must be.
        rule: Rule,
    },

    /// A required field is absent.
    #[error("{path}: missing, but required; must be {rule}")]
    Missing {
        /// Where it should be.
        path: String,
        /// What it must be.
        rule: Rule,
    },

    /// A field that does not exist.
    #[error("{path}: unknown field, given as {given}; {nearest}")]
    UnknownField {
        /// Where, the field's own name last.
        path: String,
        /// Its value.
        given: String,
        /// The fields that do exist there.
        nearest: Nearest,
    },

    /// A name that is none of those allowed here.
    #[error("{path}: {given} is not a known {what}; {nearest}")]
    UnknownName {
        /// Where.
        path: String,
        /// The value.
        given: String,
        /// What it should have named.
        what: &'static str,
        /// The names that exist.
        nearest: Nearest,
    },

    /// A field stands twice in one object, so one of them would be silently lost.
    #[error("{path}: given more than once, the second time as {given}; must be given once")]
    Repeated {
        /// Where.
        path: String,
        /// Its second value.
        given: String,
    },
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A JSON object.
    Object,
    /// A JSON list.
    List,
    /// A list that may be left out but not be empty: empty could mean all or nothing.
    FilledList,
    /// A JSON string.
    Text,
    /// A whole number in a range, both ends included.
    Whole {
        /// Smallest allowed.
        min: u32,
        /// Largest allowed.
        max: u32,
    },
    /// A number above 0, fractions allowed.
    Above0 {
        /// Largest allowed.
        max: u32,
    },
    /// Absent, because another field is there.
    LeftOutBeside(
        /// The other field.
        &'static str,
    ),
    /// The name of an HTTP header that is not Weir's own.
    FailoverHeader,
    /// The value of an HTTP header.
    HeaderValue,
    /// Absent, because the provider cannot be asked to queue.
    QueuingProvider,
    /// An object with exactly one of two fields.
    OneOf {
        /// One of them.
        left: &'static str,
        /// The other.
        right: &'static str,
    },
    /// An object of bounded size.
    AtMost {
        /// Most fields allowed.
        most: usize,
    },
    /// By what tenants are told apart.
    FairBy,
    /// The only version there is.
    Version,
    /// The name of a policy.
    PolicyName,
    /// A policy name that no earlier policy has.
    UniqueName {
        /// Index of the policy that has it.
        taken_by: usize,
    },
    /// The name of an HTTP header.
    HeaderName,
    /// The name of an HTTP header, or null.
    HeaderNameOrNull,
    /// The name of a cluster.
    ClusterName,
    /// A host or a pattern of hosts.
    HostPattern,
    /// The beginning of a path.
    PathPrefix,
    /// A part of the key that no earlier part repeats.
    UniqueKeyPart,
    /// A list of bounded length.
    ListUpTo {
        /// The most entries.
        max: usize,
    },
    /// `true` or `false`.
    YesOrNo,
    /// A text of bounded length.
    ShortText,
    /// A text, number, boolean or null.
    Scalar,
    /// A place in a JSON body.
    JsonPath,
    /// The class of a refusal.
    Class,
    /// A rule with at least one condition.
    Condition,
    /// The upper end of a delay window.
    WindowCap {
        /// The field with the lower end.
        base_field: &'static str,
        /// The lower end in ms.
        base_ms: u32,
        /// The smallest upper end allowed with it, in ms.
        least_ms: u32,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Object => "an object",
            Rule::List => "a list",
            Rule::FilledList => "a list of at least one, or left out",
            Rule::Text => "a string",
            Rule::Whole { min, max } => {
                return write!(f, "a whole number from {min} to {max}");
            }
            Rule::Above0 { max } => {
                return write!(f, "a number above 0 and at most {max}");
            }
            Rule::LeftOutBeside(other) => {
                return write!(f, "left out beside \"{other}\"");
            }
            Rule::FailoverHeader => {
                return write!(f, "{HEADER_NAME} that does not begin with \"x-weir-\"");
            }
            Rule::HeaderValue => "visible ASCII characters without spaces, at least one",
            Rule::QueuingProvider => {
                "left out unless \"provider\" is \"dashscope\", which alone can be asked to queue"
            }
            Rule::OneOf { left, right } => {
                return write!(f, "an object with \"{left}\" or \"{right}\"");
            }
            Rule::AtMost { most } => {
                return write!(f, "an object with at most {most} fields");
            }
            Rule::FairBy => "\"credential\" or {\"header\": NAME}",
            Rule::Version => "1, the only version there is",
            Rule::PolicyName => "1 to 40 characters of a-z, 0-9, \"_\" and \"-\"",
            Rule::UniqueName { taken_by } => {
                return write!(f, "a name of its own (policies[{taken_by}] has this one)");
            }
            Rule::HeaderName => HEADER_NAME,
            Rule::HeaderNameOrNull => return write!(f, "{HEADER_NAME}, or null"),
            Rule::ClusterName => "the name of a cluster (not empty)",
            Rule::HostPattern => {
                "a host or a pattern with \"*\", without scheme, port or path \
                 (letters, digits, \".\", \"-\", \"_\"; \":\" in IPv6 addresses)"
            }
            Rule::PathPrefix => "the beginning of a path: \"/\" first, and no \"?\"",
            Rule::UniqueKeyPart => "a part that is not in the list already",
            Rule::ListUpTo { max } => return write!(f, "a list of at most {max}"),
            Rule::YesOrNo => "true or false",
            Rule::ShortText => "a string of 1 to 256 bytes",
            Rule::Scalar => "a string of 1 to 256 bytes, a number, true, false or null",
            Rule::JsonPath => {
                "at most 8 fields and positions, as in \"error.code\" or \"errors[0].type\""
            }
            Rule::Class => "the class that the rule gives",
            Rule::Condition => {
                "a rule with a condition (\"status\", \"header\", \"json_path\" and \"equals\", or \"phrase\")"
            }
            Rule::WindowCap {
                base_field,
                base_ms,
                least_ms,
            } => {
                return write!(
                    f,
                    "at least 1.2 x {base_field} ({base_ms}), which is {least_ms}"
                );
            }
        })
    }
}

const HEADER_NAME: &str = "a header name (letters, digits and !#$%&'*+-.^_`|~, not empty)";
