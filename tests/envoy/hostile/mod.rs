//! Clients, providers and surroundings at their worst: whatever they do, no call hangs, no slot
//! stays behind, and neither a VM nor the process dies.

mod answers;
mod chain;
mod many;
mod storm;
mod timers;
