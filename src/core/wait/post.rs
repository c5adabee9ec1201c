//! Where this worker is reached, and how it reaches the others.

use litemap::LiteMap;
use std::time::Duration;

use crate::core::gate::Owner;
use crate::core::gate::owner::{SLOTS, WorkerSlot};
use crate::core::gate::table::Place;
use crate::core::time::Time;
use crate::port::{Expect, Host, HostError, QueueId, Stored};

/// Wake-ups taken in one callback; the host calls again for the rest.
const TAKE: usize = 64;

/// A worker that has not shown for this long that it lives looks whether it still has its slot
/// before it speaks. It is half of what it takes to be given up ([`super::watch::DEAD`]), so that a
/// worker speaks under a name that it lost only if it is stopped in the middle of speaking.
const LEASE: Duration = Duration::from_secs(1);

/// How often a heartbeat tries to write: who comes in between is one that gives the slot up.
const TRIES: u32 = 3;

/// This worker's slot and the queues of the others.
#[derive(Debug, Default)]
pub struct Post {
    mine: Option<(Owner, QueueId)>,
    /// When this worker last showed that it lives.
    beaten: Time,
    /// There was no slot to take at the last look; heartbeats look again.
    is_full: bool,
    queues: LiteMap<u16, QueueId>,
}

impl Post {
    /// Who this worker is, if it owns anything yet.
    pub fn owner(&self) -> Option<Owner> {
        self.mine.map(|(owner, _)| owner)
    }

    /// Takes a worker slot if this worker has none. `None` if there is none left or shared data
    /// cannot be used.
    pub fn register(&mut self, host: &impl Host, now: Time) -> Option<Owner> {
        if self.mine.is_none() && !self.is_full {
            self.mine = take_first(host);
            self.beaten = now;
            self.is_full = self.mine.is_none();
        }
        self.owner()
    }

    /// Gives the slot up: another worker has it.
    pub fn resign(&mut self) {
        self.mine = None;
    }

    /// Whether the slot may have been lost since the last heartbeat.
    pub fn is_overdue(&self, now: Time) -> bool {
        self.mine.is_some() && now.since(self.beaten) >= LEASE
    }

    /// Shows that this worker lives, and makes the calling root the one that is woken. False if the
    /// slot is no longer this worker's.
    pub fn heartbeat(&mut self, host: &impl Host, now: Time) -> bool {
        self.is_full = false;
        let Some((owner, _)) = self.mine else {
            return true;
        };
        let name = WorkerSlot::name(owner.slot);
        for _ in 0..TRIES {
            let Ok(stored) = host.shared_get(&name) else {
                return true;
            };
            let Some((slot, cas)) = held_by(owner, &stored) else {
                return false;
            };
            // Not before the look: registering takes the queue away from whoever has the slot now.
            let queue = self.listen(host);
            let beaten = slot.beaten(queue.or(slot.queue()));
            match host.shared_set(&name, &beaten.encode(), Expect::Same(cas)) {
                Ok(()) => {
                    self.beaten = now;
                    return true;
                }
                Err(HostError::Conflict) => {}
                Err(HostError::Gone | HostError::Refused) => return true,
            }
        }
        true
    }

    fn listen(&mut self, host: &impl Host) -> Option<QueueId> {
        let (owner, _) = self.mine?;
        let queue = host
            .queue_register(&WorkerSlot::queue_name(owner.slot))
            .ok()?;
        self.mine = Some((owner, queue));
        Some(queue)
    }

    /// Wakes the worker in `slot`. A wake-up that cannot be sent is made good by that worker's tick.
    pub fn wake(&mut self, host: &impl Host, slot: u16, place: Place) {
        let queue = match self.queues.get(&slot) {
            Some(queue) => Some(*queue),
            None => queue_of(host, slot),
        };
        if let Some(queue) = queue {
            self.queues.insert(slot, queue);
            if host.queue_send(queue, &place.to_message()).is_err() {
                self.queues.remove(&slot);
            }
        }
    }

    /// Takes the wake-ups that have come. They are hints: which gates to look at.
    pub fn take(&mut self, host: &impl Host) -> Vec<Place> {
        let mut places = Vec::new();
        if let Some((_, queue)) = self.mine {
            for _ in 0..TAKE {
                match host.queue_take(queue) {
                    Ok(Some(message)) => {
                        let place = Place::from_message(&message);
                        places.extend(place.filter(|place| !places.contains(place)));
                    }
                    Ok(None) | Err(_) => break,
                }
            }
        }
        places
    }
}

fn queue_of(host: &impl Host, slot: u16) -> Option<QueueId> {
    match host.shared_get(&WorkerSlot::name(slot)) {
        Ok(Stored::Present { bytes, .. }) => WorkerSlot::decode(&bytes)?.queue(),
        Ok(Stored::Absent) | Err(_) => None,
    }
}

/// Takes the first slot that nobody has. If shared data cannot be written it stops at once: every
/// slot tried would be lost until it is reaped.
fn take_first(host: &impl Host) -> Option<(Owner, QueueId)> {
    for slot in 0..SLOTS {
        match take(host, slot) {
            Ok(mine) => return Some(mine),
            Err(HostError::Conflict) => {}
            Err(HostError::Gone | HostError::Refused) => return None,
        }
    }
    None
}

/// Takes `slot`; a conflict if somebody has it, or had it and is not done with. The slot is taken
/// before its queue is registered, because registering takes a queue away from whoever read it.
fn take(host: &impl Host, slot: u16) -> Result<(Owner, QueueId), HostError> {
    let name = WorkerSlot::name(slot);
    let (taken, expect) = match host.shared_get(&name)? {
        Stored::Absent => (WorkerSlot::FIRST, Expect::New),
        Stored::Present { bytes, cas } => {
            let free = WorkerSlot::decode(&bytes).and_then(WorkerSlot::taken);
            (free.ok_or(HostError::Conflict)?, Expect::Same(cas))
        }
    };
    host.shared_set(&name, &taken.encode(), expect)?;
    let owner = Owner {
        slot,
        generation: taken.generation,
    };
    let queue = host.queue_register(&WorkerSlot::queue_name(slot))?;
    let stored = host.shared_get(&name)?;
    let (taken, cas) = held_by(owner, &stored).ok_or(HostError::Conflict)?;
    let taken = taken.beaten(Some(queue));
    host.shared_set(&name, &taken.encode(), Expect::Same(cas))?;
    Ok((owner, queue))
}

/// The slot with its number, if `owner` has it.
fn held_by(owner: Owner, stored: &Stored) -> Option<(WorkerSlot, u32)> {
    let Stored::Present { bytes, cas } = stored else {
        return None;
    };
    let slot = WorkerSlot::decode(bytes)?;
    slot.is_held_by(owner.generation).then_some((slot, *cas))
}
