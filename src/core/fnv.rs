//! FNV-1a: a hash that is the same in every build and on every worker.
//!
//! For identities and change detection. It resists accidents, not attackers: nothing secret and
//! nothing an attacker may choose freely is told apart by it alone.
//!
//! Source: Fowler, Noll and Vo; parameters as in draft-eastlake-fnv.

/// FNV-1a over 64 bits.
pub fn fnv64(bytes: &[u8]) -> u64 {
    let mut hash = Fnv64::default();
    hash.write(bytes);
    hash.0
}

/// The same of bytes that come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv64(
    /// The hash of what has come so far.
    pub u64,
);

impl Fnv64 {
    /// More bytes come.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME_64);
        }
    }
}

impl Default for Fnv64 {
    fn default() -> Fnv64 {
        Fnv64(OFFSET_64)
    }
}

/// FNV-1a over 128 bits: wide enough to stand for a key without keeping the key.
pub fn fnv128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(OFFSET_128, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(PRIME_128)
    })
}

const OFFSET_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_64: u64 = (1 << 40) + 0x1b3;
const OFFSET_128: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME_128: u128 = (1 << 88) + 0x13b;

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn published_vectors() {
        assert_eq!(fnv64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv64(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv128(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(fnv128(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
