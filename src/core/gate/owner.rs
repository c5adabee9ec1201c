//! Who owns what in a record.
//!
//! A worker takes one of [`SLOTS`] worker slots. The slot number names its queue and its entries in
//! gate records; the generation tells it from the worker that had the number before.
//!
//! A slot is *held*; when its holder is thought dead it is *dying*, while what the holder had is
//! taken out of the gates; then it is *free*, and held again. What all of this rests on:
//!
//! > A slot's generation only rises, and it has risen before anything of the former holder's is
//! > taken away. So an entry whose generation is below its slot's is nobody's: anybody may take it
//! > out at any time, however old the reader's knowledge of the slot is.

/// How many workers may own state at once. Beyond it calls go on uncounted and `degraded` says so.
pub const SLOTS: u16 = 128;

/// A worker slot and its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Number of the worker slot, below [`SLOTS`].
    pub slot: u16,
    /// Rises each time the slot changes hands.
    pub generation: u32,
}

/// What is stored for one worker slot. Each change is one compare-and-swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerSlot {
    /// The generation of the slot's holder or, while it has none, of the next one.
    pub generation: u32,
    /// A counter the holder advances while it lives.
    pub heartbeat: u64,
    /// Whose the slot is.
    pub state: SlotState,
}

/// Whose a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotState {
    /// A worker's.
    Held {
        /// The queue that wakes the worker; none until it is registered.
        queue: Option<u32>,
    },
    /// Nobody's: gates may still have entries of its last holder.
    Dying,
    /// Nobody's, to be taken.
    Free,
}

const LAYOUT: u8 = 1;
const BYTES: usize = 18;

impl WorkerSlot {
    /// A slot that nobody had before, just taken.
    pub const FIRST: WorkerSlot = WorkerSlot {
        generation: 1,
        heartbeat: 0,
        state: SlotState::Held { queue: None },
    };

    /// The name of slot `slot` in shared data.
    pub fn name(slot: u16) -> String {
        format!("weir.worker.{slot}")
    }

    /// The name of the queue that wakes the worker in `slot`. Names are reused with their slots, so
    /// that a queue never outlives its use.
    pub fn queue_name(slot: u16) -> String {
        format!("weir.wake.{slot}")
    }

    /// Whether a worker has the slot.
    pub fn is_held(&self) -> bool {
        matches!(self.state, SlotState::Held { .. })
    }

    /// Whether the slot is that of the worker of this generation.
    pub fn is_held_by(&self, generation: u32) -> bool {
        self.is_held() && self.generation == generation
    }

    /// The queue that wakes the slot's holder.
    pub fn queue(&self) -> Option<u32> {
        match self.state {
            SlotState::Held { queue } => queue,
            SlotState::Dying | SlotState::Free => None,
        }
    }

    /// The slot after its holder has shown that it lives and is woken by `queue`.
    #[must_use]
    pub fn beaten(self, queue: Option<u32>) -> WorkerSlot {
        WorkerSlot {
            heartbeat: self.heartbeat.wrapping_add(1),
            state: SlotState::Held { queue },
            ..self
        }
    }

    /// The slot after its holder was thought dead. `None` if it has no holder, or the last one there
    /// can be.
    pub fn reaped(self) -> Option<WorkerSlot> {
        Some(WorkerSlot {
            generation: self.generation.checked_add(1).filter(|_| self.is_held())?,
            state: SlotState::Dying,
            ..self
        })
    }

    /// The slot once no gate has anything of its former holders. `None` if it is not dying.
    pub fn freed(self) -> Option<WorkerSlot> {
        (self.state == SlotState::Dying).then_some(WorkerSlot {
            state: SlotState::Free,
            ..self
        })
    }

    /// The slot in the hands of its next holder. `None` if it is not free.
    pub fn taken(self) -> Option<WorkerSlot> {
        (self.state == SlotState::Free).then_some(WorkerSlot {
            state: SlotState::Held { queue: None },
            ..self
        })
    }

    /// The stored form. A code that knows only held slots reads the other states as damaged, and
    /// leaves them alone.
    pub fn encode(&self) -> Vec<u8> {
        let state = match self.state {
            SlotState::Held { queue } => u8::from(queue.is_some()),
            SlotState::Dying => 2,
            SlotState::Free => 3,
        };
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&[LAYOUT, state]);
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.heartbeat.to_le_bytes());
        bytes.extend_from_slice(&self.queue().unwrap_or(0).to_le_bytes());
        bytes
    }

    /// Reads the stored form; `None` if it is not one of this layout.
    pub fn decode(bytes: &[u8]) -> Option<WorkerSlot> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (head, rest) = bytes.split_first_chunk::<2>()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (heartbeat, rest) = rest.split_first_chunk()?;
        let (queue, _) = rest.split_first_chunk()?;
        let state = match head {
            [LAYOUT, 0] => SlotState::Held { queue: None },
            [LAYOUT, 1] => SlotState::Held {
                queue: Some(u32::from_le_bytes(*queue)),
            },
            [LAYOUT, 2] => SlotState::Dying,
            [LAYOUT, 3] => SlotState::Free,
            _ => return None,
        };
        Some(WorkerSlot {
            generation: u32::from_le_bytes(*generation),
            heartbeat: u64::from_le_bytes(*heartbeat),
            state,
        })
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const STATES: [SlotState; 5] = [
        SlotState::Held { queue: None },
        SlotState::Held { queue: Some(0) },
        SlotState::Held { queue: Some(7) },
        SlotState::Dying,
        SlotState::Free,
    ];

    #[test]
    fn a_worker_slot_survives_storage() {
        for state in STATES {
            let slot = WorkerSlot {
                generation: 3,
                heartbeat: 1 << 40,
                state,
            };
            assert_eq!(WorkerSlot::decode(&slot.encode()), Some(slot));
        }
    }

    #[test]
    fn other_bytes_are_no_worker_slot() {
        assert_eq!(WorkerSlot::decode(&[]), None);
        assert_eq!(WorkerSlot::decode(&[9; BYTES]), None);
        assert_eq!(WorkerSlot::decode(&[LAYOUT; BYTES + 1]), None);
        let mut unknown = WorkerSlot::FIRST.encode();
        unknown[1] = 4;
        assert_eq!(WorkerSlot::decode(&unknown), None);
    }

    #[test]
    fn a_slot_goes_round_and_its_generation_rises_when_its_holder_is_given_up() {
        let held = WorkerSlot::FIRST.beaten(Some(5));
        assert_eq!((held.queue(), held.heartbeat), (Some(5), 1));
        let dying = held.reaped().expect("held");
        let free = dying.freed().expect("dying");
        let next = free.taken().expect("free");
        assert_eq!(
            [dying, free, next].map(|slot| (slot.generation, slot.is_held_by(2), slot.queue())),
            [(2, false, None), (2, false, None), (2, true, None)]
        );
    }

    #[test]
    fn no_step_is_left_out() {
        for state in STATES {
            let slot = WorkerSlot {
                state,
                ..WorkerSlot::FIRST
            };
            assert_eq!(slot.reaped().is_some(), slot.is_held());
            assert_eq!(slot.freed().is_some(), state == SlotState::Dying);
            assert_eq!(slot.taken().is_some(), state == SlotState::Free);
        }
        let last = WorkerSlot {
            generation: u32::MAX,
            ..WorkerSlot::FIRST
        };
        assert_eq!(last.reaped(), None);
    }
}
