//! The shared state of one key, and the only ways it may change.
//!
//! - [`record`]: what is stored; [`codec`]: byte for byte.
//! - [`apply`]: `(record, event, now) -> (record, effects)`, the one function that changes it.
//! - [`grant`]: who gets a free slot.
//! - [`exchange`]: read, apply, write if nobody else wrote, wake: one step at a time.
//! - [`table`]: where in shared data a key's record lies.
//! - [`owner`]: what a worker is called in a record.
//! - [`reap`]: what becomes of a worker's part when the worker is given up, or moves.

pub mod apply;
pub mod codec;
pub mod exchange;
pub mod grant;
pub mod owner;
pub mod reap;
pub mod record;
pub mod table;

pub use apply::{Change, Event, Fenced, Outcome, apply};
pub use owner::Owner;
pub use reap::Fences;
pub use record::{Entry, Key, Record, Setting, Standing};
