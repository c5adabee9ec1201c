//! The laws of a call's life, at exact virtual times, on the real core in a host in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

mod bounds;
mod cap;
mod degraded;
mod delay;
mod halves;
mod leave;
#[path = "../memhost/mod.rs"]
mod memhost;
mod order;
mod refused;
mod reload;
mod stats;
mod successes;
mod uploads;
