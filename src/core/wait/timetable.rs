//! When the pace of a gate lets its next waiter start: whoever sees the time come makes the grant.

use std::collections::BTreeSet;

use litemap::LiteMap;

use super::roster::GateId;
use crate::core::time::Time;

/// Gates taken in one tick; each costs an exchange.
const AT_ONCE: usize = 64;

/// The gates that wait for a time.
#[derive(Debug, Default)]
pub(super) struct Timetable {
    times: LiteMap<GateId, Time>,
    order: BTreeSet<(Time, GateId)>,
}

impl Timetable {
    /// Notes a gate's time, in gate of the one it had.
    pub(super) fn set(&mut self, gate: GateId, time: Option<Time>) {
        let old = match time {
            Some(time) => self.times.insert(gate, time),
            None => self.times.remove(&gate),
        };
        if let Some(old) = old {
            self.order.remove(&(old, gate));
        }
        if let Some(time) = time {
            self.order.insert((time, gate));
        }
    }

    /// The next time of all.
    pub(super) fn next(&self) -> Option<Time> {
        self.order.first().map(|(time, _)| *time)
    }

    /// Takes out gates whose time has come, as many as one tick handles.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<GateId> {
        let due = self.order.iter().take_while(|(time, _)| *time <= now);
        let due: Vec<GateId> = due.map(|(_, gate)| *gate).take(AT_ONCE).collect();
        for gate in &due {
            self.set(*gate, None);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_gate_has_one_time_and_is_due_when_it_comes() {
        let [a, b] = [1, 2].map(GateId);
        let mut table = Timetable::default();
        table.set(a, Some(Time(5)));
        table.set(b, Some(Time(7)));
        table.set(a, Some(Time(9)));
        assert_eq!(table.next(), Some(Time(7)));
        assert_eq!(table.take_due(Time(6)), []);
        assert_eq!(table.take_due(Time(8)), [b]);
        table.set(a, None);
        assert_eq!((table.next(), table.take_due(Time::NEVER)), (None, vec![]));
    }
}
