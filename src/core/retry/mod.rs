//! When, or whether, to try again after a refusal.
//!
//! - [`Backoff`] draws how long a call waits: jitter that decorrelates calls refused together and
//!   lies above the provider's minimum.
//! - [`decide`] weighs that wait against what the call may still do.

mod delay;
mod plan;

pub use delay::{Backoff, Delay};
pub use plan::{GiveUp, MaxAttempts, Plan, Situation, decide};
