//! This worker's own queue in front of a gate, and its side of the protocol.

pub mod line;
pub mod member;

pub use line::{CallId, Kind, Line};
pub use member::{Member, Settled};
