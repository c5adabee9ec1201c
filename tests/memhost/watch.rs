//! What must be true after every step.

use weir::core::gate::Record;
use weir::core::time::Time;
use weir::core::wait::registry::{directory, read};

use super::call::State;
use super::sim::Sim;
use super::vm::Vm;

/// What the records say, summed over all gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) running: u64,
    pub(crate) granted: u64,
    pub(crate) waiting: u64,
    pub(crate) held: u64,
}

impl Sim {
    /// All gates.
    pub(crate) fn records(&self) -> Vec<Record> {
        let host = self.memory.host(usize::MAX);
        let places: Vec<_> = directory(&host).places().collect();
        places
            .into_iter()
            .map(|place| read(&host, place).expect("a record"))
            .collect()
    }

    pub(crate) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for record in self.records() {
            sums.waiting += record.waiting();
            sums.held += record.held();
            for entry in &record.entries {
                sums.running += u64::from(entry.standing.running);
                sums.granted += u64::from(entry.granted);
            }
        }
        sums
    }

    /// Slots in use, by the test's own count.
    pub(crate) fn in_flight(&self) -> u64 {
        (0..self.calls.len()).map(|id| self.slots_of(id)).sum()
    }

    /// Slots a call uses, by the test's own count.
    pub(crate) fn slots_of(&self, id: usize) -> u64 {
        let call = &self.calls[id];
        let attempts = call.attempts.values().filter(|a| a.has_slot).count();
        (attempts + usize::from(call.has_grant)) as u64
    }

    /// Calls paused at the gate, by the test's own count.
    pub(crate) fn waiting(&self) -> usize {
        let waits = |state: &State| *state == State::Waiting;
        self.states().iter().filter(|state| waits(state)).count()
    }

    /// The records say what is so. Holds while nothing is unreported or undelivered.
    pub(crate) fn check(&self) {
        let sums = self.sums();
        assert_eq!(sums.running, self.in_flight(), "running: {sums:?}");
        assert_eq!(sums.granted, 0, "all grants are claimed: {sums:?}");
        let paused = self.calls.iter().flat_map(|call| call.attempts.values());
        let paused: Vec<_> = paused.filter(|attempt| attempt.is_paused).collect();
        let whole = paused.iter().filter(|attempt| attempt.is_whole).count();
        assert!(sums.held >= whole as u64, "held: {sums:?}");
        assert!(sums.held <= paused.len() as u64, "held: {sums:?}");
        let waiting = self.waiting() as u64;
        assert!(sums.waiting >= waiting, "waiting: {sums:?}");
        assert!(sums.waiting <= waiting + sums.held, "waiting: {sums:?}");
    }

    /// L3: nobody waits while a slot is free and pace and pause allow a start, since a tick at least.
    pub(crate) fn check_no_idle_slot(&self) {
        let seen = self.ticked();
        for record in self.records() {
            let idle = record.is_free(seen) && record.waiting() > 0;
            assert!(!idle, "a slot is free and somebody waits: {record:?}");
        }
    }

    /// Whether refusals keep waiters of a gate though its configured cap would not: by a pause, the
    /// learned pace, or the learned cap.
    pub(crate) fn is_kept(&self) -> bool {
        let seen = self.ticked();
        self.records().iter().any(|record| {
            let is_capped = record.adaptive_cap.is_some() && record.in_flight() >= record.limit();
            is_capped || record.promises(seen) > seen || !record.has_permit(seen)
        })
    }

    /// What time alone allows is for a tick to find: a tick has seen all that was so by then.
    fn ticked(&self) -> Time {
        let is_late = self.seats.iter().any(|seat| seat.next_tick <= self.now);
        match is_late {
            true => Time(0),
            false => self.now.before(self.busy),
        }
    }

    /// L4: after everything ended nothing is left, in records and gauges.
    pub(crate) fn check_empty(&mut self) {
        self.run(super::call::ms(5000));
        assert_eq!(self.sums(), Sums::default());
        for record in self.records() {
            assert!(record.entries.is_empty(), "{record:?}");
        }
        for name in ["slots", "waiting", "held"] {
            assert_eq!(self.gauge(name).unwrap_or(0), 0, "{name}");
        }
        // A pause may end much later, and is then looked at once.
        let soon = self.now + super::call::ms(5000);
        for (vm, seat) in self.seats.iter().enumerate() {
            let is_busy = seat.is_busy(soon);
            assert!(self.is_dead(vm) || !is_busy, "something is still due");
        }
        assert!(self.streams.is_empty());
    }
}
