//! A load from a file: a line a call, with the second at which it comes and, after a comma, the
//! tokens it costs if they are known. Lines that begin with `#` say something about the file.

use std::time::Duration;

use weir::core::time::Time;

use super::input::InputError;

/// Calls as they came, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trace {
    pub(crate) calls: Vec<TracedCall>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TracedCall {
    /// Since the start of the file's time.
    pub(crate) at: Time,
    pub(crate) tokens: Option<f64>,
}

/// Reads a file's text; `path` is what errors call it.
pub(crate) fn parse(path: &str, text: &str) -> Result<Trace, InputError> {
    let mut calls: Vec<TracedCall> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |rule| InputError::new(format!("{path}:{}", at + 1), line, rule);
        let call = call(line).ok_or_else(|| error("is not SECONDS or SECONDS,TOKENS"))?;
        if calls.last().is_some_and(|last| last.at > call.at) {
            return Err(error("is before the line above"));
        }
        calls.push(call);
    }
    Ok(Trace { calls })
}

fn call(line: &str) -> Option<TracedCall> {
    let (seconds, tokens) = match line.split_once(',') {
        Some((seconds, tokens)) => (seconds, Some(number(tokens)?)),
        None => (line, None),
    };
    let at = Duration::from_secs_f64(number(seconds)?);
    Some(TracedCall {
        at: Time(0) + at,
        tokens,
    })
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (0.0..=1e9).contains(&number).then_some(number)
}
