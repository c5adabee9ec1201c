//! From JSON to a queue.

use litemap::LiteMap;

use super::credential::bare;
use super::cursor::{At, Fields, Names};
use super::names::HeaderName;
use super::queue::{FairBy, Fairness, Queue, WEIGHTS, Weight};
use super::values::{millis, parsed};
use super::{ConfigError, Rule};

pub(super) fn queue(at: &At<'_>) -> Result<Queue, ConfigError> {
    let fields = at.object(&[
        "max_waiting",
        "max_wait_ms",
        "no_wait_header",
        "priority_header",
        "fair_by",
        "weights",
    ])?;
    let default = Queue::default();
    Ok(Queue {
        max_waiting: fields.whole("max_waiting", 0, 100_000, default.max_waiting)?,
        max_wait: millis(&fields, "max_wait_ms", default.max_wait)?,
        no_wait_header: match fields.optional("no_wait_header") {
            None => default.no_wait_header,
            Some(at) if at.is_null() => None,
            Some(at) => Some(parsed(&at, Rule::HeaderNameOrNull, HeaderName::parse)?),
        },
        priority_header: match fields.optional("priority_header") {
            None => default.priority_header,
            Some(at) => Some(parsed(&at, Rule::HeaderName, HeaderName::parse)?),
        },
        fairness: fairness(&fields)?,
    })
}

fn fairness(fields: &Fields<'_>) -> Result<Option<Fairness>, ConfigError> {
    let weights = fields.optional("weights");
    let by = match (fields.optional("fair_by"), &weights) {
        (Some(at), _) => fair_by(&at)?,
        (None, None) => return Ok(None),
        (None, Some(_)) => return Err(fields.missing("fair_by", Rule::FairBy)),
    };
    let weights = match weights {
        None => LiteMap::new(),
        Some(at) => weights_of(&at, &by)?,
    };
    Ok(Some(Fairness { by, weights }))
}

fn fair_by(at: &At<'_>) -> Result<FairBy, ConfigError> {
    if at.is_object() {
        let fields = at.object(&["header"])?;
        let header = fields.required("header", Rule::HeaderName)?;
        return parsed(&header, Rule::HeaderName, HeaderName::parse).map(FairBy::Header);
    }
    match at.text(Rule::FairBy)? {
        "credential" => Ok(FairBy::Credential),
        _ => Err(at.breaks(Rule::FairBy)),
    }
}

fn weights_of(at: &At<'_>, by: &FairBy) -> Result<LiteMap<Vec<u8>, Weight>, ConfigError> {
    let names = match by {
        FairBy::Header(_) => Names::Shown,
        FairBy::Credential => Names::Secret,
    };
    let value = |tenant: &str| match by {
        FairBy::Header(_) => tenant.trim().as_bytes().to_vec(),
        FairBy::Credential => bare(tenant.as_bytes()).to_vec(),
    };
    let max = u32::from(Weight::MAX);
    let mut weights = LiteMap::new();
    for (tenant, at) in at.entries(names, WEIGHTS)? {
        let weight = u8::try_from(at.whole(1, max)?).ok().and_then(Weight::new);
        let weight = weight.ok_or_else(|| at.breaks(Rule::Whole { min: 1, max }))?;
        if weights.insert(value(tenant), weight).is_some() {
            return Err(at.repeated());
        }
    }
    Ok(weights)
}
