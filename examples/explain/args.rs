//! The command line.

use std::io;
use std::path::PathBuf;

use weir::core::classify::Provider;

use super::curl;
use super::given::{Body, Given};

pub(super) const USAGE: &str = "\
usage: explain --status N [--header 'name: value']... [--body TEXT | --body-file FILE] [OPTION]...
       curl -i ... | explain [OPTION]...      the last header block and what follows it
       explain --jsonl FILE                   one case a line, checked if it says what to expect

  --provider NAME   the profile to read by; default auto
  --host HOST       the host that answered, by which auto finds a profile
  --now-ms N        the time of day in ms since 1970 UTC; default 1790000000000
  --json            one JSON object in place of prose";

/// What to explain.
#[derive(Debug)]
pub(super) enum Asked {
    /// One answer.
    One { given: Source, as_json: bool },
    /// A file of them.
    Cases { path: PathBuf },
}

/// Where the answer comes from.
#[derive(Debug)]
pub(super) enum Source {
    Options(Given),
    /// All but what stdin says.
    Stdin(Given),
}

/// Why there is nothing to explain.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("asked for help")]
    Help,
    #[error("unknown option '{0}'")]
    Unknown(String),
    #[error("{0} needs a value")]
    Missing(String),
    #[error("{0} is given twice")]
    Twice(String),
    #[error("{option} cannot be '{value}': {rule}")]
    Value {
        option: String,
        value: String,
        rule: &'static str,
    },
    #[error("{0} and {1} do not go together")]
    Together(&'static str, &'static str),
    #[error("--status is missing")]
    NoStatus,
    #[error("no --status, and nothing on stdin")]
    Nothing,
    #[error("stdin does not begin as `curl -i` prints it, with a line like 'HTTP/1.1 429 ...'")]
    NotCurl,
    #[error("stdin cannot be read: {0}")]
    Input(io::Error),
    #[error("{path}: {error}", path = path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{path}, line {line}: {problem}", path = path.display())]
    Case {
        path: PathBuf,
        line: usize,
        problem: String,
    },
    #[error("cannot write the result: {0}")]
    Output(io::Error),
}

impl Problem {
    /// Whether it helps to show how the program is used.
    pub(super) fn is_usage(&self) -> bool {
        !matches!(
            self,
            Problem::Input(_) | Problem::File { .. } | Problem::Case { .. } | Problem::Output(_)
        )
    }
}

#[derive(Default)]
struct Options {
    status: Option<u16>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    body: Option<Vec<u8>>,
    body_file: Option<PathBuf>,
    provider: Option<Provider>,
    host: Option<Vec<u8>>,
    now_ms: Option<u64>,
    jsonl: Option<PathBuf>,
    as_json: bool,
}

pub(super) fn parse(mut args: impl Iterator<Item = Vec<u8>>) -> Result<Asked, Problem> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let name = shown(&arg);
        match name.as_str() {
            "--help" | "-h" => return Err(Problem::Help),
            "--json" => {
                options.as_json = true;
                continue;
            }
            _ if !KNOWN.contains(&name.as_str()) => return Err(Problem::Unknown(name)),
            _ => {}
        }
        let value = args.next().ok_or_else(|| Problem::Missing(name.clone()))?;
        options.take(name, value)?;
    }
    options.finish()
}

const KNOWN: [&str; 8] = [
    "--status",
    "--header",
    "--body",
    "--body-file",
    "--provider",
    "--host",
    "--now-ms",
    "--jsonl",
];

impl Options {
    fn take(&mut self, option: String, value: Vec<u8>) -> Result<(), Problem> {
        let wrong = |rule| Problem::Value {
            option: option.clone(),
            value: shown(&value),
            rule,
        };
        let is_new = match option.as_str() {
            "--status" => {
                let status = number(&value).filter(|status| (100..=999).contains(status));
                let status = status.ok_or_else(|| wrong("must be a status of three digits"))?;
                self.status.replace(status as u16).is_none()
            }
            "--header" => {
                let header = curl::header(&value);
                let header = header.ok_or_else(|| wrong("must be like 'retry-after: 3'"))?;
                self.headers.push(header);
                true
            }
            "--body" => self.body.replace(value).is_none(),
            "--body-file" => self.body_file.replace(path(&value)).is_none(),
            "--provider" => {
                let provider = std::str::from_utf8(&value).ok().and_then(Provider::named);
                let rule = "must be auto or the name of a profile, as anthropic or volcano-ark";
                let provider = provider.ok_or_else(|| wrong(rule))?;
                self.provider.replace(provider).is_none()
            }
            "--host" => self.host.replace(value).is_none(),
            "--now-ms" => {
                let now = number(&value).ok_or_else(|| wrong("must be a whole number"))?;
                self.now_ms.replace(now).is_none()
            }
            _ => self.jsonl.replace(path(&value)).is_none(),
        };
        match is_new {
            true => Ok(()),
            false => Err(Problem::Twice(option)),
        }
    }

    fn finish(self) -> Result<Asked, Problem> {
        let has_answer = self.status.is_some() || self.has_parts();
        if let Some(path) = self.jsonl {
            let more = has_answer || self.provider.is_some() || self.host.is_some();
            return match more || self.now_ms.is_some() {
                true => Err(Problem::Together("--jsonl", "what describes one answer")),
                false => Ok(Asked::Cases { path }),
            };
        }
        if self.status.is_none() && self.has_parts() {
            return Err(Problem::NoStatus);
        }
        let body = match (self.body, self.body_file) {
            (Some(_), Some(_)) => return Err(Problem::Together("--body", "--body-file")),
            (Some(text), None) => text,
            (None, Some(path)) => {
                std::fs::read(&path).map_err(|error| Problem::File { path, error })?
            }
            (None, None) => Vec::new(),
        };
        let mut given = Given {
            headers: self.headers,
            body: Body::cut(body),
            provider: self.provider.unwrap_or(Provider::AUTO),
            host: self.host,
            ..Given::of(self.status.unwrap_or_default())
        };
        given.now_ms = self.now_ms.unwrap_or(given.now_ms);
        Ok(Asked::One {
            given: match self.status {
                Some(_) => Source::Options(given),
                None => Source::Stdin(given),
            },
            as_json: self.as_json,
        })
    }

    /// Whether more of an answer is given than its status.
    fn has_parts(&self) -> bool {
        !self.headers.is_empty() || self.body.is_some() || self.body_file.is_some()
    }
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn path(value: &[u8]) -> PathBuf {
    PathBuf::from(shown(value))
}

fn shown(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}
