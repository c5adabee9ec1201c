//! Where the gates are: finding the one of a key, or making it, and listing them all.

use crate::core::gate::Record;
use crate::core::gate::exchange::TRIES;
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

/// The place of the key that `fresh` is a new record of, made if it is new. `None` if there is no
/// room for it.
pub(super) fn find(
    host: &impl Host,
    fresh: &Record,
    max_keys: u16,
) -> Result<Option<Place>, HostError> {
    let mut has_room = None;
    for place in Place::probes(fresh.identity) {
        let mut stored = host.shared_get(&place.name())?;
        if stored == Stored::Absent {
            let room = *has_room.get_or_insert_with(|| directory(host).len() < u32::from(max_keys));
            if !room {
                return Ok(None);
            }
            create(host, place, fresh)?;
            stored = host.shared_get(&place.name())?;
        }
        if let Stored::Present { bytes, .. } = stored
            && Record::decode(&bytes).is_ok_and(|record| record.identity == fresh.identity)
        {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Creates a gate unless it is there already.
pub(super) fn create(host: &impl Host, place: Place, record: &Record) -> Result<(), HostError> {
    match host.shared_set(&place.name(), &record.encode(), Expect::New) {
        Ok(()) => enter(host, place),
        Err(HostError::Conflict) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Enters a new gate into the directory.
fn enter(host: &impl Host, place: Place) -> Result<(), HostError> {
    for _ in 0..TRIES {
        let stored = host.shared_get(Directory::NAME)?;
        let (mut directory, expect) = match stored {
            Stored::Absent => (Directory::decode(None), Expect::New),
            Stored::Present { bytes, cas } => (Directory::decode(Some(&bytes)), Expect::Same(cas)),
        };
        if !directory.add(place) {
            return Ok(());
        }
        match host.shared_set(Directory::NAME, directory.bytes(), expect) {
            // Somebody else entered a gate.
            Err(HostError::Conflict) => {}
            result => return result,
        }
    }
    Err(HostError::Conflict)
}
