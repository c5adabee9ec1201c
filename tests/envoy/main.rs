//! What Weir does in a real Envoy. One crate, so that it is linked once; a file a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]
#![allow(
    clippy::duplicate_mod,
    reason = "demo and simulator each bring the provider's limits"
)]

#[path = "../../examples/demo/app/mod.rs"]
#[allow(dead_code, reason = "the tests use their own part of the demo")]
mod app;
#[path = "../support/sim/mod.rs"]
mod sim;
#[path = "../support/mod.rs"]
mod support;

mod alone;
mod bounds;
mod budgets;
mod cliffs;
mod config;
mod death;
mod demo;
mod examples;
mod failover;
mod gate;
mod harness;
mod headroom;
mod hostile;
mod keys;
mod leave;
mod order;
mod pause;
mod practice;
mod queue;
mod refusal_bodies;
mod reload;
mod retry;
mod run;
mod server_queue;
mod shipped_configs;
mod success_errors;
mod throttles;
mod unretryable;
mod updates;
mod uploads;
mod wire;
