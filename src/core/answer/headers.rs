use std::fmt;
use std::time::Duration;

use super::edit::{Edit, remove_marks};
use super::retry_after;
use crate::core::classify::Class;

/// What is known of a call when its response reaches the client.
#[derive(Clone, Copy)]
pub struct Finished<'a> {
    /// The response's header names in lower case, and values, as the provider sent them.
    pub headers: &'a [(Vec<u8>, Vec<u8>)],
    /// Attempts made.
    pub attempts: u32,
    /// From arrival to the first start.
    pub queued: Duration,
    /// The class of the last refusal, if the client receives one.
    pub refusal: Option<Class>,
    /// Whether the call's budget left no time for another attempt.
    pub budget_spent: bool,
    /// How long the client has to wait, if that is known.
    pub wait: Option<Duration>,
}

/// Without the header values, which may hold secrets.
impl fmt::Debug for Finished<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished")
            .field("headers", &self.headers.len())
            .field("attempts", &self.attempts)
            .field("queued", &self.queued)
            .field("refusal", &self.refusal)
            .field("budget_spent", &self.budget_spent)
            .field("wait", &self.wait)
            .finish()
    }
}

/// The changes that turn the provider's response headers into the client's.
///
/// `x-weir-*` is Weir's own: whatever the provider sent under it goes. What the provider says about
/// waiting stands; Weir speaks of it only where the provider was silent.
pub fn edits(call: &Finished<'_>) -> Vec<Edit> {
    let mut edits = remove_marks(call.headers);
    edits.push(set("x-weir-attempts", call.attempts.to_string()));
    let queued = call.queued.as_millis().to_string();
    edits.push(set("x-weir-queued-ms", queued));
    if let Some(class) = call.refusal {
        refused(call, class, &mut edits);
    }
    edits
}

fn refused(call: &Finished<'_>, class: Class, edits: &mut Vec<Edit>) {
    edits.push(set("x-weir-class", class.name().to_owned()));
    let sent = |name: &str| call.headers.iter().any(|(n, _)| n == name.as_bytes());
    if let Some(wait) = call.wait
        && !sent("retry-after")
        && !sent("retry-after-ms")
    {
        edits.extend(retry_after::headers(wait).map(|(name, value)| set(name, value)));
    }
    let too_long = call
        .wait
        .is_some_and(|wait| wait > retry_after::LONGEST_TO_RETRY);
    if class == Class::QuotaExhausted || call.budget_spent || too_long {
        edits.push(set("x-should-retry", "false".to_owned()));
    }
}

fn set(name: &'static str, value: String) -> Edit {
    Edit::Set(name.into(), value.into_bytes())
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn call<'a>(headers: &'a [(Vec<u8>, Vec<u8>)], refusal: Option<Class>) -> Finished<'a> {
        Finished {
            headers,
            attempts: 2,
            queued: Duration::from_micros(1500),
            refusal,
            budget_spent: false,
            wait: None,
        }
    }

    fn set(name: &'static str, value: &str) -> Edit {
        super::set(name, value.to_owned())
    }

    #[test]
    fn a_success_gets_its_numbers_and_nothing_else() {
        let mut finished = call(&[], None);
        finished.wait = Some(Duration::from_secs(500));
        finished.budget_spent = true;
        let expected = [set("x-weir-attempts", "2"), set("x-weir-queued-ms", "1")];
        assert_eq!(edits(&finished), expected);
    }

    #[test]
    fn names_of_weir_from_the_provider_are_removed_before_any_is_set() {
        let headers = ["x-weir-class", "x-weird", "x-weir-retry", "server"]
            .map(|name| (name.as_bytes().to_vec(), b"v".to_vec()));
        let edits = edits(&call(&headers, Some(Class::Rate)));
        let expected = [
            Edit::Remove("x-weir-class".into()),
            Edit::Remove("x-weir-retry".into()),
            set("x-weir-attempts", "2"),
            set("x-weir-queued-ms", "1"),
            set("x-weir-class", "rate"),
        ];
        assert_eq!(edits, expected);
    }

    #[test]
    fn a_known_wait_is_told_only_where_the_provider_was_silent() {
        for (sent, told) in [
            ("server", true),
            ("retry-after", false),
            ("retry-after-ms", false),
        ] {
            let headers = [(sent.as_bytes().to_vec(), b"7".to_vec())];
            let mut finished = call(&headers, Some(Class::Rate));
            finished.wait = Some(Duration::from_millis(1500));
            let edits = edits(&finished);
            assert_eq!(edits.contains(&set("retry-after", "2")), told, "{sent}");
            assert_eq!(
                edits.contains(&set("retry-after-ms", "1500")),
                told,
                "{sent}"
            );
            assert_eq!(edits.len(), if told { 5 } else { 3 });
        }
        assert_eq!(edits(&call(&[], Some(Class::Rate))).len(), 3);
    }

    #[test]
    fn clients_are_told_not_to_retry_what_cannot_succeed_soon() {
        let stop = set("x-should-retry", "false");
        for (class, budget_spent, wait_ms, stopped) in [
            (Class::Rate, false, None, false),
            (Class::Rate, false, Some(120_000), false),
            (Class::Rate, false, Some(120_001), true),
            (Class::Rate, true, None, true),
            (Class::QuotaExhausted, false, None, true),
        ] {
            let mut finished = call(&[], Some(class));
            finished.budget_spent = budget_spent;
            finished.wait = wait_ms.map(Duration::from_millis);
            assert_eq!(
                edits(&finished).contains(&stop),
                stopped,
                "{class} {wait_ms:?}"
            );
        }
    }
}
