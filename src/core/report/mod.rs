//! What the operator is told: stats, and a line in the log where a decision needs a reason.

mod avoided;
pub mod gauges;
mod log_budget;
mod log_line;
mod names;
pub mod stats;

pub use avoided::Avoided;
pub use log_budget::LogBudget;
pub use log_line::{Event, LogLine};
pub use names::Names;
