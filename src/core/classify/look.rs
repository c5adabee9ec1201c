//! Refusals inside a success: some providers answer 200 and say no in the body.

use super::classify::{in_event, in_json};
use super::frames::{is_stream, read_event};
use super::rule::tried;
use super::scan::{Key, Place, SKIP, Value, Visit, walk};
use super::{Answer, Verdict, decode};

/// What one event of a stream, or one small JSON body, under a success turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Says nothing yet: a comment, a blank, a ping, the opening of a message. Look at the next.
    Prelude,
    /// The answer has begun; the look is over.
    Innocent,
    /// An error, with what it says. Its class may be `other`.
    Error(Verdict),
}

/// Events before an answer begins, by their name or the `type` of their data.
const PRELUDES: &[&[u8]] = &[
    b"ping",
    b"message_start",
    b"response.created",
    b"response.in_progress",
];

/// Judges what came under a success: `answer.body` is one event of a stream, or one JSON body to its
/// end.
pub fn judge_event(answer: &Answer<'_>) -> Look {
    let document = decode::document(answer);
    let document = document.trim_ascii();
    if document.is_empty() {
        return Look::Prelude;
    }
    if !is_stream(document) {
        let verdict = tried(answer, document).or_else(|| in_json(answer, document, false));
        return verdict.map_or(Look::Innocent, Look::Error);
    }
    let event = read_event(document);
    let verdict = tried(answer, &event.data).or_else(|| in_event(answer, &event));
    if let Some(verdict) = verdict {
        return Look::Error(verdict);
    }
    match event.data.is_empty() || PRELUDES.contains(&event.name.as_slice()) || opens(&event.data) {
        true => Look::Prelude,
        false => Look::Innocent,
    }
}

/// Whether data without an event's name is a prelude by its `type`.
fn opens(data: &[u8]) -> bool {
    let mut kind = Kind::default();
    walk(data, DOCUMENT, false, &mut kind);
    kind.is_prelude
}

const DOCUMENT: Place = 1;
const ROOT: Place = 2;

#[derive(Default)]
struct Kind {
    is_prelude: bool,
}

impl Visit for Kind {
    fn enter(&mut self, parent: Place, _: Key<'_>, is_list: bool) -> Place {
        match (parent, is_list) {
            (DOCUMENT, false) => ROOT,
            _ => SKIP,
        }
    }

    fn value(&mut self, parent: Place, key: Key<'_>, value: Value<'_>) {
        if parent == ROOT && matches!(key, Key::Field(b"type")) {
            self.is_prelude = PRELUDES.contains(&value.raw());
        }
    }
}
