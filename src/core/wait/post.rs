//! Where this worker is reached, and how it reaches the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::gate::Owner;
use crate::core::gate::owner::{SLOTS, WorkerSlot};
use crate::core::gate::table::Place;
use crate::port::{Expect, Host, HostError, QueueId, Stored};

/// Wake-ups taken in one callback; the host calls again for the rest.
const TAKE: usize = 64;

/// This worker's slot and the queues of the others.
#[derive(Debug, Default)]
pub struct Post {
    mine: Option<(Owner, QueueId)>,
    /// There was no slot to take at the last look; heartbeats look again.
    is_full: bool,
    queues: BTreeMap<u16, QueueId>,
}

impl Post {
    /// Who this worker is, if it owns anything yet.
    pub fn owner(&self) -> Option<Owner> {
        self.mine.map(|(owner, _)| owner)
    }

    /// Takes a worker slot if this worker has none. `None` if there is none left or shared data
    /// cannot be used.
    pub fn register(&mut self, host: &impl Host) -> Option<Owner> {
        if self.mine.is_none() && !self.is_full {
            self.mine = take_first(host);
            self.is_full = self.mine.is_none();
        }
        self.owner()
    }

    /// Gives the slot up: another worker has it.
    pub fn resign(&mut self) {
        self.mine = None;
    }

    /// Makes the calling root the one that is woken.
    pub fn listen(&mut self, host: &impl Host) {
        if let Some((owner, _)) = self.mine
            && let Ok(queue) = host.queue_register(&WorkerSlot::queue_name(owner.slot))
        {
            self.mine = Some((owner, queue));
        }
    }

    /// Advances the heartbeat. False if the slot has gone to another worker.
    pub fn heartbeat(&mut self, host: &impl Host) -> bool {
        self.is_full = false;
        let Some((owner, _)) = self.mine else {
            return true;
        };
        self.listen(host);
        let name = WorkerSlot::name(owner.slot);
        let Ok(Stored::Present { bytes, cas }) = host.shared_get(&name) else {
            return true;
        };
        let Some(slot) = WorkerSlot::decode(&bytes) else {
            return true;
        };
        if slot.generation != owner.generation {
            return false;
        }
        let beaten = WorkerSlot {
            heartbeat: slot.heartbeat.wrapping_add(1),
            ..slot
        };
        // A conflict means that somebody takes the slot: the next beat will see.
        let _ = host.shared_set(&name, &beaten.encode(), Expect::Same(cas));
        true
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
    pub fn take(&mut self, host: &impl Host) -> BTreeSet<Place> {
        let mut places = BTreeSet::new();
        if let Some((_, queue)) = self.mine {
            for _ in 0..TAKE {
                match host.queue_take(queue) {
                    Ok(Some(message)) => places.extend(Place::from_message(&message)),
                    Ok(None) | Err(_) => break,
                }
            }
        }
        places
    }
}

fn queue_of(host: &impl Host, slot: u16) -> Option<QueueId> {
    match host.shared_get(&WorkerSlot::name(slot)) {
        Ok(Stored::Present { bytes, .. }) => WorkerSlot::decode(&bytes)?.queue,
        Ok(Stored::Absent) | Err(_) => None,
    }
}

/// Takes the first slot that nobody ever had. If shared data cannot be written it stops at once:
/// every slot tried would be lost.
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

/// Takes `slot`; a conflict if somebody has or had it. The slot is made before its queue is
/// registered, because registering takes a queue away from whoever read it.
fn take(host: &impl Host, slot: u16) -> Result<(Owner, QueueId), HostError> {
    let name = WorkerSlot::name(slot);
    if host.shared_get(&name)? != Stored::Absent {
        return Err(HostError::Conflict);
    }
    let mut taken = WorkerSlot {
        generation: 1,
        heartbeat: 0,
        queue: None,
    };
    host.shared_set(&name, &taken.encode(), Expect::New)?;
    let queue = host.queue_register(&WorkerSlot::queue_name(slot))?;
    taken.queue = Some(queue);
    let Stored::Present { cas, .. } = host.shared_get(&name)? else {
        return Err(HostError::Refused);
    };
    host.shared_set(&name, &taken.encode(), Expect::Same(cas))?;
    let owner = Owner {
        slot,
        generation: taken.generation,
    };
    Ok((owner, queue))
}
