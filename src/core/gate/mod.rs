//! The shared state of one key, and the only ways it may change.
//!
//! - [`record`]: what is stored; [`codec`]: byte for byte.
//! - [`apply`]: `(record, event, now) -> (record, effects)`, the one function that changes it.
//! - [`grant`]: who gets a free slot.
//! - [`order`]: who comes before whom.
//! - [`bucket`] and [`ramp`]: how fast calls may start.
//! - [`allowance`]: how many retries.
//! - [`holding`] and [`estimate`]: how long a call will wait.
//! - [`exchange`]: read, apply, write if nobody else wrote, wake: one step at a time.
//! - [`table`]: where in shared data a key's record lies.
//! - [`owner`]: what a worker is called in a record.
//! - [`reap`]: what becomes of a worker's part when the worker is given up, or moves.

pub mod allowance;
pub mod apply;
pub mod bucket;
pub mod codec;
pub mod estimate;
pub mod exchange;
pub mod grant;
pub mod holding;
pub mod order;
pub mod owner;
pub mod ramp;
pub mod reap;
pub mod record;
pub mod table;

pub use allowance::Allowance;
pub use apply::{Arrival, Change, Event, Fenced, Hold, Outcome, Refuse, Why, apply};
pub use bucket::Pace;
pub use order::{Key, Order};
pub use owner::Owner;
pub use reap::Fences;
pub use record::{Entry, Record, Setting, Standing, Statement, Tally};
