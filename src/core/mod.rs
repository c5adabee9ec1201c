//! The pure core: no proxy-wasm, no clock, no randomness, no log. What it needs from outside comes
//! in as arguments or through [`crate::port`]; what it decides goes out as values.
//!
//! [`call`] is the life of a request and uses the rest:
//!
//! - [`config`]: JSON into policies that cannot be wrong, and which policy a call falls under;
//! - [`wait`]: this worker's own queue in front of each gate;
//! - [`gate`]: the state all workers share for one key, changed by one pure function per event;
//! - [`classify`]: what a provider's answer says;
//! - [`retry`]: when, or whether, to try again;
//! - [`secret`]: the hash that stands for credentials;
//! - [`answer`]: what the client is told;
//! - [`report`]: what the operator is told.

pub mod answer;
pub mod call;
pub mod classify;
pub mod config;
pub mod fnv;
pub mod gate;
mod json;
pub mod ordered;
pub mod report;
pub mod retry;
pub mod secret;
pub mod time;
pub mod wait;
