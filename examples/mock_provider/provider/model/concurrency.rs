//! At most so many calls at once.

use super::Refusal;

/// A cap on running calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Concurrency(pub(crate) usize);

impl Concurrency {
    pub(crate) fn check(self, running: usize) -> Result<(), Refusal> {
        if running < self.0 {
            Ok(())
        } else {
            Err(Refusal::Concurrency { limit: self.0 })
        }
    }
}
