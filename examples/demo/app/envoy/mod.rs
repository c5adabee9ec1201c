//! The Envoy in the middle: one process, one listener and one cluster per path.

mod config;
mod process;
mod upstream;

pub(crate) use config::{Front, Setup, retry_policy, weir_config};
pub(crate) use process::{Envoy, wasm};
pub(crate) use upstream::Upstream;
