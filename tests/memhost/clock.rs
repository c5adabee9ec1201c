//! The virtual clock, and what Weir decides while it moves.
//!
//! A resume of what is not paused, an answer to what is gone: Envoy may die of either, so here
//! each fails the test.

use std::time::Duration;

use weir::core::call::{Action, StreamId};

use super::call::Call;
use super::sim::Sim;
use super::vm::Vm;

/// More steps than this without the clock moving are a livelock.
const STEPS: usize = 10_000;

/// The tick while nothing is due, as the shell asks for it.
const IDLE: Duration = Duration::from_millis(200);

impl Sim {
    /// Carries out what a worker's callback decided.
    pub(crate) fn act(&mut self, actions: Vec<Action>) {
        // One that died over a callback does nothing more.
        self.lose_calls_of_the_dead();
        for action in actions {
            let stream = match &action {
                Action::Start { gate } | Action::Refuse { gate, .. } => gate,
                Action::Answer { attempt, .. } => attempt,
            };
            if self.lost.contains(stream) {
                continue;
            }
            match action {
                Action::Start { gate } => {
                    let id = self.paused_gate(gate, "started");
                    self.started.push(id);
                    self.start(id);
                }
                Action::Refuse { gate, reply } => {
                    let id = self.paused_gate(gate, "refused");
                    self.refuse(id, reply);
                }
                Action::Answer { attempt, edits } => {
                    let id = self.call_of(attempt, "resumed");
                    let held = self.calls[id].attempts.get_mut(&attempt).unwrap();
                    assert!(held.is_paused, "call {id}: resumed while not paused");
                    held.is_paused = false;
                    self.route_answer(id, attempt, &edits);
                }
            }
        }
    }

    pub(crate) fn call_of(&self, stream: StreamId, what: &str) -> usize {
        match self.streams.get(&stream) {
            Some(id) => *id,
            None => panic!("a stream that is gone is {what}"),
        }
    }

    pub(crate) fn paused_gate(&mut self, gate: StreamId, what: &str) -> usize {
        let id = self.call_of(gate, what);
        let call = &mut self.calls[id];
        assert_eq!(call.gate, Some(gate), "no gate stream is {what}");
        assert!(call.is_paused, "call {id} is {what} while not paused");
        call.is_paused = false;
        id
    }

    /// Delivers all wake-ups, with all that follows from them at this moment.
    pub(crate) fn settle(&mut self) {
        for _ in 0..STEPS {
            self.lose_calls_of_the_dead();
            if let Some(vm) = self.woken() {
                let actions = self.seats[vm].wake(self.now);
                self.act(actions);
            } else if let Some(id) = self.due_retry() {
                self.calls[id].retry_at = None;
                self.begin_attempt(id);
            } else {
                return self.keep_pace();
            }
        }
        panic!("livelock");
    }

    pub(crate) fn due_retry(&self) -> Option<usize> {
        let is_due = |call: &Call| call.retry_at.is_some_and(|at| at <= self.now);
        let calls = &mut self.calls.iter();
        calls.position(|call| is_due(call) && self.runs(call))
    }

    pub(crate) fn runs(&self, call: &Call) -> bool {
        self.gets_to_run(call.worker)
    }

    pub(crate) fn gets_to_run(&self, vm: usize) -> bool {
        !self.seats[vm].is_blocked && !self.is_dead(vm)
    }

    pub(crate) fn keep_pace(&mut self) {
        for seat in &mut self.seats {
            if seat.is_busy(self.now + 2 * IDLE) {
                seat.next_tick = seat.next_tick.min(self.now + self.busy);
            }
        }
    }

    /// Lets time pass, with all ticks in it.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let awake = (0..self.seats.len()).filter(|vm| self.gets_to_run(*vm));
            let ticks = awake.map(|vm| self.seats[vm].next_tick);
            let calls = self.calls.iter().filter(|call| self.runs(call));
            let retries = calls.filter_map(|call| call.retry_at);
            let next = ticks.chain(retries).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = next.max(self.now);
            for vm in 0..self.seats.len() {
                if self.gets_to_run(vm) && self.seats[vm].next_tick <= self.now {
                    self.tick(vm);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// Time passes without a tick: no worker gets to run.
    pub(crate) fn jump(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    pub(crate) fn tick(&mut self, vm: usize) {
        for root in 0..self.seats[vm].roots() {
            let actions = self.seats[vm].tick(self.now, root);
            self.act(actions);
        }
        let seat = &mut self.seats[vm];
        let pace = match seat.is_busy(self.now + 2 * IDLE) {
            true => self.busy,
            false => IDLE,
        };
        seat.next_tick = self.now + pace;
        self.settle();
    }
}
