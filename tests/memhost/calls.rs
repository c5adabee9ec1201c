//! Host calls by name: how often each was made, and which of them fail.

use std::collections::BTreeMap;

use super::memory::Random;

/// The host calls of one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// How often each was made.
    pub(crate) made: BTreeMap<&'static str, u64>,
    /// How often each failed on demand.
    pub(crate) failed: BTreeMap<&'static str, u64>,
    pub(crate) failing: Failing,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Failing {
    #[default]
    None,
    /// The n-th call of this name from now on, counted from 1.
    Nth(&'static str, u64),
    /// Every call of this name.
    All(&'static str),
    /// One in so many of all that can fail.
    OneIn(u64, Random),
}

impl Calls {
    /// A call is made. Whether it fails, given that it can.
    pub(crate) fn make(&mut self, name: &'static str, can_fail: bool) -> bool {
        *self.made.entry(name).or_default() += 1;
        let fails = can_fail
            && match &mut self.failing {
                Failing::None => false,
                Failing::All(all) => *all == name,
                Failing::OneIn(n, random) => random.draw().is_multiple_of(*n),
                Failing::Nth(nth, left) if *nth == name => {
                    *left = left.saturating_sub(1);
                    let is_it = *left == 0;
                    if is_it {
                        self.failing = Failing::None;
                    }
                    is_it
                }
                Failing::Nth(..) => false,
            };
        if fails {
            *self.failed.entry(name).or_default() += 1;
        }
        fails
    }
}
