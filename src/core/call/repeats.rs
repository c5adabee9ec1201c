//! A call that its client repeats goes on with the budget it had.
//!
//! SDKs try again what was refused, under the same `idempotency-key`. Each time with a whole budget,
//! a call would be tried as often as SDK and gate together allow. So a call that failed is noted:
//! when it first came, and how many attempts it made.
//!
//! The notes lie in shared data, since a client's next connection may be another worker's. Names can
//! be neither listed nor deleted there, so there are 256 of them, each with the notes of the
//! keys that fall on it, at most [`NOTES`]; the one that would be forgotten first makes room. Only a call
//! that failed is noted, and only one that has a key and does not say that it is the first is looked
//! up, so the others cost nothing. Of the key there is a hash that no other process can make.

use super::Headers;
use crate::core::time::Time;
use crate::port::{Expect, Host, HostError, Stored};

/// Notes under one name.
const NOTES: usize = 4;

/// The version of what lies there; another one's notes are not read.
const LAYOUT: u8 = 1;

/// Other workers may write to the same name; one that cannot get through lets it be.
const TRIES: u32 = 8;

/// More attempts than any policy allows.
const MOST: u32 = 1000;

/// What a request says of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Claim<'a> {
    /// Its `idempotency-key`.
    pub(super) key: Option<&'a [u8]>,
    /// How often its client has tried before, if it says so.
    pub(super) tries: Option<u32>,
}

impl<'a> Claim<'a> {
    /// Of a request's headers the first of each name counts.
    pub(super) fn of(headers: &'a Headers) -> Claim<'a> {
        let mut claim = Claim::default();
        for (name, value) in headers {
            let value = value.trim_ascii();
            match name.as_slice() {
                b"idempotency-key" if claim.key.is_none() && !value.is_empty() => {
                    claim.key = Some(value);
                }
                b"x-stainless-retry-count" if claim.tries.is_none() => {
                    let number: Option<u32> = std::str::from_utf8(value)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    claim.tries = number.map(|tries| tries.min(MOST));
                }
                _ => {}
            }
        }
        claim
    }
}

/// What is known of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// Stands for client, gate and key.
    pub(super) tag: u128,
    /// When it first came.
    pub(super) since: Time,
    /// When to forget it.
    pub(super) until: Time,
    /// Attempts made.
    pub(super) made: u32,
}

/// What is known of the call with this tag.
pub(super) fn look_up(host: &impl Host, now: Time, tag: u128) -> Option<Note> {
    let (notes, _) = read(host, &name(tag)).ok()?;
    let mut live = notes.into_iter().filter(|note| now < note.until);
    live.find(|note| note.tag == tag)
}

/// Writes a note down. False if another had to go for it.
pub(super) fn write_down(host: &impl Host, now: Time, note: Note) -> bool {
    let name = name(note.tag);
    for _ in 0..TRIES {
        let Ok((mut notes, expect)) = read(host, &name) else {
            break;
        };
        notes.retain(|other| now < other.until && other.tag != note.tag);
        let is_full = notes.len() >= NOTES;
        if is_full {
            notes.sort_by_key(|other| other.until);
            notes.remove(0);
        }
        notes.push(note);
        match host.shared_set(&name, &encode(&notes), expect) {
            Ok(()) => return !is_full,
            Err(HostError::Conflict) => {}
            Err(_) => break,
        }
    }
    true
}

/// By the last byte of the tag.
fn name(tag: u128) -> String {
    ["weir.repeats.", &(tag as u8).to_string()].concat()
}

fn read(host: &impl Host, name: &str) -> Result<(Vec<Note>, Expect), HostError> {
    Ok(match host.shared_get(name)? {
        Stored::Absent => (Vec::new(), Expect::New),
        Stored::Present { bytes, cas } => (decode(&bytes), Expect::Same(cas)),
    })
}

const NOTE: usize = 16 + 8 + 8 + 4;

fn encode(notes: &[Note]) -> Vec<u8> {
    let mut bytes = vec![LAYOUT];
    for note in notes {
        bytes.extend_from_slice(&note.tag.to_le_bytes());
        bytes.extend_from_slice(&note.since.0.to_le_bytes());
        bytes.extend_from_slice(&note.until.0.to_le_bytes());
        bytes.extend_from_slice(&note.made.to_le_bytes());
    }
    bytes
}

/// What is not of this layout is nothing.
fn decode(bytes: &[u8]) -> Vec<Note> {
    let notes = match bytes.split_first() {
        Some((&LAYOUT, notes)) => notes,
        _ => &[],
    };
    notes
        .chunks_exact(NOTE)
        .take(NOTES)
        .filter_map(note)
        .collect()
}

fn note(bytes: &[u8]) -> Option<Note> {
    let (tag, rest) = bytes.split_first_chunk()?;
    let (since, rest) = rest.split_first_chunk()?;
    let (until, rest) = rest.split_first_chunk()?;
    Some(Note {
        tag: u128::from_le_bytes(*tag),
        since: Time(u64::from_le_bytes(*since)),
        until: Time(u64::from_le_bytes(*until)),
        made: u32::from_le_bytes(rest.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn headers(list: &[(&str, &str)]) -> Headers {
        let bytes = |text: &str| text.as_bytes().to_vec();
        list.iter().map(|(n, v)| (bytes(n), bytes(v))).collect()
    }

    #[test]
    fn a_request_says_whether_it_is_a_repeat() {
        let claim = |list: &[(&str, &str)]| {
            let headers = headers(list);
            let claim = Claim::of(&headers);
            (claim.key.map(<[u8]>::to_vec), claim.tries)
        };
        let key = |key: &str| Some(key.as_bytes().to_vec());
        for (list, expected) in [
            (vec![("accept", "a")], (None, None)),
            (vec![("idempotency-key", " k ")], (key("k"), None)),
            (vec![("idempotency-key", " ")], (None, None)),
            (
                vec![("idempotency-key", "k"), ("idempotency-key", "l")],
                (key("k"), None),
            ),
            (vec![("x-stainless-retry-count", "2")], (None, Some(2))),
            (
                vec![("x-stainless-retry-count", "4000000000")],
                (None, Some(MOST)),
            ),
            (vec![("x-stainless-retry-count", "-1")], (None, None)),
            (
                vec![("x-stainless-retry-count", "99999999999")],
                (None, None),
            ),
        ] {
            assert_eq!(claim(&list), expected, "{list:?}");
        }
    }

    fn sample(tag: u128) -> Note {
        Note {
            tag,
            since: Time(1),
            until: Time(2 << 40),
            made: 3,
        }
    }

    #[test]
    fn notes_survive_storage_and_other_bytes_are_none() {
        let notes = [sample(1 << 100), sample(7)];
        assert_eq!(decode(&encode(&notes)), notes);
        let mut other = encode(&notes);
        other[0] = 9;
        assert_eq!(decode(&other), []);
        assert_eq!(decode(b""), []);
        assert_eq!(decode(&encode(&notes)[..40]), notes[..1]);
    }
}
