//! Agents: each makes one call after the other, and thinks in between.

use std::time::Duration;

use weir::core::time::Time;

use super::draw::{Draw, For};

/// All agents begin within this time: a fleet that wakes up.
const RUSH: Duration = Duration::from_secs(2);

/// The mean of the time from a call's end to the agent's next call, which is exponential.
const THINK: f64 = 1.0;

/// A load of agents, each with one task of several calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agents {
    /// How many.
    pub(crate) count: u64,
    /// The calls of a task.
    pub(crate) calls: u64,
    /// How often a call is tried until it is answered; its last failure ends the task.
    pub(crate) tries: u64,
}

/// Which call of an agent a call is: the same number for every peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    agent: u64,
    call: u64,
    attempt: u64,
}

/// What follows when a call is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum After<T> {
    /// Nothing: nobody waited for it with another call.
    Nothing,
    /// The next call of the task.
    Call(T),
    /// It was the last call of the task, and was answered.
    TaskDone,
    /// It failed for the last time.
    TaskLost,
}

impl Agents {
    /// When the first calls come, in order, and their numbers.
    pub(crate) fn first_calls(self, seed: u64) -> Vec<(Time, u64)> {
        let first = |agent| {
            let turn = Turn {
                agent,
                call: 0,
                attempt: 0,
            };
            let mut draw = Draw::of_call(seed, For::Arrivals, agent);
            let at = Time(0) + draw.between(Duration::ZERO, RUSH);
            (at, self.number(turn))
        };
        let mut all: Vec<_> = (0..self.count).map(first).collect();
        all.sort_unstable();
        all
    }

    /// What an agent does after the call of this number: its next call's time and number.
    pub(crate) fn after(
        self,
        seed: u64,
        number: u64,
        now: Time,
        is_answered: bool,
    ) -> After<(Time, u64)> {
        let turn = self.turn(number);
        let next = match is_answered {
            true if turn.call + 1 >= self.calls => return After::TaskDone,
            false if turn.attempt + 1 >= self.tries => return After::TaskLost,
            true => Turn {
                call: turn.call + 1,
                attempt: 0,
                ..turn
            },
            false => Turn {
                attempt: turn.attempt + 1,
                ..turn
            },
        };
        let think = Draw::of_call(seed, For::Think, number).exponential() * THINK;
        let at = now + Duration::from_secs_f64(think);
        After::Call((at, self.number(next)))
    }

    /// What a call is asked for does not change when it is tried again.
    pub(crate) fn question(self, number: u64) -> u64 {
        number / self.tries
    }

    /// Whose call it is.
    pub(crate) fn agent(self, number: u64) -> u64 {
        self.turn(number).agent
    }

    fn number(self, turn: Turn) -> u64 {
        (turn.agent * self.calls + turn.call) * self.tries + turn.attempt
    }

    fn turn(self, number: u64) -> Turn {
        let question = self.question(number);
        Turn {
            agent: question / self.calls,
            call: question % self.calls,
            attempt: number % self.tries,
        }
    }
}
