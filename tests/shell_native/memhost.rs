//! The Envoy of `tests/memhost`, around VMs that run the real shell.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test crate uses its own part, and a failed helper is a failed test"
)]

#[path = "../memhost/call.rs"]
pub(crate) mod call;
#[path = "../memhost/calls.rs"]
pub(crate) mod calls;
#[path = "../memhost/clock.rs"]
pub(crate) mod clock;
#[path = "../memhost/death.rs"]
pub(crate) mod death;
#[path = "../memhost/downstream.rs"]
pub(crate) mod downstream;
#[path = "../memhost/host.rs"]
pub(crate) mod host;
#[path = "../memhost/memory.rs"]
pub(crate) mod memory;
#[path = "../memhost/newer.rs"]
pub(crate) mod newer;
#[path = "../memhost/router.rs"]
pub(crate) mod router;
#[path = "../memhost/sim.rs"]
pub(crate) mod sim;
#[path = "../memhost/vm.rs"]
pub(crate) mod vm;
#[path = "../memhost/watch.rs"]
pub(crate) mod watch;

pub(crate) use crate::seat;
pub(crate) use call::{Ask, Reply, State};
pub(crate) use host::MemHost;
pub(crate) use memory::Memory;
pub(crate) use sim::Sim;
pub(crate) use vm::Vm;
