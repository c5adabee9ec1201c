//! A VM with newer code, as the records show it: it keeps a section of its own in them.

/// The section's tag, unknown to this code.
const TAG: u16 = 0x7fff;
/// Tag, length, and a count of writes.
const SIZE: usize = 2 + 2 + 8;

/// Whether a value is a gate's record.
pub(super) fn is_record(key: &str, bytes: &[u8]) -> bool {
    key.starts_with("weir.gate.") && bytes != weir::core::gate::table::VACANT
}

/// A record as newer code stores it.
pub(super) fn store(bytes: &[u8], count: u64) -> Vec<u8> {
    let mut all = bytes.to_vec();
    all.extend_from_slice(&TAG.to_le_bytes());
    all.extend_from_slice(&8_u16.to_le_bytes());
    all.extend_from_slice(&count.to_le_bytes());
    all
}

/// The record without what newer code added, and that.
pub(crate) fn load(bytes: &[u8]) -> (Vec<u8>, Option<u64>) {
    if let Some((rest, section)) = bytes.split_last_chunk::<SIZE>()
        && section[..2] == TAG.to_le_bytes()
    {
        let count = u64::from_le_bytes(section[4..].try_into().unwrap());
        return (rest.to_vec(), Some(count));
    }
    (bytes.to_vec(), None)
}
