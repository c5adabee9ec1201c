//! Rounds over all gates that take out what given-up workers have in them.
//!
//! Nothing is remembered between rounds: what is to be taken out is told by the entries and the
//! generations of the worker slots alone. So a round may be cut off anywhere, begun again by another
//! VM, and done twice at once. A slot is free once a round has ended that began after it was given
//! up. Rounds go on now and then after that: a worker that was given up while it lived may have
//! spoken once more, and died over it.

use std::rc::Rc;
use std::time::Duration;

use super::registry::directory;
use super::turn::take_turn;
use super::watch::Sight;
use crate::core::gate::Fences;
use crate::core::gate::exchange::{Exchange, ExchangeError, Want};
use crate::core::gate::owner::WorkerSlot;
use crate::core::gate::table::Place;
use crate::core::time::Time;
use crate::port::{Expect, Host, Stored};

/// When the last round began, by whichever VM.
const TURN: &str = "weir.sweep";

/// A round that has not freed its slots by then was cut off.
const CUT_OFF: Duration = Duration::from_millis(250);

/// How often a round is made although no slot is dying.
const EVERY: Duration = Duration::from_secs(1);

/// Gates seen to in one tick.
const GATES_A_TICK: usize = 64;

/// This VM's round, if it is making one.
#[derive(Debug, Default)]
pub struct Sweep {
    round: Option<Round>,
}

#[derive(Debug)]
struct Round {
    fences: Rc<Fences>,
    dying: Vec<u16>,
    left: Vec<Place>,
}

impl Sweep {
    /// Begins a round if one is due and it is this VM's turn.
    pub fn begin(&mut self, host: &impl Host, now: Time, sight: Sight) {
        let every = match (sight.reaped, sight.dying.is_empty()) {
            (0, true) => EVERY,
            (0, false) => CUT_OFF,
            // Nobody else knows yet.
            _ => Duration::ZERO,
        };
        if self.round.is_none() && sight.fences.is_any() && take_turn(host, TURN, now, every) {
            self.round = Some(Round {
                fences: Rc::new(sight.fences),
                dying: sight.dying,
                left: directory(host).places().collect(),
            });
        }
    }

    /// Whether this VM is making a round.
    pub fn is_going(&self) -> bool {
        self.round.is_some()
    }

    /// Sees to the next gates of the round; `carry` carries an exchange with one of them.
    pub fn go_on(&mut self, host: &impl Host, mut carry: impl FnMut(Place, Exchange) -> Exchange) {
        let Some(round) = &mut self.round else {
            return;
        };
        let from = round.left.len().saturating_sub(GATES_A_TICK);
        for place in round.left.split_off(from) {
            let finished = carry(place, Exchange::reap(Rc::clone(&round.fences)));
            if finished.want() == Want::Done(Err(ExchangeError::Conflicts)) {
                // The next round will do.
                self.round = None;
                return;
            }
        }
        if round.left.is_empty() {
            for slot in &round.dying {
                free(host, *slot, &round.fences);
            }
            self.round = None;
        }
    }
}

/// Frees a slot, unless another VM did so before, or it is dying once more.
fn free(host: &impl Host, slot: u16, fences: &Fences) {
    let name = WorkerSlot::name(slot);
    let Ok(Stored::Present { bytes, cas }) = host.shared_get(&name) else {
        return;
    };
    let freed = WorkerSlot::decode(&bytes)
        .filter(|found| fences.is_at(slot, found.generation))
        .and_then(WorkerSlot::freed);
    if let Some(freed) = freed {
        // A conflict means that another VM frees it.
        let _ = host.shared_set(&name, &freed.encode(), Expect::Same(cas));
    }
}
