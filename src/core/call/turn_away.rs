//! A gate is shut for longer than some of its calls can wait: they are told now (law L10).

use super::start::AT_ONCE;
use super::state::Stage;
use super::{Action, Worker};
use crate::core::answer::Refused;
use crate::core::gate::Pause;
use crate::core::time::Time;
use crate::core::wait::{CallId, GateId};
use crate::port::Host;

impl Worker {
    /// Sends away whoever waits in these gates and cannot wait until they open, as far as there is
    /// room.
    pub(super) fn turn_away(
        &mut self,
        host: &impl Host,
        now: Time,
        places: &[GateId],
        actions: &mut Vec<Action>,
    ) {
        for place in places {
            let Some(pause) = self.gates.sight(*place).lasting(now) else {
                continue;
            };
            let room = AT_ONCE.saturating_sub(actions.len());
            let line = self.gates.line(*place);
            let late = line.map_or(Vec::new(), |line| {
                line.too_late(pause.no_start_before(), room)
            });
            let is_full = late.len() == room;
            for id in late {
                actions.extend(self.send_away(host, now, id, pause));
            }
            if is_full {
                self.gates.wake_again(host, *place);
            }
        }
    }

    fn send_away(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        pause: Pause,
    ) -> Option<Action> {
        let mut call = self.lift(id)?;
        if call.is_shadow() {
            self.phantom_leaves(host, now, id, call, reason(&pause));
            return None;
        }
        let action = match call.stage {
            Stage::Held(_) => self.give_up(host, now, &mut call),
            _ => {
                self.let_go(host, now, &mut call);
                let reply = self.refuse_for_pause(host, now, &mut call, pause, None);
                call.gate.map(|gate| Action::Refuse { gate, reply })
            }
        };
        self.keep(id, call);
        action
    }
}

/// What a call is told that a shut gate sends away.
pub(super) fn reason(pause: &Pause) -> Refused {
    match pause.is_quota() {
        true => Refused::Quota,
        false => Refused::Paused,
    }
}
