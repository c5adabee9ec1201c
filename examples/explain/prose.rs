//! A verdict in words, and what Weir would do.

use std::fmt::Write;
use std::time::Duration;

use weir::core::classify::{Class, Confidence, Evidence, Scope, Verdict};
use weir::core::config::Retry;
use weir::core::retry::{Backoff, GiveUp, MaxAttempts, Plan, Situation, decide};
use weir::core::time::Time;

use super::given::Given;

/// Some lines without a last line end.
pub(super) fn explain(given: &Given, verdict: &Verdict) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = match verdict.refused() {
        Some(class) => writeln!(text, "A refusal: {class}, {}.", meaning(class)),
        None => writeln!(text, "Not a refusal."),
    };
    let _ = writeln!(text, "Evidence: {}{}.", verdict.evidence, trust(verdict));
    let _ = match (verdict.wait_ms, verdict.wait_evidence) {
        (Some(ms), Some(by)) => writeln!(text, "Asks to wait {} ({by}).", span(ms)),
        (Some(ms), None) => writeln!(text, "Asks to wait {}.", span(ms)),
        (None, _) => writeln!(text, "Names no time to wait."),
    };
    if let Some(limits) = verdict.limits {
        let stated = [
            ("limit", limits.limit),
            ("used", limits.used),
            ("requested", limits.requested),
            ("next", limits.next),
        ];
        let stated = stated.iter().filter_map(|(name, n)| Some((name, (*n)?)));
        let stated: Vec<_> = stated.map(|(name, n)| format!("{name} {n}")).collect();
        let _ = writeln!(text, "States: {}.", stated.join(", "));
    }
    if verdict.refusal {
        let _ = writeln!(text, "Holds for {}.", reach(verdict.scope));
    }
    let _ = writeln!(text, "Read by the profile {}.", verdict.profile);
    let _ = write!(text, "Weir, as it comes, {}", deeds(given, verdict));
    text
}

fn meaning(class: Class) -> &'static str {
    match class {
        Class::BurstRate => "the traffic grew too fast",
        Class::Rate => "too many requests or tokens in a period",
        Class::Concurrency => "too many calls at once",
        Class::Overloaded => "the provider is short of capacity",
        Class::QuotaExhausted => "a quota or balance is used up",
        Class::Other => "another reason",
    }
}

fn trust(verdict: &Verdict) -> &'static str {
    match verdict.confidence {
        _ if verdict.evidence == Evidence::NOTHING => "",
        Confidence::Exact => ", which means this and nothing else",
        Confidence::Phrase => ", words of a message",
        Confidence::Status => ", and nothing that says more",
    }
}

fn reach(scope: Scope) -> &'static str {
    match scope {
        Scope::Request => "this request alone",
        Scope::Key => "all calls with this key",
        Scope::Account => "all calls of the account",
        Scope::Model => "all calls of the account to this model",
        Scope::Provider => "whoever calls the provider",
    }
}

/// What becomes of a call whose first attempt is answered so, by the defaults of the configuration.
fn deeds(given: &Given, verdict: &Verdict) -> String {
    let Some(class) = verdict.refused() else {
        return "passes it on as it is.".to_owned();
    };
    let [least, most] = [0, u64::MAX].map(|random| plan(verdict, class, random));
    match (least, most) {
        (Plan::Hold { delay: least, .. }, Plan::Hold { delay: most, .. }) => format!(
            "holds it back, gives its slot to the next call, and sends the call again after {} to {}.",
            span(millis(least)),
            span(millis(most)),
        ),
        (Plan::Hold { delay, .. }, Plan::GiveUp { why }) => format!(
            "holds it back and sends the call again after {} or later, unless {}.",
            span(millis(delay)),
            reason(why)
        ),
        (Plan::GiveUp { why }, _) => format!(
            "passes it on with status {}, x-weir-class: {class} and no retry: {}.",
            given.status,
            reason(why)
        ),
    }
}

fn plan(verdict: &Verdict, class: Class, random: u64) -> Plan {
    let retry = Retry::default();
    let window = match class {
        Class::BurstRate => retry.burst_window(),
        _ => retry.window(),
    };
    let delay = Backoff::default().draw(
        class,
        window.base(),
        window.cap(),
        verdict.server_min(),
        [random; 2],
    );
    decide(&Situation {
        verdict: *verdict,
        attempts_made: 1,
        max_attempts: MaxAttempts {
            retry: retry.max_attempts().get().into(),
            burst: retry.burst_max_attempts().get().into(),
        },
        request_complete: true,
        can_be_held: true,
        now: Time(0),
        deadline: Some(Time(0) + retry.budget()),
        is_shut_out: false,
        retry_after_cap: retry.retry_after_cap(),
        delay: delay.wait,
    })
}

fn reason(why: GiveUp) -> &'static str {
    match why {
        GiveUp::NotRetryable => "waiting does not help",
        GiveUp::AttemptsSpent => "no attempt is left",
        GiveUp::ServerWaitTooLong => "the wait is longer than retry_after_cap_ms",
        GiveUp::Deadline => "the wait does not fit into budget_ms",
        GiveUp::RequestIncomplete => "the request is not complete",
        GiveUp::CannotBeHeld => "its body cannot be held back",
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// `1.5 s`, `2 min`, `3.25 h`.
fn span(ms: u64) -> String {
    let (unit, name) = match ms {
        0..60_000 => (1000.0, "s"),
        60_000..7_200_000 => (60_000.0, "min"),
        7_200_000..172_800_000 => (3_600_000.0, "h"),
        _ => (86_400_000.0, "days"),
    };
    let rounded = (ms as f64 / unit * 1000.0).round() / 1000.0;
    format!("{rounded} {name}")
}
