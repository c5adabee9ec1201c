//! This worker's own queues in front of the gates, and its side of the protocol.
//!
//! - [`line`]: its calls in one gate, in order.
//! - [`member`]: the events it sends to that gate, and what the results mean for the line.
//! - [`gates`]: all its gates, and the way to their shared records.
//! - `timetable`: which of them wait for a time.
//! - [`registry`]: where a key's gate is.
//! - [`post`]: its worker slot, and how workers wake each other.

pub mod gates;
pub mod line;
pub mod member;
pub mod post;
pub mod registry;
mod timetable;

pub use gates::Gates;
pub use line::{CallId, Kind, Line};
pub use member::{Member, Settled};
