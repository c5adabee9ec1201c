//! What the tests on a real Envoy share: the process and its configuration, a scripted provider
//! and clients. Everything takes free ports and its own folder, so tests run side by side.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test crate uses its own part, and a failed helper is a failed test"
)]

pub(crate) mod bootstrap;
pub(crate) mod client;
pub(crate) mod conn;
pub(crate) mod envoy;
pub(crate) mod gate;
pub(crate) mod lane;
mod outgoing;
pub(crate) mod parts;
pub(crate) mod provider;
mod provider_seen;
pub(crate) mod raw;
pub(crate) mod reply;
pub(crate) mod shipped;
pub(crate) mod stats;
pub(crate) mod streams;
pub(crate) mod trace;
pub(crate) mod weir;
pub(crate) mod wire;

pub(crate) use bootstrap::Bootstrap;
pub(crate) use client::{Answer, Call, answers};
pub(crate) use conn::Conn;
pub(crate) use envoy::Envoy;
pub(crate) use gate::Gate;
pub(crate) use lane::Lane;
pub(crate) use provider::{Provider, Seen};
pub(crate) use reply::Reply;
pub(crate) use wire::{Peer, Wire};
