//! What the operator is told.

mod log_line;

pub use log_line::{Event, LogLine};
