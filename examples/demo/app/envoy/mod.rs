//! The Envoy in the middle: one process, one listener and one cluster per path.

mod config;
mod native;
mod process;
mod upstream;

pub(crate) use config::{Front, Setup, weir_config};
pub(crate) use native::retry_policy;
pub(crate) use process::{Envoy, wasm};
pub(crate) use upstream::Upstream;
