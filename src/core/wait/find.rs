//! Finding the gate of a key, making it if it is new, and making room for it if there is none.
//!
//! A key must never have two gates, although any worker may make one at any moment and any idle gate
//! may give way. So gates are made one after the other, whoever makes them. To make one is
//!
//! 1. to read the directory, and finish what its last entry began;
//! 2. to look at all places the key may lie at: it lies at none of them;
//! 3. to write into the directory where it shall lie, if nobody wrote there since step 1;
//! 4. to write the record, if nobody wrote there since step 2.
//!
//! Whoever dies, or is slow, between 3 and 4 is helped by the next one's step 1. Whoever comes to
//! step 4 after that finds that the record was written, and looks again. Step 4 fails, too, if an
//! idle gate that was to give way was used in the meantime: then it stays, and another is chosen.

use super::registry::open;
use crate::core::gate::Record;
use crate::core::gate::exchange::TRIES;
use crate::core::gate::table::{Claim, Directory, Place, VACANT};
use crate::core::time::Time;
use crate::port::{Expect, Host, HostError, Stored};

/// Gates looked at in one go for one that can give way.
const LOOKED_AT: usize = 16;

/// The place of the key that `fresh` is a new record of, made if it is new. `None` if there is no
/// room for it. `hand` is where the last search for an idle gate ended.
pub(super) fn find(
    host: &impl Host,
    now: Time,
    fresh: &Record,
    max_keys: u16,
    hand: &mut Option<Place>,
) -> Result<Option<Place>, HostError> {
    if let Some(place) = look(host, now, fresh.identity)?.found {
        return Ok(Some(place));
    }
    for _ in 0..TRIES {
        let (directory, expect) = open(host)?;
        finish_last(host, &directory)?;
        let seen = look(host, now, fresh.identity)?;
        if seen.found.is_some() {
            return Ok(seen.found);
        }
        let is_full = directory.len() >= u32::from(max_keys);
        let place = if is_full {
            seen.idle
        } else {
            seen.free.or(seen.idle)
        };
        let Some((place, last)) = place else {
            if seen.free.is_some() && make_room(host, now, directory, expect, hand)? {
                continue;
            }
            return Ok(None);
        };
        let claim = Claim {
            place,
            expect: last,
            record: fresh.encode(),
        };
        if make(host, directory, expect, claim)? {
            return Ok(Some(place));
        }
    }
    Err(HostError::Conflict)
}

/// Makes the gate that lies at a place of its own, unless it is there.
pub(super) fn make_at(host: &impl Host, place: Place, record: &Record) -> Result<(), HostError> {
    for _ in 0..TRIES {
        if host.shared_get(&place.name())? != Stored::Absent {
            return Ok(());
        }
        let (directory, expect) = open(host)?;
        finish_last(host, &directory)?;
        let claim = Claim {
            place,
            expect: Expect::New,
            record: record.encode(),
        };
        if make(host, directory, expect, claim)? {
            return Ok(());
        }
    }
    Err(HostError::Conflict)
}

/// What is at the places that a key may lie at.
#[derive(Default)]
struct Seen {
    /// The key's own.
    found: Option<Place>,
    /// The first without a gate.
    free: Option<(Place, Expect)>,
    /// The first whose gate may give way.
    idle: Option<(Place, Expect)>,
}

fn look(host: &impl Host, now: Time, identity: u128) -> Result<Seen, HostError> {
    let mut seen = Seen::default();
    for place in Place::probes(identity) {
        let (bytes, cas) = match host.shared_get(&place.name())? {
            Stored::Present { bytes, cas } => (bytes, cas),
            // Nothing was ever written here, so nothing of this key lies behind it.
            Stored::Absent => {
                seen.free.get_or_insert((place, Expect::New));
                break;
            }
        };
        let here = (place, Expect::Same(cas));
        match Record::decode(&bytes) {
            Ok(record) if record.identity == identity => {
                seen.found = Some(place);
                break;
            }
            Ok(record) if record.is_idle(now) => {
                seen.idle.get_or_insert(here);
            }
            Err(_) if bytes == VACANT => {
                seen.free.get_or_insert(here);
            }
            // In use, or another version's business.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(seen)
}

/// Steps 3 and 4. False if somebody was quicker in either.
fn make(
    host: &impl Host,
    mut directory: Directory,
    expect: Expect,
    claim: Claim,
) -> Result<bool, HostError> {
    directory.claim(claim.clone());
    let claimed = host.shared_set(Directory::NAME, &directory.encode(), expect);
    Ok(is_written(claimed)? && is_written(write(host, &claim))?)
}

/// The gate that was entered last is written, if that was not done.
fn finish_last(host: &impl Host, directory: &Directory) -> Result<(), HostError> {
    match directory.last() {
        Some(claim) => is_written(write(host, claim)).map(|_| ()),
        None => Ok(()),
    }
}

fn write(host: &impl Host, claim: &Claim) -> Result<(), HostError> {
    host.shared_set(&claim.place.name(), &claim.record, claim.expect)
}

fn is_written(result: Result<(), HostError>) -> Result<bool, HostError> {
    match result {
        Ok(()) => Ok(true),
        Err(HostError::Conflict) => Ok(false),
        Err(error) => Err(error),
    }
}

/// One idle gate, wherever it lies, gives way. False if none was found this time; the next search
/// goes on where this one ended.
fn make_room(
    host: &impl Host,
    now: Time,
    mut directory: Directory,
    expect: Expect,
    hand: &mut Option<Place>,
) -> Result<bool, HostError> {
    let places: Vec<Place> = directory.places_after(*hand).take(LOOKED_AT).collect();
    for place in places {
        *hand = Some(place);
        if place != Place::OVERFLOW && give_way(host, now, place)? {
            directory.remove(place);
            // If somebody was quicker, the place is seen to be vacant by the next search.
            is_written(host.shared_set(Directory::NAME, &directory.encode(), expect))?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Leaves a place vacant if its gate is idle. True if it is vacant.
fn give_way(host: &impl Host, now: Time, place: Place) -> Result<bool, HostError> {
    let Stored::Present { bytes, cas } = host.shared_get(&place.name())? else {
        return Ok(false);
    };
    match Record::decode(&bytes) {
        Ok(record) if record.is_idle(now) => {
            is_written(host.shared_set(&place.name(), VACANT, Expect::Same(cas)))
        }
        _ => Ok(bytes == VACANT),
    }
}
