//! From JSON to the parts of a key.

use super::cursor::At;
use super::names::HeaderName;
use super::policy::KeyPart;
use super::values::parsed;
use super::{ConfigError, Rule};

pub(super) fn key(at: &At<'_>) -> Result<Vec<KeyPart>, ConfigError> {
    let mut parts = Vec::new();
    for at in at.filled_list()? {
        let part = part(&at)?;
        if parts.contains(&part) {
            return Err(at.breaks(Rule::UniqueKeyPart));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn part(at: &At<'_>) -> Result<KeyPart, ConfigError> {
    if at.is_object() {
        return header_part(at);
    }
    match at.text(Rule::Text) {
        Ok("cluster") => Ok(KeyPart::Cluster),
        Ok("host") => Ok(KeyPart::Host),
        Ok("path_prefix") => Ok(KeyPart::PathPrefix),
        Ok("credential") => Ok(KeyPart::Credential),
        _ => Err(at.unknown("key part", PARTS)),
    }
}

const PARTS: &[&str] = &[
    "cluster",
    "host",
    "path_prefix",
    "credential",
    "{\"header\": NAME}",
    "{\"credential\": NAME}",
];

/// `{"header": NAME}` or `{"credential": NAME}`.
fn header_part(at: &At<'_>) -> Result<KeyPart, ConfigError> {
    let fields = at.object(&["header", "credential"])?;
    let (name, value) = fields.one_of("header", "credential", at)?;
    let header = parsed(&value, Rule::HeaderName, HeaderName::parse)?;
    Ok(match name {
        "header" => KeyPart::Header(header),
        _ => KeyPart::CredentialIn(header),
    })
}
