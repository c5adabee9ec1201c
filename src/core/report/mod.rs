//! What the operator is told: stats, and a line in the log where a decision needs a reason.

pub mod gauges;
pub mod log_line;
pub mod stats;
