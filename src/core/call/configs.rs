//! Which of the configurations that run side by side is the newer one (law L6).
//!
//! Envoy keeps old listeners for the streams they have, changes the configuration under a connection
//! that stays open, goes back to an earlier one without a word, and sets a VM that died up again
//! with all of them in any order. So no single sign is enough. What is known for sure is told here;
//! the rest is left to the connection's number.

use crate::core::ordered::OrderedMap;
use crate::port::{Expect, Host, HostError, Stored};

/// Configurations of the process in the order in which they were first seen, by hash.
const NAME: &str = "weir.configs";

/// How many are remembered. One that was forgotten counts as new when it comes back.
const KNOWN: usize = 128;

/// Connections remembered, the highest numbers.
const CONNECTIONS: usize = 4096;

/// How often a write that others beat is tried.
const TRIES: u32 = 8;

/// What a VM knows of configurations.
#[derive(Debug, Default)]
pub(super) struct Configs {
    /// What the process had seen before this VM came up: if a VM has died, what is set up in the next
    /// one is not news.
    before: Option<Vec<u64>>,
    seen: Vec<u64>,
    /// The last one that was news, and the highest connection seen before.
    latest: Option<(u64, u64)>,
    /// Under which configuration a connection was last served.
    served: OrderedMap<u64, u64>,
}

/// What a connection says about the configuration of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is newer than what is in force.
    Newer,
    /// It is older.
    Older,
    /// Nothing but its number.
    Open,
}

impl Configs {
    /// A configuration is set up in this VM, which has seen connections up to `connection`. Whether
    /// the process sees it for the first time.
    pub(super) fn is_news(&mut self, host: &impl Host, hash: u64, connection: u64) -> bool {
        let before = self.before.get_or_insert_with(|| known(host).0);
        let was_known = before.contains(&hash);
        if self.seen.len() >= KNOWN {
            self.seen.clear();
        }
        if self.seen.contains(&hash) {
            return false;
        }
        self.seen.push(hash);
        remember(host, hash);
        if !was_known {
            self.latest = Some((hash, connection));
        }
        !was_known
    }

    /// A call comes over `connection` under a configuration.
    pub(super) fn sign(&mut self, hash: u64, connection: u64) -> Sign {
        let last = self.served.insert(connection, hash);
        if self.served.len() > CONNECTIONS {
            self.served.pop_first();
        }
        if last.is_some_and(|last| last != hash) {
            return Sign::Newer;
        }
        match self.latest {
            Some((latest, seen)) if latest != hash && connection <= seen => Sign::Older,
            _ => Sign::Open,
        }
    }
}

/// The configurations that the process has seen, and the write they come from.
fn known(host: &impl Host) -> (Vec<u64>, Option<(Vec<u8>, Expect)>) {
    let (bytes, expect) = match host.shared_get(NAME) {
        Ok(Stored::Present { bytes, cas }) => (bytes, Expect::Same(cas)),
        Ok(Stored::Absent) => (Vec::new(), Expect::New),
        Err(_) => return (Vec::new(), None),
    };
    let (hashes, _) = bytes.as_chunks::<8>();
    let hashes = hashes
        .iter()
        .map(|hash| u64::from_le_bytes(*hash))
        .collect();
    (hashes, Some((bytes, expect)))
}

/// Adds a configuration to those that the process has seen. If it cannot be written, a VM that comes
/// up after a death may take it for news.
fn remember(host: &impl Host, hash: u64) {
    for _ in 0..TRIES {
        let (hashes, Some((mut bytes, expect))) = known(host) else {
            return;
        };
        if hashes.contains(&hash) {
            return;
        }
        bytes.extend_from_slice(&hash.to_le_bytes());
        let from = bytes.len().saturating_sub(KNOWN * 8);
        let kept = bytes.get(from..).unwrap_or_default();
        match host.shared_set(NAME, kept, expect) {
            Err(HostError::Conflict) => {}
            Ok(()) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// L15: what is known of connections is bounded; the oldest are forgotten.
    #[test]
    fn l15_connections_with_the_highest_numbers_are_remembered() {
        let mut configs = Configs::default();
        let last = CONNECTIONS as u64;
        for connection in 0..=last {
            assert_eq!(configs.sign(1, connection), Sign::Open);
        }
        assert_eq!(configs.served.len(), CONNECTIONS);
        assert_eq!(configs.sign(2, 0), Sign::Open, "it is forgotten");
        assert_eq!(configs.sign(2, 1), Sign::Newer);
        assert_eq!(configs.sign(2, last), Sign::Newer);
        assert_eq!(configs.served.len(), CONNECTIONS);
    }
}
