//! A gate's record as bytes.
//!
//! A header of fixed size, then one entry per owner that has anything to its name, ordered by slot.
//! All numbers are little-endian. Time is the process's monotonic clock.

use super::owner::Owner;
use super::record::{Entry, Key, RESERVED, Record, Setting, Standing};
use crate::core::time::Time;

const LAYOUT: u16 = 1;

/// Why stored bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by another version of the code.
    #[error("record layout {found} is not the supported layout {LAYOUT}")]
    Layout {
        /// The layout the bytes name.
        found: u16,
    },
    /// Not what this code would have written: cut, too long, or at odds with itself.
    #[error("record of {bytes} bytes is damaged")]
    Damaged {
        /// How many bytes there were.
        bytes: usize,
    },
}

impl Record {
    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + ENTRY * self.entries.len());
        let count = u16::try_from(self.entries.len()).unwrap_or(u16::MAX);
        bytes.extend_from_slice(&LAYOUT.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&self.identity.to_le_bytes());
        bytes.extend_from_slice(&self.policy.to_le_bytes());
        bytes.extend_from_slice(&self.setting.hash.to_le_bytes());
        bytes.extend_from_slice(&self.setting.cap.to_le_bytes());
        bytes.extend_from_slice(&self.setting.max_waiting.to_le_bytes());
        bytes.extend_from_slice(&self.newest_connection.to_le_bytes());
        bytes.extend_from_slice(&self.reserved);
        for entry in &self.entries {
            let Standing {
                running,
                fresh,
                ready,
                held,
                head,
            } = entry.standing;
            bytes.extend_from_slice(&entry.owner.slot.to_le_bytes());
            bytes.extend_from_slice(&u16::from(entry.stalled).to_le_bytes());
            bytes.extend_from_slice(&entry.owner.generation.to_le_bytes());
            for number in [running, fresh, ready, held, entry.granted] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(&entry.granted_at.0.to_le_bytes());
            bytes.extend_from_slice(&head.0.to_le_bytes());
        }
        bytes
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// If the bytes were written in another layout, or are not whole.
    pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
        let damaged = DecodeError::Damaged { bytes: bytes.len() };
        let mut reader = Reader(bytes);
        let found = reader.u16().ok_or(damaged)?;
        if found != LAYOUT {
            return Err(DecodeError::Layout { found });
        }
        reader.record().ok_or(damaged)
    }
}

const HEADER: usize = 2 + 2 + 16 + 8 + 8 + 4 + 4 + 8 + RESERVED;
const ENTRY: usize = 2 + 2 + 4 + 5 * 4 + 8 + 8;

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn record(&mut self) -> Option<Record> {
        let count = usize::from(self.u16()?);
        let mut record = Record {
            identity: u128::from_le_bytes(self.take()?),
            policy: self.u64()?,
            setting: Setting {
                hash: self.u64()?,
                cap: self.u32()?,
                max_waiting: self.u32()?,
            },
            newest_connection: self.u64()?,
            reserved: self.take()?,
            entries: Vec::new(),
        };
        if self.0.len() != count * ENTRY {
            return None;
        }
        record.entries.reserve(count);
        let mut least = 0;
        for _ in 0..count {
            let entry = self.entry()?;
            if entry.owner.slot < least || entry.granted > entry.standing.waiting() {
                return None;
            }
            least = entry.owner.slot.checked_add(1)?;
            record.entries.push(entry);
        }
        Some(record)
    }

    fn entry(&mut self) -> Option<Entry> {
        let slot = self.u16()?;
        let stalled = self.u16()? != 0;
        let generation = self.u32()?;
        let [running, fresh, ready, held, granted] = [
            self.u32()?,
            self.u32()?,
            self.u32()?,
            self.u32()?,
            self.u32()?,
        ];
        Some(Entry {
            owner: Owner { slot, generation },
            stalled,
            granted,
            granted_at: Time(self.u64()?),
            standing: Standing {
                running,
                fresh,
                ready,
                held,
                head: Key(self.u64()?),
            },
        })
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn sample() -> Record {
        let mut record = Record::new(
            1 << 100,
            42,
            Setting {
                hash: 7,
                cap: 8,
                max_waiting: 1000,
            },
        );
        record.newest_connection = 12;
        record.reserved[3] = 9;
        for slot in [5, 2] {
            let mut entry = Entry::new(Owner {
                slot,
                generation: 3,
            });
            entry.standing = Standing {
                running: 1,
                fresh: 2,
                ready: 3,
                held: 4,
                head: Key(99),
            };
            entry.granted = 2;
            entry.granted_at = Time(77);
            entry.stalled = slot == 2;
            record.put_entry(entry);
        }
        record
    }

    #[test]
    fn a_record_survives_storage_whole() {
        let record = sample();
        let bytes = record.encode();
        assert_eq!(bytes.len(), HEADER + 2 * ENTRY);
        assert_eq!(Record::decode(&bytes), Ok(record));
    }

    #[test]
    fn entries_are_kept_by_slot_and_empty_ones_are_not_kept() {
        let mut record = sample();
        let slots: Vec<u16> = record
            .entries
            .iter()
            .map(|entry| entry.owner.slot)
            .collect();
        assert_eq!(slots, [2, 5]);
        let owner = record
            .take_entry(Owner {
                slot: 2,
                generation: 3,
            })
            .owner;
        record.put_entry(Entry::new(owner));
        assert_eq!(record.entries.len(), 1);
    }

    #[test]
    fn cut_padded_and_foreign_bytes_are_told_apart() {
        let bytes = sample().encode();
        for cut in 0..bytes.len() {
            assert_eq!(
                Record::decode(&bytes[..cut]),
                Err(DecodeError::Damaged { bytes: cut })
            );
        }
        let mut padded = bytes.clone();
        padded.push(0);
        assert!(matches!(
            Record::decode(&padded),
            Err(DecodeError::Damaged { .. })
        ));
        let mut foreign = bytes;
        foreign[0] = 200;
        assert_eq!(
            Record::decode(&foreign),
            Err(DecodeError::Layout { found: 200 })
        );
    }
}
