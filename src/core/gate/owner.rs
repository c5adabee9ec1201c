//! Who owns what in a record.
//!
//! A worker takes one of [`SLOTS`] worker slots. The slot number names its queue and its entries in
//! gate records; the generation tells it from the worker that had the number before.

/// How many workers may own state at once. Beyond it calls go on uncounted and `degraded` says so.
pub const SLOTS: u16 = 128;

/// A worker slot and its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Number of the worker slot, below [`SLOTS`].
    pub slot: u16,
    /// Rises each time the slot changes hands.
    pub generation: u32,
}

/// What is stored for one worker slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSlot {
    /// The generation of the worker that holds the slot.
    pub generation: u32,
    /// A counter the worker advances while it lives.
    pub heartbeat: u64,
    /// The queue that wakes the worker; none until it is registered.
    pub queue: Option<u32>,
}

const LAYOUT: u8 = 1;
const BYTES: usize = 18;

impl WorkerSlot {
    /// The name of slot `slot` in shared data.
    pub fn name(slot: u16) -> String {
        format!("weir.worker.{slot}")
    }

    /// The name of the queue that wakes the worker in `slot`. Names are reused with their slots, so
    /// that a queue never outlives its use.
    pub fn queue_name(slot: u16) -> String {
        format!("weir.wake.{slot}")
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.push(LAYOUT);
        bytes.push(u8::from(self.queue.is_some()));
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.heartbeat.to_le_bytes());
        bytes.extend_from_slice(&self.queue.unwrap_or(0).to_le_bytes());
        bytes
    }

    /// Reads the stored form; `None` if it is not one of this layout.
    pub fn decode(bytes: &[u8]) -> Option<WorkerSlot> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (head, rest) = bytes.split_first_chunk::<2>()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (heartbeat, rest) = rest.split_first_chunk()?;
        let (queue, _) = rest.split_first_chunk()?;
        let has_queue = match head {
            [LAYOUT, 0] => false,
            [LAYOUT, 1] => true,
            _ => return None,
        };
        Some(WorkerSlot {
            generation: u32::from_le_bytes(*generation),
            heartbeat: u64::from_le_bytes(*heartbeat),
            queue: has_queue.then_some(u32::from_le_bytes(*queue)),
        })
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_worker_slot_survives_storage() {
        for queue in [None, Some(0), Some(7)] {
            let slot = WorkerSlot {
                generation: 3,
                heartbeat: 1 << 40,
                queue,
            };
            assert_eq!(WorkerSlot::decode(&slot.encode()), Some(slot));
        }
    }

    #[test]
    fn other_bytes_are_no_worker_slot() {
        assert_eq!(WorkerSlot::decode(&[]), None);
        assert_eq!(WorkerSlot::decode(&[9; BYTES]), None);
        assert_eq!(WorkerSlot::decode(&[LAYOUT; BYTES + 1]), None);
    }
}
