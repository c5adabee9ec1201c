//! What is a matter of times: these run one by one and after the rest, with the machine to themselves.

mod learn;
mod pace;
