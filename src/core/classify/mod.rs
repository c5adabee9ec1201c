//! What a provider's answer says: is it a refusal, of which class, and when may one come back.
//!
//! [`classify()`] is one pure function, and a story in steps:
//!
//! 1. `decode`: bytes of the wire to bytes of a document; `frames`: streams to documents.
//! 2. `facts`: what a document says where errors stand (`scan` walks over its JSON); `words` and
//!    `numbers`: what its messages say.
//! 3. `detect`: whose answer it is.
//! 4. `decide`: the class, strongest evidence first, by the tables of `profiles`.
//! 5. `wait`: when one may come back.
//!
//! A [`Rule`] of the user comes before all that. [`judge_event()`] looks for refusals in a success.

mod answer;
mod class;
#[allow(
    clippy::module_inception,
    reason = "it is the one thing the module does"
)]
mod classify;
mod decide;
mod decode;
mod detect;
mod facts;
mod frames;
mod inflate;
mod look;
mod numbers;
mod profiles;
mod provider;
mod rule;
mod scan;
mod status;
mod verdict;
mod wait;
mod words;

pub use answer::Answer;
pub use class::Class;
pub use classify::{classify, looks_into_success};
pub use frames::next_event;
pub use look::{Look, judge_event};
pub use provider::{NAMES as PROVIDER_NAMES, Provider};
pub use rule::{Conditions, MAX_DEPTH, MAX_TEXT, Rule, RuleError};
pub use status::{is_refusal_status, may_refuse};
pub use verdict::{Confidence, Evidence, Scope, Stated, StatedLimits, Unit, Verdict, What};
pub use wait::{Headroom, headroom};
