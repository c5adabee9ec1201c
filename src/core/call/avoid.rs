//! What the surroundings keep Weir from doing: recognised, counted, and said with what to change.

use std::rc::Rc;
use std::time::Duration;

use super::state::Call;
use super::{StreamId, Worker};
use crate::core::report::Avoided;
use crate::core::time::Time;
use crate::port::{Host, Level};

/// How often the log says the same of one policy.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// By how much a later attempt's timeout must end after the first one's to be its own. Below it lies
/// what Envoy's rounding to milliseconds and the way from router to filter may add.
const OWN_TIMEOUT: Duration = Duration::from_millis(20);

/// What was said lately: of which policy, and when.
#[derive(Debug, Default)]
pub(super) struct Said(Vec<(Rc<str>, Avoided, Time)>);

impl Said {
    /// Whether it is to be said now.
    fn take(&mut self, now: Time, policy: &Rc<str>, what: Avoided) -> bool {
        self.0.retain(|(_, _, at)| now.since(*at) < SAY_AGAIN);
        let is_new = !self
            .0
            .iter()
            .any(|(of, said, _)| *said == what && of == policy);
        if is_new {
            self.0.push((Rc::clone(policy), what, now));
        }
        is_new
    }
}

impl Worker {
    /// Counts something that the surroundings kept Weir from doing, and now and then says what to
    /// change.
    pub(super) fn avoid(&mut self, host: &impl Host, now: Time, policy: &Rc<str>, what: Avoided) {
        self.stats.avoid(what);
        if self.said.take(now, policy, what) {
            host.log(Level::Warn, &what.advice(policy));
        }
    }
}

impl Call {
    /// Which of the route's timeouts keeps an attempt of this call from being followed by another at
    /// `start`; none if the call's own deadline does so too.
    pub(super) fn route_forbids(&self, attempt: StreamId, start: Time) -> Option<Avoided> {
        let attempt = self.attempts.get(&attempt)?;
        if start <= attempt.deadline || start > self.deadline {
            return None;
        }
        // The route's timeout ends at the same time whichever attempt tells of it.
        let is_own = self
            .route_ends
            .is_some_and(|ends| attempt.deadline > ends + OWN_TIMEOUT);
        Some(match is_own {
            true => Avoided::PerTryTimeout,
            false => Avoided::RouteTimeout,
        })
    }
}
