//! The shared state of one key, and the only ways it may change.
//!
//! - [`record`]: what is stored; [`codec`]: byte for byte.
//! - [`apply`]: `(record, event, now) -> (record, effects)`, the one function that changes it.
//! - [`grant`]: who gets a free slot.
//! - [`order`]: who comes before whom.
//! - [`bucket`] and [`ramp`]: how fast calls may start; [`learn`] and [`adaptive_cap`]: what refusals
//!   teach about that, with what [`meter`] counts; [`speed`]: all of it together.
//! - [`recovery`]: what it does after a refusal; [`pause`]: for how long it is shut.
//! - [`headroom`]: what the provider says is left.
//! - [`holding`] and [`estimate`]: how long a call will wait.
//! - [`exchange`]: read, apply, write if nobody else wrote, wake: one step at a time.
//! - [`table`]: where in shared data a key's record lies.
//! - [`owner`]: what a worker is called in a record.
//! - [`reap`]: what becomes of a worker's part when the worker is given up, or moves.

pub mod adaptive_cap;
pub mod apply;
pub mod bucket;
pub mod codec;
pub mod estimate;
pub mod exchange;
pub mod grant;
pub mod headroom;
pub mod holding;
pub mod learn;
pub mod meter;
pub mod order;
pub mod owner;
pub mod pause;
pub mod ramp;
pub mod reap;
pub mod record;
pub mod recovery;
pub mod speed;
pub mod table;

pub use apply::{Arrival, Change, Event, Fenced, Keeps, Outcome, Refuse, Why, apply};
pub use bucket::Pace;
pub use order::{Key, Order};
pub use owner::Owner;
pub use pause::Refusal;
pub use reap::Fences;
pub use record::{Entry, Record, Setting, Standing, Statement, Tally};
pub use recovery::{Pause, Sight, Undecided};
