//! This worker's own queues in front of the gates, and its side of the protocol.
//!
//! - [`line`]: its calls in one gate, in order.
//! - [`member`]: the events it sends to that gate, and what the results mean for the line.
//! - [`gates`]: all its gates, and the way to their shared records.
//! - `undecided`: which of its attempts may yet be refused.
//! - `timetable`: which of them wait for a time.
//! - [`roster`]: which gates it knows; `find`: where a key's gate is, or is made; [`registry`]: what
//!   is where.
//! - [`post`]: its worker slot, and how workers wake each other.
//! - [`watch`]: which workers live; [`sweep`]: what becomes of what the dead had.
//! - [`turn`]: chores that one VM does for all.

mod find;
pub mod gates;
pub mod line;
pub mod member;
pub mod post;
pub mod registry;
pub mod roster;
pub mod sweep;
mod timetable;
pub mod turn;
mod undecided;
pub mod watch;

pub use gates::Gates;
pub use line::{CallId, Kind, Line, Waiter};
pub use member::{Member, Settled};
pub use roster::GateId;
