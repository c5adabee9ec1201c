//! The process's own hash, by which credentials are told apart without being kept.
//!
//! SipHash-2-4 under a key that is drawn once per process and lies in shared data. Who knows a hash
//! but not the key can neither find the value nor make another one with the same hash.

use std::fmt;
use std::hash::Hasher;

use siphasher::{sip, sip128};

use crate::port::{Expect, Host, HostError, Stored};

/// The key of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// The name of the key in shared data.
    pub const NAME: &'static str = "weir.secret";

    /// The key of this process; drawn now if nobody did so before.
    ///
    /// # Errors
    /// If shared data cannot be used, holds no key under this name, or there is no entropy.
    pub fn of_process(host: &impl Host) -> Result<Secret, HostError> {
        if host.shared_get(Secret::NAME)? == Stored::Absent {
            match host.shared_set(Secret::NAME, &host.entropy()?, Expect::New) {
                // Another VM drew one: that one counts.
                Ok(()) | Err(HostError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        match host.shared_get(Secret::NAME)? {
            Stored::Present { bytes, .. } => {
                let key = bytes.try_into().map_err(|_| HostError::Refused)?;
                Ok(Secret(key))
            }
            Stored::Absent => Err(HostError::Refused),
        }
    }

    /// Stands for `bytes` where two values must never be taken for one.
    pub fn wide(&self, bytes: &[u8]) -> u128 {
        let hash = sip128::SipHasher24::new_with_key(&self.0).hash(bytes);
        hash.as_u128()
    }

    /// Stands for `bytes` where an accident would be bearable: who shares a queue fairly.
    pub fn narrow(&self, bytes: &[u8]) -> u64 {
        let mut hasher = sip::SipHasher24::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl From<[u8; 16]> for Secret {
    fn from(key: [u8; 16]) -> Secret {
        Secret(key)
    }
}

/// The key is nobody's business.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// The key and the message of the paper's appendix: 0, 1, 2 and so on.
    fn count(to: u8) -> Vec<u8> {
        (0..to).collect()
    }

    #[test]
    fn published_vectors() {
        let secret = Secret(count(16).try_into().unwrap());
        assert_eq!(secret.narrow(&count(15)), 0xa129_ca61_49be_45e5);
        assert_eq!(secret.narrow(b""), 0x726f_db47_dd0e_0e31);
        let bytes = 0xa3_81_7f_04_ba_25_a8_e6_6d_f6_72_14_c7_55_02_93_u128;
        assert_eq!(secret.wide(b""), u128::from_le_bytes(bytes.to_be_bytes()));
    }

    #[test]
    fn another_process_has_other_hashes() {
        let [one, two] = [1, 2].map(|byte| Secret([byte; 16]));
        assert_ne!(one.wide(b"a"), two.wide(b"a"));
        assert_ne!(one.narrow(b"a"), two.narrow(b"a"));
        assert_eq!(format!("{one:?}"), "Secret");
    }
}
