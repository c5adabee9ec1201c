//! What a success says of the calls that are left, for the gate to hear while it is little.
//!
//! A success whose provider says nothing, or has plenty, costs the gate no word.

use super::state::Call;
use super::{Headers, StreamId, Worker};
use crate::core::classify::headroom;
use crate::core::gate::headroom::{FURTHEST, Told};
use crate::core::time::Time;
use crate::core::wait::GateId;
use crate::port::Host;

impl Worker {
    /// What a gate that runs out of calls had counted of starts when this worker last spoke to it.
    pub(super) fn counted(&self, place: Option<GateId>) -> u32 {
        let sight = place.map(|place| self.gates.sight(place));
        sight.and_then(|sight| sight.counted).unwrap_or(0)
    }

    /// The headers of an attempt's success.
    pub(super) fn tell_headroom(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &Call,
        stream: StreamId,
        headers: &Headers,
    ) {
        let Some((attempt, place)) = call.attempts.get(&stream).zip(call.place) else {
            return;
        };
        let said = headroom(headers, || host.wall_ms()).filter(|said| said.reset <= FURTHEST);
        let Some(said) = said.filter(|_| call.has_own_slots()) else {
            return;
        };
        let envoys = call.policy().map_or(1, |policy| policy.share().envoys());
        let told = Told {
            remaining: said.remaining / envoys,
            limit: said.limit / envoys,
            reset: now + said.reset,
            began: attempt.began,
            counted: attempt.counted,
            random: host.random(),
        };
        let running = self
            .gates
            .line(place)
            .map_or(0, |line| line.standing().running);
        if told.may_be_low(running) || self.gates.sight(place).counted.is_some() {
            self.gates.line_mut(place).tell_headroom(told);
            self.gates.report(host, now, place);
        }
    }
}
