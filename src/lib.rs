//! Weir: a proxy-wasm filter for Envoy that keeps LLM providers from refusing bursts.
//!
//! - [`core`]: every decision, pure. Time, random numbers and stored bytes come in as arguments.
//! - [`port`]: the one trait between the core and whatever hosts it.
//! - `shell` (feature `plugin`): the same trait over proxy-wasm host calls, and nothing else.

pub mod core;
pub mod port;
#[cfg(feature = "plugin")]
mod shell;
