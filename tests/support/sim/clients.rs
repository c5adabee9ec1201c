//! The clients: when their calls come, what each takes and costs, and when it is given up.

use std::time::Duration;

use weir::core::time::Time;

use super::draw::{Draw, For};
use super::load::{Arrivals, Load};
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
}

impl Wish {
    /// The last moment at which a start is of use.
    pub(crate) fn deadline(&self) -> Time {
        self.patient_until.min(self.aborts_at)
    }
}

/// The calls of one load and seed.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    arrivals: Arrivals,
    habits: Habits,
    service: Service,
    cost: Option<Cost>,
    seed: u64,
    next: u64,
}

impl Clients {
    pub(crate) fn new(load: &Load, model: &Model, habits: Habits, seed: u64) -> Clients {
        Clients {
            arrivals: load.arrivals(seed),
            habits,
            service: model.service,
            cost: model.cost,
            seed,
            next: 0,
        }
    }
}

impl Iterator for Clients {
    type Item = Wish;

    fn next(&mut self) -> Option<Wish> {
        let at = self.arrivals.next()?;
        let number = self.next;
        self.next += 1;
        let Habits {
            patience, aborts, ..
        } = self.habits;
        let mut draw = Draw::of_call(self.seed, For::Abort, number);
        let aborts_at = match aborts > 0.0 && draw.is_true(aborts) {
            true => at + draw.between(Duration::ZERO, patience),
            false => Time::NEVER,
        };
        Some(Wish {
            number,
            at,
            patient_until: at + patience,
            aborts_at,
            served: self.service.of(self.seed, number),
            cost: Cost::of(self.cost, self.seed, number),
        })
    }
}
