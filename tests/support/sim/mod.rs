//! The simulator: calls, what protects a provider from them, and the provider, on a virtual clock.
//! Same seed, same bytes out.
//!
//! - [`world`]: one run. [`agenda`] is its clock, [`draw`] its chance, [`tally`] what it counts,
//!   [`timeline`] when.
//! - [`clients`], [`crowd`], [`load`], [`agents`], [`trace`], [`service`]: the calls. [`clairvoyant`]: what could be made of them.
//! - [`models`], [`provider`], [`words`]: the provider, from a file; [`input`] reads files.
//! - [`peer`]: what stands between. [`none`]: nothing; [`weir`]: the real core in many Envoys;
//!   [`peers`]: the alternatives.
//! - [`cell`], [`options`]: the command.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each user takes its own part, and a broken rule of the simulator ends the run"
)]

pub(crate) mod agenda;
pub(crate) mod agents;
pub(crate) mod cell;
pub(crate) mod clairvoyant;
pub(crate) mod clients;
pub(crate) mod crowd;
pub(crate) mod draw;
pub(crate) mod input;
pub(crate) mod load;
#[path = "../../memhost/mod.rs"]
pub(crate) mod memhost;
#[path = "../../../examples/mock_provider/provider/model/mod.rs"]
pub(crate) mod model;
pub(crate) mod models;
pub(crate) mod none;
pub(crate) mod options;
pub(crate) mod peer;
pub(crate) mod peers;
pub(crate) mod provider;
pub(crate) mod service;
pub(crate) mod tally;
pub(crate) mod timeline;
pub(crate) mod trace;
pub(crate) mod weir;
pub(crate) mod words;
pub(crate) mod world;
