//! The pure core. Its folders follow a call through its life:
//!
//! 1. [`config`]: JSON into policies that cannot be wrong, and which policy a call falls under;
//! 2. [`gate`]: the state all workers share for one key, changed by one pure function per event;
//! 3. [`wait`]: this worker's own queue in front of a gate;
//! 4. [`classify`]: what a provider's answer says;
//! 5. [`retry`]: when, or whether, to try again;
//! 6. [`answer`]: what the client is told;
//! 7. [`report`]: what the operator is told.

pub mod answer;
pub mod classify;
pub mod config;
pub mod fnv;
pub mod retry;
pub mod time;
