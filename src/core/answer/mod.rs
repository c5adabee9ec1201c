//! What the client is told: Weir's own refusals, and the headers of every answer.

mod edit;
mod headers;
mod refusal;
mod retry_after;

pub use edit::{Edit, remove_marks};
pub use headers::{Finished, edits};
pub use refusal::{Refusal, Refused, Reply};
