//! What the clock does: bounds on waiting, holds that ripen, bodies that do not end, and the chores
//! of a worker.

use std::time::Duration;

use super::attempt::Next;
use super::read::Body;
use super::start::AT_ONCE;
use super::state::{Call, Stage};
use super::{Action, StreamId, Worker};
use crate::core::report::stats::{Count, plugin_stat};
use crate::core::report::{Avoided, gauges};
use crate::core::time::Time;
use crate::core::wait::CallId;
use crate::port::{Host, MetricKind};

/// How often a worker shows that it lives, has its queue point to the root that ticks, and looks
/// whether the others live. Below the period of idle ticks, so that each of them does it.
const HEARTBEAT: Duration = Duration::from_millis(150);

/// Due calls handled in one tick; the rest is handled in the next.
const LOOKED_AT: usize = 256;

/// When a worker's chores were last done.
#[derive(Debug, Default)]
pub(super) struct Clock {
    beaten: Option<Time>,
    flushed: Option<Time>,
    degraded: Option<Time>,
    was_degraded: Option<bool>,
}

impl Clock {
    /// A call went on without shared state.
    pub(super) fn degrade(&mut self, now: Time) {
        self.degraded = Some(now);
    }
}

impl Worker {
    /// A tick of one of the VM's roots.
    pub fn tick(&mut self, host: &impl Host, now: Time) -> Vec<Action> {
        self.gates.make_due_grants(host, now);
        let mut actions = self.wake(host, now);
        let waiting = self.gates.take_waiting_places();
        let lost: Vec<_> = waiting
            .into_iter()
            .filter(|place| self.gates.inspect(host, now, *place))
            .collect();
        self.collect(host, now, &lost, Count::GrantByTick, &mut actions);
        self.handle_due(host, now, &mut actions);
        self.gates.repeat_reports(host, now);
        self.chores(host, now);
        actions
    }

    /// One action a call and tick: the first may end the streams of the call's other attempts, and
    /// the host would carry the second out on one that is gone.
    fn handle_due(&mut self, host: &impl Host, now: Time, actions: &mut Vec<Action>) {
        let granted = actions.iter().map(Action::stream);
        let mut acted: Vec<CallId> = granted
            .filter_map(|stream| self.streams.get(&stream).copied())
            .collect();
        // Room of its own: a busy queue does not put off the clock.
        let full = actions.len() + AT_ONCE;
        let mut put_off = Vec::new();
        for _ in 0..LOOKED_AT {
            if actions.len() >= full {
                break;
            }
            let Some(id) = self.timers.take_due(now, &mut self.calls) else {
                break;
            };
            if acted.contains(&id) {
                put_off.push(id);
            } else if let Some(action) = self.call_due(host, now, id) {
                acted.push(id);
                actions.push(action);
            }
        }
        for id in put_off {
            if let Some(call) = self.lift(id) {
                self.keep(id, call);
            }
        }
    }

    /// Whether the clock matters before `next`, the next idle tick.
    pub fn is_busy(&self, next: Time) -> bool {
        let grants = self.gates.next_due().is_some_and(|due| due < next);
        grants || !self.timers.is_empty() || self.gates.is_behind()
    }

    /// Until then a tick finds nothing to do but the chores, if nobody else writes to the records of
    /// this worker's gates: for hosts that have better things to do than to tick.
    pub fn next_due(&self) -> Option<Time> {
        if self.gates.is_behind() {
            return Some(Time(0));
        }
        [self.gates.next_due(), self.timers.next()]
            .into_iter()
            .flatten()
            .min()
    }

    fn call_due(&mut self, host: &impl Host, now: Time, id: CallId) -> Option<Action> {
        let mut call = self.lift(id)?;
        if call.orphaned.is_some_and(|at| at <= now) {
            self.orphan_due(host, now, id, call);
            return None;
        }
        if call.phantom_ends().is_some_and(|at| at <= now) {
            return self.phantom_due(host, now, id, call);
        }
        let overdue = call
            .attempts
            .iter()
            .find(|(_, attempt)| attempt.reading.as_ref().is_some_and(|r| r.until <= now))
            .map(|(stream, _)| *stream);
        let action = match overdue {
            Some(stream) => self.stop_reading(host, now, &mut call, stream),
            None => self.stage_due(host, now, id, &mut call),
        };
        self.keep(id, call);
        action
    }

    /// No attempt has followed. Others of the call that still run keep it.
    fn orphan_due(&mut self, host: &impl Host, now: Time, id: CallId, mut call: Box<Call>) {
        call.orphaned = None;
        if call.has_grant {
            self.stats.count(&call.policy_name, Count::RetryDropped);
            self.return_grant(host, now, &mut call);
        }
        if call.attempts.is_empty() {
            self.bury(host, now, id, call);
        } else {
            self.keep(id, call);
        }
    }

    fn stage_due(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        call: &mut Call,
    ) -> Option<Action> {
        match &call.stage {
            Stage::Waiting => {
                let (ends, by_stay) = call.wait_ends();
                if now < ends {
                    return None;
                }
                self.let_go(host, now, call);
                let reply = self.refuse_waiter(host, now, call, by_stay);
                let gate = call.gate?;
                Some(Action::Refuse { gate, reply })
            }
            Stage::Held(hold) if now < call.hold_due(hold) => None,
            Stage::Held(hold) if hold.ready_since.is_none() => self.ripen(host, now, id, call),
            Stage::Held(_) => self.give_up(host, now, call),
            Stage::Going | Stage::Refused | Stage::Answered => None,
        }
    }

    /// A body has not ended in time: what is there must do.
    fn stop_reading(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
    ) -> Option<Action> {
        let reading = call.attempts.get(&stream)?.reading.as_ref()?;
        if reading.look.is_some() {
            return self.stop_look(host, now, call, stream);
        }
        let (body, avoided) = match reading.body.is_empty() {
            true => (Body::Unseen, Avoided::NoStopIteration),
            false => (Body::WithoutEnd, Avoided::BodyWithoutEnd),
        };
        self.avoid(host, now, &call.policy_name, avoided);
        match self.conclude(host, now, call, stream, body) {
            Next::Pass(_) if call.is_shadow() => None,
            Next::Pass(edits) => Some(Action::Answer {
                attempt: stream,
                edits,
            }),
            Next::Pause => None,
        }
    }

    fn chores(&mut self, host: &impl Host, now: Time) {
        if is_over(self.clock.beaten, now, HEARTBEAT) {
            self.clock.beaten = Some(now);
            self.gates.heartbeat(host, now);
            self.gates.watch(host, now);
        }
        self.gates.sweep(host, now);
        if is_over(self.clock.flushed, now, gauges::EVERY) {
            self.clock.flushed = Some(now);
            let trouble = self.gates.take_trouble();
            self.stats.flush(host, &trouble);
            gauges::refresh(host, now, self.policies.own());
            self.show_degraded(host, now);
        }
    }

    /// The gauge stays up for a second after the last call that went on without shared state. While
    /// it does it is set again and again, since other VMs that are well set it too.
    fn show_degraded(&mut self, host: &impl Host, now: Time) {
        let recently = |at: Time| now.since(at) < Duration::from_secs(1);
        let is_degraded = self.clock.degraded.is_some_and(recently);
        if is_degraded || self.clock.was_degraded != Some(false) {
            self.clock.was_degraded = Some(is_degraded);
            let value = u64::from(is_degraded);
            host.metric(MetricKind::Gauge, &plugin_stat("degraded"), value);
        }
    }
}

fn is_over(last: Option<Time>, now: Time, span: Duration) -> bool {
    last.is_none_or(|last| now.since(last) >= span)
}
