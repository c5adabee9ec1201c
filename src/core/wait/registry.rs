//! What lies where in shared data.

use crate::core::gate::Record;
use crate::core::gate::table::{Directory, Place};
use crate::port::{Expect, Host, HostError, Stored};

/// The record of a gate, if it can be read.
pub fn read(host: &impl Host, place: Place) -> Option<Record> {
    match host.shared_get(&place.name()) {
        Ok(Stored::Present { bytes, .. }) => Record::decode(&bytes).ok(),
        Ok(Stored::Absent) | Err(_) => None,
    }
}

/// The places of all gates.
pub fn directory(host: &impl Host) -> Directory {
    match host.shared_get(Directory::NAME) {
        Ok(Stored::Present { bytes, .. }) => Directory::decode(Some(&bytes)),
        Ok(Stored::Absent) | Err(_) => Directory::decode(None),
    }
}

/// The directory, to be changed: with what must still hold for the change to go through.
pub(super) fn open(host: &impl Host) -> Result<(Directory, Expect), HostError> {
    Ok(match host.shared_get(Directory::NAME)? {
        Stored::Absent => (Directory::decode(None), Expect::New),
        Stored::Present { bytes, cas } => (Directory::decode(Some(&bytes)), Expect::Same(cas)),
    })
}
