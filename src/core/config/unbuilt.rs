//! What has a meaning and a place in the configuration, but is not built yet.

use super::ConfigError;
use super::cursor::Fields;

/// Refuses the fields of a policy whose feature is to come.
pub(super) fn refuse(fields: &Fields<'_>) -> Result<(), ConfigError> {
    leave_out(fields, &["classify"])
}

/// Refuses those of the fields `names` that are given.
fn leave_out(fields: &Fields<'_>, names: &[&str]) -> Result<(), ConfigError> {
    match names.iter().find_map(|name| fields.optional(name)) {
        None => Ok(()),
        Some(at) => Err(at.not_built("leave the field out")),
    }
}
