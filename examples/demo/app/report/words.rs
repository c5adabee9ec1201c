//! The sentences that the page and the picture share, made from what was measured.

use super::super::measure::Row;
use super::super::path::Path;
use super::super::peak::{Compared, Scenario};

/// What is in a panel: one path's result in a line.
pub(super) fn summary(row: &Row) -> String {
    let refusals = match row.refused_upstream {
        0 => "no refusals".into(),
        1 => "1 refusal".into(),
        n => format!("{n} refusals"),
    };
    format!("{} of {} succeeded, {refusals}", row.succeeded, row.offered)
}

/// What the provider is like.
pub(super) fn provider(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Concurrency => {
            "It refuses every call above 20 at once with 429, in the words of Moonshot's \
             concurrency limit."
        }
        Scenario::Slope => {
            "It runs any number of calls, but refuses a call with 429 if more calls start within \
             a second than 4 plus 1.25 times the mean rate of the last 4 seconds, in the words of \
             Alibaba's limit_burst_rate."
        }
    }
}

/// What the numbers mean, and what Weir cannot do yet.
pub(super) fn verdict(compared: &Compared) -> String {
    let rows = compared.rows();
    let of = |path: Path| rows.iter().find(|r| r.path == path.id());
    let (Some(plain), Some(retry), Some(weir)) =
        (of(Path::Unprotected), of(Path::EnvoyRetry), of(Path::Weir))
    else {
        return String::new();
    };
    match compared.scenario {
        Scenario::Concurrency => format!(
            "Without protection {} of {} calls failed. With Envoy's retry {} failed, and the \
             provider had to refuse {} attempts. With Weir {} failed and the provider refused \
             {}: calls wait in the queue instead, and the provider was never asked for more than \
             {} at once.",
            plain.offered - plain.succeeded,
            plain.offered,
            retry.offered - retry.succeeded,
            retry.refused_upstream,
            number(weir.offered - weir.succeeded),
            number(weir.refused_upstream),
            weir.peak,
        ),
        Scenario::Slope => format!(
            "Weir does not shape the slope yet: this is a cap of {} calls and one retry after 5 \
             to 15 seconds, and {} of {} calls failed; without protection it was {}, with \
             Envoy's retry {}. A cap limits how many calls run, not how fast their number grows, \
             so the first seconds are refused all the same, and a call refused a second time is \
             given up. A queue that knew the slope could have served {}.",
            compared.scenario.cap(),
            number(weir.offered - weir.succeeded),
            weir.offered,
            number(plain.offered - plain.succeeded),
            number(retry.offered - retry.succeeded),
            weir.could_serve,
        ),
    }
}

fn number(n: usize) -> String {
    if n == 0 { "none".into() } else { n.to_string() }
}
