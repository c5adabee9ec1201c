//! The provider profiles by name.

use std::fmt;
use std::num::NonZeroU32;

pub use super::profiles::NAMES;

/// A provider profile: whose dialect of refusals to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Provider(&'static str);

impl Provider {
    /// No profile: recognise the provider by its host and its answers.
    pub const AUTO: Provider = Provider("auto");

    /// The profile called `name`.
    pub fn named(name: &str) -> Option<Provider> {
        let place = NAMES.binary_search(&name).ok()?;
        NAMES.get(place).map(|known| Provider(known))
    }

    /// The name in configurations and logs.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether it can be asked to let a call wait at its side, in place of refusing it.
    pub fn can_queue(self) -> bool {
        self.0 == "dashscope"
    }

    /// How many concurrent calls a server of this kind is known to work on at a time, used where
    /// a policy does not say. None: no such number, so no cap.
    pub fn declared_concurrency(self) -> Option<NonZeroU32> {
        NonZeroU32::new(super::classify::declared_concurrency(self.0).into())
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn names_are_sorted_unique_and_found() {
        assert!(NAMES.is_sorted_by(|left, right| left < right));
        for name in NAMES {
            assert_eq!(Provider::named(name).map(Provider::name), Some(*name));
        }
        assert_eq!(Provider::named("auto"), Some(Provider::AUTO));
    }

    #[test]
    fn only_single_machine_servers_declare_a_concurrency() {
        let declared: Vec<(&str, u32)> = NAMES
            .iter()
            .filter_map(|name| Some((*name, Provider(name).declared_concurrency()?.get())))
            .collect();
        assert_eq!(declared, [("llama-cpp", 2), ("ollama", 1), ("whisperx", 1)]);
    }
}
