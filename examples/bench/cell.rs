//! The measurement: a provider, an Envoy, a load, and what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::app::client::{Ask, End, Outcome};
use crate::app::envoy::{Envoy, Front, Setup, Upstream, wasm};
use crate::app::error::Error;
use crate::app::load::{self, Live};
use crate::app::measure::{per, percentile, waits};
use crate::app::path::Path;
use crate::app::plan::Plan;
use crate::app::provider::model::{self, Count};
use crate::app::provider::{Options, Provider};
use crate::app::served::could_serve;
use crate::models::Model;

/// Between two values of a timeline.
const STEP: Duration = Duration::from_millis(250);

/// The demo's morning peak, shorter, so that all cells fit into a quarter of an hour.
fn plan() -> Plan {
    Plan {
        rate: 60.0,
        rise: Duration::from_secs(1),
        length: Duration::from_secs(6),
        patience: Duration::from_secs(20),
    }
}

/// Loads `path` to a provider of its own. `seed` decides how long each call takes.
pub(crate) async fn measure(model: &Model, path: Path, seed: u64) -> Result<Value, Error> {
    let options = Options {
        limits: model.limits.clone(),
        seed,
        ..Options::default()
    };
    let started = Provider::start(options).await;
    let provider = started.map_err(Error::io("start a mock provider"))?;
    let setup = Setup {
        fronts: vec![Front {
            path,
            upstream: Upstream::Mock(provider.addr),
        }],
        cap: 0,
        wasm: wasm()?,
    };
    let mut envoy = Envoy::start(&setup).await?;
    let live = Arc::new(Live::default());
    let start = Instant::now();
    let origin = provider.now();
    let outcomes = load::run(envoy.front(path)?, Ask::mock(), plan(), start, live).await;
    envoy.check()?;
    let possible = could_serve(model::Model::new(model.limits.clone(), seed), &plan());
    let count = provider.count();
    Ok(json!({
        "model": model.name,
        "path": path.id(),
        "seed": seed,
        "load": plan().to_string(),
        "possible": possible,
        "totals": totals(&outcomes, &count, possible),
        "ends": ends(&outcomes),
        "timeline": timeline(&outcomes, &count, origin),
    }))
}

/// Shares and efficiency are of 1. A wait goes from sending to the first byte of a success; null
/// if there was none.
fn totals(outcomes: &[Outcome], count: &Count, possible: usize) -> Value {
    let waits = waits(outcomes);
    let attempts = count.accepted + count.refused;
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    json!({
        "offered": outcomes.len(),
        "served": waits.len(),
        "attempts": attempts,
        "refused": count.refused,
        "peak": count.peak,
        "efficiency": share(waits.len(), possible),
        "refused_share": share(count.refused, attempts),
        "attempts_per_call": share(attempts, outcomes.len()),
        "wait_p50_ms": percentile(&waits, 50),
        "wait_p95_ms": percentile(&waits, 95),
    })
}

/// How many calls ended how.
fn ends(outcomes: &[Outcome]) -> BTreeMap<String, usize> {
    let mut ends = BTreeMap::new();
    for outcome in outcomes {
        let name = match outcome.end {
            End::Succeeded => "succeeded".into(),
            End::Refused(status) => status.as_str().to_owned(),
            End::GaveUp => "gave up".into(),
            End::Broken => "broken".into(),
        };
        *ends.entry(name).or_default() += 1;
    }
    ends
}

/// Numbers a step since the start of the load: calls offered and succeeded, as the clients saw it,
/// attempts accepted and refused, as the provider did.
fn timeline(outcomes: &[Outcome], count: &Count, origin: Duration) -> Value {
    let succeeded = outcomes.iter().filter(|o| o.end == End::Succeeded);
    let since = |at: Duration| at.saturating_sub(origin);
    json!({
        "step_ms": STEP.as_millis() as u64,
        "offered": per(STEP, outcomes.iter().map(|o| o.sent)),
        "succeeded": per(STEP, succeeded.map(|o| o.ended)),
        "accepted": per(STEP, count.starts.iter().map(|s| since(s.at))),
        "refused": per(STEP, count.refusals.iter().map(|(at, _)| since(*at))),
    })
}
