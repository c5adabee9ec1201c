//! What has a meaning and a place in the configuration, but is not built yet.

use super::cursor::{At, Fields};
use super::{ConfigError, Rule};

/// Refuses the fields of a policy, and their values, whose feature is to come.
pub(super) fn refuse(fields: &Fields<'_>) -> Result<(), ConfigError> {
    if let Some(mode) = fields.optional("mode") {
        match mode.text(Rule::Text) {
            Ok("enforce") => {}
            Ok("shadow") => return Err(mode.not_built("use \"enforce\"")),
            _ => return Err(mode.unknown("mode", &["enforce", "shadow"])),
        }
    }
    if let Some(ramp) = fields.optional("ramp") {
        refuse_ramp(&ramp)?;
    }
    leave_out(fields, &["rate"])
}

fn refuse_ramp(at: &At<'_>) -> Result<(), ConfigError> {
    let instead = "leave the ramp out or use {\"mode\":\"off\"}";
    let fields = at.object(RAMP)?;
    match fields.optional("mode") {
        None => return Err(at.not_built(instead)),
        Some(mode) => match mode.text(Rule::Text) {
            Ok("off") => {}
            Ok("learn") => return Err(mode.not_built(instead)),
            _ => return Err(mode.unknown("mode", &["learn", "off"])),
        },
    }
    match fields.count() {
        1 => Ok(()),
        _ => Err(at.not_built(instead)),
    }
}

const RAMP: &[&str] = &[
    "mode",
    "initial_per_second",
    "every_ms",
    "growth_percent",
    "step_per_second",
];

/// Refuses those of the fields `names` that are given.
pub(super) fn leave_out(fields: &Fields<'_>, names: &[&str]) -> Result<(), ConfigError> {
    match names.iter().find_map(|name| fields.optional(name)) {
        None => Ok(()),
        Some(at) => Err(at.not_built("leave the field out")),
    }
}
