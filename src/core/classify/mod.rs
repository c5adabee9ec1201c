//! What a provider's answer says: is it a refusal, of which class, and when may one come back.

mod class;

pub use class::Class;
