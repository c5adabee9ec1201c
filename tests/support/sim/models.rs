//! Provider models, from a JSON file: a list of objects, each with `name`, `kind` and the numbers of
//! the kind.
//!
//! | kind | accepts an attempt if | numbers |
//! | --- | --- | --- |
//! | `recent_rate` | in the second that ends now, this one included, at most `floor_per_s + growth x (starts a second of the last past_ms)` started | `floor_per_s` at least 1, `growth`, `past_ms` at least 1000 |
//! | `step` | its window has less than `step` more than the one before it had, and than `floor` if that is more | `floor` at least 1, `step`, `window_ms` |
//! | `percent` | the same, with `percent` % more, rounded up | `floor` at least 1, `percent`, `window_ms` |
//! | `fixed_window` | its window has less than `limit` | `limit`, `window_ms` |
//! | `token_bucket` | a token is there: `burst` fit, `per_second` come | `per_second`, `burst` at least 1 |
//! | `concurrency` | less than `limit` accepted attempts run | `limit` |
//! | `tpm` | its tokens are there: as a bucket that holds a minute's; a call costs a log-normal number | `tokens_per_minute`, `mean_tokens`, `sigma` (0.8) |
//! | `mix` | all of `limits` accept it; refusals cost nothing anywhere | `limits`: objects with `kind` and numbers |
//!
//! Windows count from the start of the run. Fields that every model may have:
//!
//! | field | default | |
//! | --- | --- | --- |
//! | `tells` | `[]` | what answers say: `retry_after_s` (whole seconds, rounded up) and `retry_after_ms` on refusals whose end is known, `remaining` (`x-ratelimit-*`) on every answer of a model with a fixed window |
//! | `refusal_ms` | 20 | from the start of an attempt to its refusal |
//! | `service` | log-normal | `spread` (`log_normal` `exponential` `fixed`), `mean_ms` 600, `sigma` 0.6, `max_ms` 5000, `first_byte_percent` 30 |

use std::time::Duration;

use serde_json::Value;

use super::input::{InputError, Object};
use super::model::{Concurrency, FixedWindow, Slope, Steps, TokenBucket};
use super::provider::Limit;
use super::service::{Cost, Service, Spread};
use super::words::Tells;

/// A provider as the file describes it.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) limits: Vec<Limit>,
    pub(crate) cost: Option<Cost>,
    pub(crate) tells: Tells,
    pub(crate) refusal: Duration,
    pub(crate) service: Service,
}

/// Reads a file's text; `path` is what errors call it.
pub(crate) fn parse(path: &str, text: &str) -> Result<Vec<Model>, InputError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| InputError::new(path, error, "(the file is not JSON)"))?;
    let Value::Array(list) = &value else {
        return Err(InputError::new(path, "the file", "is not a list of models"));
    };
    let mut models: Vec<Model> = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let object = Object::new(format!("{path}[{at}]"), value)?;
        let model = model(&object)?;
        if models.iter().any(|other| other.name == model.name) {
            return Err(object.error("name", "is the name of another model"));
        }
        object.finish()?;
        models.push(model);
    }
    Ok(models)
}

fn model(object: &Object<'_>) -> Result<Model, InputError> {
    let mut cost = None;
    let name = object.text("name")?.to_owned();
    let limits = match object.text("kind")? {
        "mix" => {
            let mut limits = Vec::new();
            for (at, value) in object.list("limits")?.iter().enumerate() {
                let path = object.path_of(&format!("limits[{at}]"));
                let part = Object::new(path, value)?;
                limits.push(limit(&part, &mut cost)?);
                part.finish()?;
            }
            limits
        }
        _ => vec![limit(object, &mut cost)?],
    };
    Ok(Model {
        name,
        limits,
        cost,
        tells: tells(object)?,
        refusal: millis(object.whole_or("refusal_ms", 0, 20)?),
        service: service(object)?,
    })
}

fn limit(object: &Object<'_>, cost: &mut Option<Cost>) -> Result<Limit, InputError> {
    let window = || object.whole("window_ms", 1).map(millis);
    let count = |name| object.whole(name, 1).map(|n| n as usize);
    Ok(match object.text("kind")? {
        "recent_rate" => Limit::Slope(Slope::new(
            object.number("floor_per_s", 1.0)?,
            object.number("growth", 0.0)?,
            millis(object.whole("past_ms", 1000)?),
        )),
        "step" => {
            let step = object.whole("step", 0)? as usize;
            Limit::Steps(Steps::new(count("floor")?, step, window()?))
        }
        "percent" => {
            let percent = object.number("percent", 0.0)?;
            Limit::Steps(Steps::percent(count("floor")?, percent, window()?))
        }
        "fixed_window" => Limit::Window(FixedWindow::new(count("limit")?, window()?)),
        "token_bucket" => Limit::Requests(TokenBucket::new(
            object.number("per_second", 0.001)?,
            object.number("burst", 1.0)?,
        )),
        "concurrency" => Limit::Concurrency(Concurrency(count("limit")?)),
        "tpm" => {
            let minute = object.number("tokens_per_minute", 1.0)?;
            *cost = Some(Cost {
                mean: object.number("mean_tokens", 1.0)?,
                sigma: object.number_or("sigma", 0.0, 0.8)?,
            });
            Limit::Tokens(TokenBucket::new(minute / 60.0, minute))
        }
        _ => {
            return Err(object.error(
                "kind",
                "is not one of: recent_rate, step, percent, fixed_window, token_bucket, \
                 concurrency, tpm, mix (not within a mix)",
            ));
        }
    })
}

fn tells(object: &Object<'_>) -> Result<Tells, InputError> {
    let mut tells = Tells::default();
    for value in object.list("tells")? {
        match value.as_str() {
            Some("retry_after_s") => tells.seconds = true,
            Some("retry_after_ms") => tells.millis = true,
            Some("remaining") => tells.remaining = true,
            _ => {
                let rule = "is not one of: retry_after_s, retry_after_ms, remaining";
                return Err(InputError::new(object.path_of("tells"), value, rule));
            }
        }
    }
    Ok(tells)
}

fn service(object: &Object<'_>) -> Result<Service, InputError> {
    let Some(value) = object.field("service") else {
        return Ok(Service::default());
    };
    let object = Object::new(object.path_of("service"), value)?;
    let sigma = object.number_or("sigma", 0.0, 0.6)?;
    let spread = match object.field("spread").map(Value::as_str) {
        None | Some(Some("log_normal")) => Spread::LogNormal(sigma),
        Some(Some("exponential")) => Spread::Exponential,
        Some(Some("fixed")) => Spread::Fixed,
        Some(_) => {
            return Err(object.error("spread", "is not one of: log_normal, exponential, fixed"));
        }
    };
    let percent = object.number_or("first_byte_percent", 0.0, 30.0)?;
    if percent > 100.0 {
        return Err(object.error("first_byte_percent", "is not a number from 0 to 100"));
    }
    let service = Service {
        spread,
        mean: millis(object.whole_or("mean_ms", 1, 600)?),
        max: millis(object.whole_or("max_ms", 1, 5000)?),
        first_byte: percent / 100.0,
    };
    object.finish()?;
    Ok(service)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
