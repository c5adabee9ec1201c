//! What is left of a VM that died, and of one that only seemed to have.
//!
//! - [`dies`]: in every state of its calls, and at every host call.
//! - [`lives`]: a worker that was too slow, and a process that was stopped.
//! - [`slots`]: worker slots and their queues are used again.
//! - [`sweeps`]: many gates, and those who clear them up die too.

mod dies;
mod lives;
mod slots;
mod sweeps;

use crate::memhost::Sim;
use crate::memhost::call::ms;

/// Within this time of a death nothing of the dead is left (law L4).
const SOON: u64 = 3000;

/// Three workers of which only the first two get calls, under one policy.
fn sim(fields: &str) -> Sim {
    Sim::policy(3, fields)
}

/// L4: the records say no more than what the living have, and nobody waits beside a free slot.
fn check_soon(sim: &mut Sim) {
    sim.run(ms(SOON));
    sim.check();
    sim.check_no_idle_slot();
}
