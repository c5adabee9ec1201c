//! What a provider's answer says: is it a refusal, of which class, and when may one come back.
//!
//! [`classify()`] is one pure function. The strongest evidence decides, because providers reuse
//! generic statuses and types for several classes:
//!
//! 1. exact burst codes and phrases, before anything that mentions a quota (`burst`);
//! 2. the exact overload type;
//! 3. exact quota codes and phrases, less the vendors who use them for limits per minute (`quota`);
//! 4. the status.

mod answer;
mod burst;
mod class;
mod look;
mod provider;
mod quota;
mod rule;
mod rules;
mod said;
mod verdict;
mod wait;

pub use answer::Answer;
pub use class::Class;
pub use look::{Look, judge_event, looks_into_success, next_event};
pub use provider::{NAMES as PROVIDER_NAMES, Provider};
pub use rule::{Conditions, MAX_DEPTH, MAX_TEXT, Rule, RuleError};
pub use rules::{classify, is_refusal_status, may_refuse};
pub use verdict::{Confidence, Evidence, Scope, StatedLimits, Verdict, What};
