//! When the pace of a gate lets its next waiter start: whoever sees the time come makes the grant.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::gate::table::Place;
use crate::core::time::Time;

/// Gates taken in one tick; each costs an exchange.
const AT_ONCE: usize = 64;

/// The gates that wait for a time.
#[derive(Debug, Default)]
pub(super) struct Timetable {
    times: BTreeMap<Place, Time>,
    order: BTreeSet<(Time, Place)>,
}

impl Timetable {
    /// Notes a gate's time, in place of the one it had.
    pub(super) fn set(&mut self, place: Place, time: Option<Time>) {
        let old = match time {
            Some(time) => self.times.insert(place, time),
            None => self.times.remove(&place),
        };
        if let Some(old) = old {
            self.order.remove(&(old, place));
        }
        if let Some(time) = time {
            self.order.insert((time, place));
        }
    }

    /// The next time of all.
    pub(super) fn next(&self) -> Option<Time> {
        self.order.first().map(|(time, _)| *time)
    }

    /// Takes out gates whose time has come, as many as one tick handles.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<Place> {
        let due = self.order.iter().take_while(|(time, _)| *time <= now);
        let due: Vec<Place> = due.map(|(_, place)| *place).take(AT_ONCE).collect();
        for place in &due {
            self.set(*place, None);
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
        let [a, b] = [1_u8, 2].map(|n| Place::from_message(&[n, 0]).expect("a place"));
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
