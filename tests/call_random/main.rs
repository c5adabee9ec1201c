//! L14, and L1 to L5, L9 after every step of anything that clients, providers, Envoy and shared data
//! may do, in any order.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

#[path = "../memhost/mod.rs"]
mod memhost;
mod ops;
mod troubles;
mod world;

/// Runs of each test; `WEIR_PROVE=1` takes minutes.
fn cases() -> u32 {
    match std::env::var_os("WEIR_PROVE") {
        Some(_) => 5000,
        None => 100,
    }
}
