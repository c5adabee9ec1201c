//! When the pace of a gate lets its next waiter start: whoever sees the time come makes the grant.

use litemap::LiteMap;

use super::roster::GateId;
use crate::core::time::Time;

/// Gates taken in one tick; each costs an exchange.
const AT_ONCE: usize = 64;

/// The gates that wait for a time: seldom many at once, so that a look at each is cheap.
#[derive(Debug, Default)]
pub(super) struct Timetable(LiteMap<GateId, Time>);

impl Timetable {
    /// Notes a gate's time, in place of the one it had.
    pub(super) fn set(&mut self, gate: GateId, time: Option<Time>) {
        match time {
            Some(time) => self.0.insert(gate, time),
            None => self.0.remove(&gate),
        };
    }

    /// The next time of all.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.values().min().copied()
    }

    /// Takes out gates whose time has come, as many as one tick handles, the earliest first.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<GateId> {
        let due = self.0.iter().filter(|(_, time)| **time <= now);
        let mut due: Vec<(Time, GateId)> = due.map(|(gate, time)| (*time, *gate)).collect();
        due.sort_unstable();
        due.truncate(AT_ONCE);
        for (_, gate) in &due {
            self.0.remove(gate);
        }
        due.into_iter().map(|(_, gate)| gate).collect()
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
