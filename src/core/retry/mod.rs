//! When, or whether, to try again after a refusal.
//!
//! - [`Backoff`] draws how long a call waits: jitter that decorrelates calls refused together and
//!   lies above the provider's minimum.
//! - [`decide`] weighs that wait against what the call may still do.
//! - [`uniform`] is the one way in which a random number becomes a span.

mod delay;
mod plan;
mod uniform;

pub use delay::{Backoff, Delay};
pub use plan::{GiveUp, MaxAttempts, Plan, Situation, decide};
pub use uniform::uniform;
