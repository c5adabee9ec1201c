//! Where a call goes whose gate is shut: another account, or another provider.

use std::time::Duration;

use super::cursor::At;
use super::names::HeaderName;
use super::values::{millis, parsed};
use super::{ConfigError, Rule};

/// A second place for calls, which the route table finds by a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    pub(super) header: HeaderName,
    pub(super) value: String,
    pub(super) cluster: String,
    pub(super) after: Duration,
}

impl Failover {
    /// The request header that Weir sets.
    pub fn header(&self) -> &str {
        self.header.as_str()
    }

    /// Its value: not empty, and nothing but visible ASCII.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The cluster that the route table then chooses; the call falls under a policy anew by it.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// A gate that is shut for no longer than this is waited for; at most an hour.
    pub fn after(&self) -> Duration {
        self.after
    }
}

pub(super) fn read(at: &At<'_>) -> Result<Failover, ConfigError> {
    let fields = at.object(&["header", "value", "cluster", "after_ms"])?;
    let header = fields.required("header", Rule::HeaderName)?;
    let value = fields.required("value", Rule::HeaderValue)?;
    let cluster = fields.required("cluster", Rule::ClusterName)?;
    let visible = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    // Weir takes its own headers off every request.
    let own =
        |text: &str| HeaderName::parse(text).filter(|name| !name.as_str().starts_with("x-weir-"));
    Ok(Failover {
        header: parsed(&header, Rule::FailoverHeader, own)?,
        value: parsed(&value, Rule::HeaderValue, |text| {
            visible(text).then(|| text.to_owned())
        })?,
        cluster: parsed(&cluster, Rule::ClusterName, |text| {
            (!text.is_empty()).then(|| text.to_owned())
        })?,
        after: millis(&fields, "after_ms", Duration::ZERO)?,
    })
}
