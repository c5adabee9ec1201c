//! The clients: when their calls come, what each takes and costs, and when it is given up.

use std::rc::Rc;
use std::time::Duration;

use weir::core::time::Time;

use super::agents::{After, Agents};
use super::crowd::{Crowd, Whose};
use super::draw::{Draw, For};
use super::load::{Arrivals, Arriving, Load};
use super::models::Model;
use super::service::{Cost, Served, Service};

/// How clients behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Habits {
    /// A client whose call has not been accepted by then goes away.
    pub(crate) patience: Duration,
    /// The share of clients that go away before, at any time within their patience, even while they
    /// are being answered.
    pub(crate) aborts: f64,
    /// Their SDK retries what is refused.
    pub(crate) retries: bool,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            patience: Duration::from_secs(30),
            aborts: 0.0,
            retries: false,
        }
    }
}

/// One call as its client knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) number: u64,
    pub(crate) at: Time,
    /// It goes away then unless it has been accepted.
    pub(crate) patient_until: Time,
    /// It goes away then in any case.
    pub(crate) aborts_at: Time,
    pub(crate) served: Served,
    pub(crate) cost: f64,
    pub(crate) whose: Whose,
}

impl Wish {
    /// The last moment at which a start is of use.
    pub(crate) fn deadline(&self) -> Time {
        self.patient_until.min(self.aborts_at)
    }
}

/// The calls of one load and seed: in order, those that come whatever becomes of others.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    arrivals: Arrivals,
    agents: Option<Agents>,
    habits: Habits,
    crowd: Rc<Crowd>,
    service: Service,
    cost: Option<Cost>,
    seed: u64,
}

impl Clients {
    pub(crate) fn new(load: &Load, model: &Model, habits: Habits, seed: u64) -> Clients {
        Clients {
            arrivals: load.arrivals(seed),
            agents: load.agents(),
            habits,
            crowd: Rc::default(),
            service: model.service,
            cost: model.cost,
            seed,
        }
    }

    /// Who calls, unless all are alike.
    pub(crate) fn of(mut self, crowd: &Rc<Crowd>) -> Clients {
        self.crowd = Rc::clone(crowd);
        self
    }

    /// Whether it matters whose a call is.
    pub(crate) fn are_told_apart(&self) -> bool {
        !self.crowd.is_plain()
    }

    /// Whether calls wait for others.
    pub(crate) fn is_closed_loop(&self) -> bool {
        self.agents.is_some()
    }

    /// A call is over: what its client does next.
    pub(crate) fn after(&self, number: u64, now: Time, is_answered: bool) -> After<Wish> {
        let Some(agents) = self.agents else {
            return After::Nothing;
        };
        match agents.after(self.seed, number, now, is_answered) {
            After::Call((at, number)) => After::Call(self.wish(Arriving {
                at,
                number,
                tokens: None,
            })),
            After::Nothing => After::Nothing,
            After::TaskDone => After::TaskDone,
            After::TaskLost => After::TaskLost,
        }
    }

    fn wish(&self, arriving: Arriving) -> Wish {
        let Arriving { at, number, tokens } = arriving;
        let Habits {
            patience, aborts, ..
        } = self.habits;
        let mut draw = Draw::of_call(self.seed, For::Abort, number);
        let aborts_at = match aborts > 0.0 && draw.is_true(aborts) {
            true => at + draw.between(Duration::ZERO, patience),
            false => Time::NEVER,
        };
        let question = self.agents.map_or(number, |agents| agents.question(number));
        let drawn = Cost::of(self.cost, self.seed, question);
        Wish {
            number,
            at,
            patient_until: at + patience,
            aborts_at,
            served: self.service.of(self.seed, question),
            whose: self.crowd.of(self.seed, number),
            // Where tokens are not counted a call is a call.
            cost: tokens.filter(|_| self.cost.is_some()).unwrap_or(drawn),
        }
    }
}

impl Iterator for Clients {
    type Item = Wish;

    fn next(&mut self) -> Option<Wish> {
        let arriving = self.arrivals.next()?;
        Some(self.wish(arriving))
    }
}
