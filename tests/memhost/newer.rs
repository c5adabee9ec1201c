//! A VM with newer code, as the records show it: it keeps a section of its own in them.

/// The section's tag, unknown to this code.
const TAG: u16 = 0x7fff;
/// Tag, length, and the number of the write.
const SIZE: usize = 2 + 2 + 8;

/// Which VM it is, if any, and what it does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newer {
    pub(crate) vm: Option<usize>,
    /// Writes so far.
    pub(crate) writes: u64,
    /// Reads of a record in which its section was.
    pub(crate) found: u64,
    /// Reads of a record in which it was not.
    pub(crate) missed: u64,
}

impl Newer {
    /// What the VM makes of a value that it reads.
    pub(super) fn load(&mut self, vm: usize, key: &str, bytes: Vec<u8>) -> Vec<u8> {
        if !self.is_about(vm, key, &bytes) {
            return bytes;
        }
        match bytes.split_last_chunk::<SIZE>() {
            Some((rest, section)) if section[..2] == TAG.to_le_bytes() => {
                self.found += 1;
                rest.to_vec()
            }
            _ => {
                self.missed += 1;
                bytes
            }
        }
    }

    /// What the VM makes of a value that it writes.
    pub(super) fn store(&mut self, vm: usize, key: &str, bytes: &[u8]) -> Vec<u8> {
        let mut all = bytes.to_vec();
        if self.is_about(vm, key, bytes) {
            self.writes += 1;
            all.extend_from_slice(&TAG.to_le_bytes());
            all.extend_from_slice(&8_u16.to_le_bytes());
            all.extend_from_slice(&self.writes.to_le_bytes());
        }
        all
    }

    fn is_about(&self, vm: usize, key: &str, bytes: &[u8]) -> bool {
        let is_record = key.starts_with("weir.gate.") && bytes != weir::core::gate::table::VACANT;
        self.vm == Some(vm) && is_record
    }
}
