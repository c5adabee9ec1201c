//! When the clock next has something to say to a call.
//!
//! A heap of times, of which only the one that a call names as its own counts: a call's next time
//! changes several times in its life, and finding the old one in a heap is dearer than leaving it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::state::Call;
use crate::core::ordered::OrderedMap;
use crate::core::time::Time;
use crate::core::wait::CallId;

/// Times left behind that are put up with, beside as many as count.
const LEFT_BEHIND: usize = 1024;

/// The times of all calls.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, CallId)>>,
    /// How many of them count.
    live: usize,
}

impl Timers {
    /// Whether no call waits for a time.
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// No call's time comes before this.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, _))| *time)
    }

    /// The call's time is another one now, or none.
    pub(super) fn set(&mut self, id: CallId, call: &mut Call, time: Option<Time>) {
        if call.due == time {
            return;
        }
        self.live -= usize::from(call.due.is_some()).min(self.live);
        call.due = time;
        if let Some(time) = time {
            self.heap.push(Reverse((time, id)));
            self.live += 1;
        }
    }

    /// Takes out the next call whose time has come; its own time is then none.
    pub(super) fn take_due(
        &mut self,
        now: Time,
        calls: &mut OrderedMap<CallId, Box<Call>>,
    ) -> Option<CallId> {
        while let Some(Reverse((time, id))) = self.heap.peek().copied()
            && time <= now
        {
            self.heap.pop();
            if let Some(call) = calls.get_mut(&id)
                && call.due == Some(time)
            {
                self.set(id, call, None);
                return Some(id);
            }
        }
        None
    }

    /// Throws out times that no longer count, once they are too many.
    pub(super) fn tidy(&mut self, calls: &OrderedMap<CallId, Box<Call>>) {
        if self.heap.len() > 2 * self.live + LEFT_BEHIND {
            let counts =
                |time: Time, id: &CallId| calls.get(id).is_some_and(|c| c.due == Some(time));
            self.heap.retain(|Reverse((time, id))| counts(*time, id));
        }
    }
}
