//! What the attempt half writes on a refusal for the router's eyes, and what the gate half takes off
//! again.

use super::state::{Refusal, Undo};
use crate::core::answer::Edit;

/// The header that makes the router try again.
pub(super) const MARKER: &str = "x-weir-retry";

/// What keeps a route's own policy from retrying an answer.
const RATELIMITED: &str = "x-envoy-ratelimited";

/// What is changed in a refusal that is to be retried: the mark, and nothing that would make the
/// router wait, refuse, or blame the host. Without a gate half to undo it, no more than is needed
/// for a retry.
pub(super) fn retry_edits(refusal: &Refusal, has_gate: bool) -> (Vec<Edit>, Undo) {
    let mut edits = vec![Edit::Set(MARKER.into(), b"1".to_vec())];
    let mut undo = Undo::default();
    if has_gate {
        hide_status(refusal, &mut edits, &mut undo);
    }
    for (name, value) in &refusal.headers {
        let is_in_the_way = is_ratelimited(name) || has_gate && delays(name);
        if is_in_the_way && let Ok(text) = std::str::from_utf8(name) {
            edits.push(Edit::Remove(text.to_owned().into()));
            undo.removed.push((name.clone(), value.clone()));
        }
    }
    (edits, undo)
}

/// What is changed in a refusal that goes on to the client: the router must neither retry it nor
/// count it as a failure of the host (law L13).
pub(super) fn final_edits(refusal: &Refusal) -> (Vec<Edit>, Undo) {
    let (mut edits, mut undo) = no_retry_edits(refusal);
    hide_status(refusal, &mut edits, &mut undo);
    (edits, undo)
}

/// What keeps the router from retrying an answer, whatever the route says.
pub(super) fn no_retry_edits(refusal: &Refusal) -> (Vec<Edit>, Undo) {
    let theirs = refusal
        .headers
        .iter()
        .filter(|(name, _)| is_ratelimited(name));
    let undo = Undo {
        status: None,
        added: vec![RATELIMITED],
        removed: theirs.cloned().collect(),
    };
    (vec![Edit::Set(RATELIMITED.into(), b"true".to_vec())], undo)
}

/// Outlier detection counts every 5xx; a refusal is no failure of the host. The client's status is
/// the gate half's to set.
fn hide_status(refusal: &Refusal, edits: &mut Vec<Edit>, undo: &mut Undo) {
    let mut routed = refusal.status;
    if routed >= 500 {
        routed = 429;
        edits.push(Edit::Set(":status".into(), b"429".to_vec()));
    }
    if routed != refusal.client_status {
        undo.status = Some(refusal.client_status);
    }
}

fn is_ratelimited(name: &[u8]) -> bool {
    name == RATELIMITED.as_bytes()
}

/// Whether a route's rate-limited back-off may go by this header.
fn delays(name: &[u8]) -> bool {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    name == b"retry-after" || (has(b"ratelimit") || has(b"rate-limit")) && has(b"reset")
}
