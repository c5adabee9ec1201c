//! The laws of a call's life, at exact virtual times, on the real core in a host in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

mod avoided;
mod bounds;
mod budget;
mod cap;
mod cost;
mod death;
mod degraded;
mod delay;
mod draws;
mod evict;
mod failover;
mod halves;
mod headroom;
mod keys;
mod learn;
mod leave;
#[path = "../memhost/mod.rs"]
mod memhost;
mod newer;
mod order;
mod pace;
mod patience;
mod recovery;
mod refused;
mod reload;
mod repeats;
mod server_queue;
mod shadow;
mod share;
mod stats;
mod successes;
mod uploads;
