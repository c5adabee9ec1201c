//! What the client is told: Weir's own refusals, and the headers of every answer.

mod headers;
mod refusal;
mod retry_after;

pub use headers::{Edit, Finished, edits};
pub use refusal::{Refusal, Refused, Reply};
