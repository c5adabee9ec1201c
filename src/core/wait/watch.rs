//! Which workers live.
//!
//! Every VM that ticks looks at all worker slots, whether it has one itself or not: it costs a read
//! per slot in use and look, and whoever is left after any number of deaths has been watching all
//! along. A worker is given up when its heartbeat has not moved for [`DEAD`] before the eyes of one
//! observer. An observer that looks too seldom to say so starts anew: a process that was stopped as a
//! whole wakes up to find everybody's heartbeat as it was.

use litemap::LiteMap;
use std::time::Duration;

use crate::core::gate::Fences;
use crate::core::gate::owner::{SLOTS, SlotState, WorkerSlot};
use crate::core::time::Time;
use crate::port::{Expect, Host, Stored};

/// How long a heartbeat stands still before its worker is given up.
pub const DEAD: Duration = Duration::from_secs(2);

/// An observer that was away for longer than this has seen nothing.
const AWAY: Duration = Duration::from_millis(500);

/// What one VM has seen of all workers.
#[derive(Debug, Default)]
pub struct Watch {
    looked: Option<Time>,
    /// Each slot as it is, and since when it was seen to be so.
    seen: LiteMap<u16, (WorkerSlot, Time)>,
}

/// All worker slots at one look.
#[derive(Debug, Default)]
pub struct Sight {
    /// Their generations.
    pub fences: Fences,
    /// Those whose last holder's part has to be taken out of the gates.
    pub dying: Vec<u16>,
    /// How many workers this VM has just given up.
    pub reaped: u64,
}

impl Watch {
    /// Looks at all worker slots and gives up the workers that are dead.
    pub fn look(&mut self, host: &impl Host, now: Time) -> Sight {
        if self.looked.is_none_or(|last| now.since(last) > AWAY) {
            self.seen.clear();
        }
        self.looked = Some(now);
        let mut sight = Sight::default();
        for slot in 0..SLOTS {
            let (bytes, cas) = match host.shared_get(&WorkerSlot::name(slot)) {
                Ok(Stored::Present { bytes, cas }) => (bytes, cas),
                // Slots come into use in order.
                Ok(Stored::Absent) => break,
                Err(_) => {
                    self.seen.clear();
                    break;
                }
            };
            // What other code wrote is for other code to judge.
            let Some(mut found) = WorkerSlot::decode(&bytes) else {
                continue;
            };
            if self.is_dead(slot, found, now)
                && let Some(dying) = found.reaped()
                && let Ok(()) =
                    host.shared_set(&WorkerSlot::name(slot), &dying.encode(), Expect::Same(cas))
            {
                found = dying;
                sight.reaped += 1;
            }
            sight.fences.set(slot, found.generation);
            if found.state == SlotState::Dying {
                sight.dying.push(slot);
            }
        }
        sight
    }

    /// Whether the slot has looked like this for too long.
    fn is_dead(&mut self, slot: u16, found: WorkerSlot, now: Time) -> bool {
        let since = match self.seen.get(&slot) {
            Some((same, since)) if *same == found => *since,
            _ => now,
        };
        self.seen.insert(slot, (found, since));
        found.is_held() && now.since(since) >= DEAD
    }
}
