//! The classifier against answers of real providers, and against anything at all.

#![allow(
    clippy::unwrap_used,
    reason = "a broken test file has to stop the test"
)]

mod cases;
mod corpus;
mod properties;
