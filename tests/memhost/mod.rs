//! A host in memory and an Envoy around it, so that the real core can be asked about any order of
//! events at exact times. One thread, no clock, no sockets: a test that fails once fails always.
//!
//! - [`memory`]: what all VMs of a process share; [`calls`]: which host calls fail.
//! - [`host`]: [`weir::port::Host`] over it.
//! - [`vm`]: what Envoy asks of one VM; [`seat`]: a worker thread that answers with the core.
//! - [`sim`]: one process, and what a test may ask of it.
//! - [`downstream`]: calls arrive, are answered and end.
//! - [`router`]: what Envoy's router does with attempts and their answers.
//! - [`death`]: VMs that die.
//! - [`clock`]: wake-ups and ticks, and the streams that Weir resumes.
//! - [`call`]: what the test knows of one call.
//! - [`newer`]: a VM with newer code.
//! - [`watch`]: the laws that hold after every step.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test crate uses its own part, and a failed helper is a failed test"
)]

pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod clock;
pub(crate) mod death;
pub(crate) mod downstream;
pub(crate) mod host;
pub(crate) mod memory;
pub(crate) mod newer;
pub(crate) mod router;
pub(crate) mod seat;
pub(crate) mod sim;
pub(crate) mod vm;
pub(crate) mod watch;

pub(crate) use call::{Ask, Reply, State};
pub(crate) use host::MemHost;
pub(crate) use memory::Memory;
pub(crate) use sim::Sim;
pub(crate) use vm::Vm;
