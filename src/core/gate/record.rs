//! What is stored for one key.

use super::owner::Owner;
use crate::core::time::Time;

/// The order of a call in its gate: smaller starts first. It is the call's arrival time in
/// nanoseconds, and stays with the call for life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl Key {
    /// Behind every call: the head of an empty queue.
    pub const LAST: Key = Key(u64::MAX);
}

/// The limits of a gate that are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Tells one configuration of a policy's limits from another.
    pub hash: u64,
    /// Most calls in flight at once; 0 = no cap.
    pub cap: u32,
    /// Most calls that may wait for their first start, and most that may be held.
    pub max_waiting: u32,
}

impl Setting {
    /// The cap as a limit on what is in flight.
    pub fn limit(&self) -> u64 {
        match self.cap {
            0 => u64::MAX,
            cap => u64::from(cap),
        }
    }
}

/// What one worker has in one gate, by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Attempts in flight, from claimed grant to last byte.
    pub running: u32,
    /// Waiters for their first start.
    pub fresh: u32,
    /// Held calls whose not-before has passed: they wait too.
    pub ready: u32,
    /// All held calls, ready or not.
    pub held: u32,
    /// The oldest waiter; [`Key::LAST`] if none waits.
    pub head: Key,
}

impl Standing {
    /// Nothing at all.
    pub const NONE: Standing = Standing {
        running: 0,
        fresh: 0,
        ready: 0,
        held: 0,
        head: Key::LAST,
    };

    /// Calls that could start now.
    pub fn waiting(&self) -> u32 {
        self.fresh.saturating_add(self.ready)
    }
}

/// One owner's part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Whose part this is.
    pub owner: Owner,
    /// What the owner last said of itself.
    pub standing: Standing,
    /// Slots granted to the owner that it has not claimed yet. Never more than its waiters.
    pub granted: u32,
    /// When the first of them was granted, or the owner last spoke; zero if there is none.
    pub granted_at: Time,
    /// The owner let a grant go stale and has not been heard of since.
    pub stalled: bool,
}

impl Entry {
    /// An owner with nothing to its name.
    pub fn new(owner: Owner) -> Entry {
        Entry {
            owner,
            standing: Standing::NONE,
            granted: 0,
            granted_at: Time(0),
            stalled: false,
        }
    }

    /// Waiters that no grant covers yet.
    pub fn uncovered(&self) -> u32 {
        self.standing.waiting().saturating_sub(self.granted)
    }

    fn is_empty(&self) -> bool {
        self.standing == Standing::NONE && self.granted == 0 && !self.stalled
    }
}

/// The shared state of one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Which key this is: a hash of policy and key parts.
    pub identity: u128,
    /// Which policy this is, for gauges: a hash of its name.
    pub policy: u64,
    /// The limits in force.
    pub setting: Setting,
    /// The highest downstream connection id that was served under them.
    pub newest_connection: u64,
    /// Room for the bucket, the ramp, the pause and the episode. Carried over unchanged.
    pub reserved: [u8; RESERVED],
    /// Owners with anything to their name, by slot.
    pub entries: Vec<Entry>,
}

/// Bytes kept free in the header.
pub(super) const RESERVED: usize = 64;

impl Record {
    /// A gate nobody has used.
    pub fn new(identity: u128, policy: u64, setting: Setting) -> Record {
        Record {
            identity,
            policy,
            setting,
            newest_connection: 0,
            reserved: [0; RESERVED],
            entries: Vec::new(),
        }
    }

    /// Slots taken: attempts in flight and grants not yet claimed.
    pub fn in_flight(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.running) + u64::from(entry.granted))
    }

    /// Calls that could start now, over all workers.
    pub fn waiting(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.waiting()))
    }

    /// Calls waiting for their first start, over all workers.
    pub fn fresh(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.fresh))
    }

    /// Held calls, over all workers.
    pub fn held(&self) -> u64 {
        self.sum(|entry| u64::from(entry.standing.held))
    }

    /// The entry of the worker in `slot`.
    pub fn entry(&self, slot: u16) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.owner.slot == slot)
    }

    /// Takes out the entry of `owner`'s slot, or makes an empty one.
    pub(super) fn take_entry(&mut self, owner: Owner) -> Entry {
        match self.position(owner.slot) {
            Ok(at) => self.entries.remove(at),
            Err(_) => Entry::new(owner),
        }
    }

    /// Puts an entry where [`Record::take_entry`] took it, unless it holds nothing.
    pub(super) fn put_entry(&mut self, entry: Entry) {
        if entry.is_empty() {
            return;
        }
        match self.position(entry.owner.slot) {
            Ok(at) => {
                if let Some(place) = self.entries.get_mut(at) {
                    *place = entry;
                }
            }
            Err(at) => self.entries.insert(at, entry),
        }
    }

    fn position(&self, slot: u16) -> Result<usize, usize> {
        self.entries
            .binary_search_by_key(&slot, |entry| entry.owner.slot)
    }

    fn sum(&self, part: impl Fn(&Entry) -> u64) -> u64 {
        self.entries.iter().map(part).sum()
    }
}
