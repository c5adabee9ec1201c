//! The gate half sees what the client is about to receive.

use std::borrow::Cow;

use super::end::return_grant;
use super::state::{Call, Stage};
use super::verdict::for_all;
use super::{Headers, StreamId, Worker};
use crate::core::answer::{Edit, Finished, edits};
use crate::core::classify::{Answer, Provider, Verdict, classify, is_refusal_status};
use crate::core::config::Policy;
use crate::core::gate::Refusal;
use crate::core::report::Avoided;
use crate::core::report::stats::Count;
use crate::core::time::Time;
use crate::port::Host;

/// Where the client's answer comes from, in Envoy's words.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a, F> {
    /// The property `response.code_details`: `via_upstream`, or why Envoy answered itself.
    pub details: &'a [u8],
    /// Gives the property `response.flags`; asked where a retry was not made.
    pub flags: F,
}

/// The cluster's circuit breaker was full.
const UPSTREAM_OVERFLOW: u64 = 0x80;

/// The route's retries were used up.
const UPSTREAM_RETRY_LIMIT_EXCEEDED: u64 = 0x8000;

impl Worker {
    /// The answer to the client begins. Returns what to change in its headers.
    pub fn answer(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: StreamId,
        status: u16,
        headers: &Headers,
        origin: Origin<'_, impl FnOnce() -> u64>,
    ) -> Vec<Edit> {
        let via_upstream = origin.details == b"via_upstream";
        let Some((id, mut call)) = self.lift_by_stream(gate) else {
            return Vec::new();
        };
        let changes = if call.stage == Stage::Refused {
            // Weir's own answer.
            Vec::new()
        } else {
            // Something else answers while the call waits: it must not be started any more.
            let was = self.let_go(host, now, &mut call);
            let is_held = call.hold_broken || matches!(was, Stage::Held(_));
            if is_held && let Some(avoided) = ended_by(origin.details) {
                self.avoid(host, now, &call.policy_name, avoided);
            }
            if !via_upstream {
                // Envoy's own answer, in place of the one that was to be tried again.
                call.forget_refusal();
            }
            self.settle_grant(host, now, &mut call, status, headers, origin);
            call.has_failed = status >= 400;
            match call.is_shadow() {
                true => Vec::new(),
                false => finish(&mut call, now, headers),
            }
        };
        self.keep(id, call);
        changes
    }

    /// The same for a success that the attempt half has just let go: of that all is known, and nothing is
    /// left to do but to add what Weir has to say, which needs no time. None if it is no such answer, for
    /// which [`Worker::answer`] is there.
    pub fn answer_plainly(&mut self, gate: StreamId) -> Option<Vec<Edit>> {
        let call = self.calls.get_mut(self.streams.get(&gate)?)?;
        let started = call.started?;
        let is_plain = call.has_succeeded
            && call.stage == Stage::Going
            && !(call.has_grant || call.hold_broken || call.is_shadow());
        is_plain.then(|| {
            call.has_failed = false;
            finish(call, started, &[])
        })
    }

    /// Whether the end of the answer to the client frees anything.
    pub fn waits_for_end(&self, gate: StreamId) -> bool {
        let call = self.streams.get(&gate).and_then(|id| self.calls.get(id));
        call.is_some_and(|call| call.has_grant)
    }

    /// The answer to the client ended. Only without an attempt half does that free the slot.
    pub fn end_answer(&mut self, host: &impl Host, now: Time, gate: StreamId) {
        if let Some((id, mut call)) = self.lift_by_stream(gate) {
            self.return_grant(host, now, &mut call);
            self.keep(id, call);
        }
    }

    /// A grant that no attempt has taken up when the answer begins never will be. If no attempt was
    /// ever seen but the provider answered, the attempt half is not installed and the answer is all
    /// there is to go by.
    fn settle_grant(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        status: u16,
        headers: &Headers,
        origin: Origin<'_, impl FnOnce() -> u64>,
    ) {
        if !call.has_grant {
            return;
        }
        let via_upstream = origin.details == b"via_upstream";
        let is_alone = call.attempts_made == 0 && via_upstream;
        if !is_alone {
            if call.attempts_made > 0 {
                self.stats.count(&call.policy_name, Count::RetryDropped);
                if let Some(avoided) = dropped_by(via_upstream, headers, origin) {
                    self.avoid(host, now, &call.policy_name, avoided);
                }
            }
            self.return_grant(host, now, call);
            return;
        }
        self.avoid(host, now, &call.policy_name, Avoided::NoAttemptHalf);
        // There was one; whether Envoy made more is not known.
        call.attempts_made = 1;
        let verdict = classify(&Answer {
            status,
            headers,
            body: &[],
            is_whole: false,
            provider: call.policy().map_or(Provider::AUTO, Policy::provider),
            host: None,
            now_ms: host.wall_ms(),
            rules: call.policy().map_or(&[], |p| p.classify().rules()),
        });
        if let Some(class) = verdict.refused() {
            self.stats.count(&call.policy_name, Count::Refusal(class));
            self.stats.count(&call.policy_name, Count::GaveUp(class));
            call.passed = Some(super::state::Passed {
                class,
                known_wait: verdict.server_min(),
                budget_spent: false,
            });
        }
        self.tell_alone(host, now, call, &verdict);
        if is_refusal_status(status) {
            self.return_grant(host, now, call);
        }
    }

    /// Without an attempt half this is the gate's only word of the answer.
    fn tell_alone(&mut self, host: &impl Host, now: Time, call: &mut Call, verdict: &Verdict) {
        let Some(place) = call.place.filter(|_| call.has_own_slots()) else {
            return;
        };
        call.is_answered = true;
        let is_news = match for_all(verdict, call.policy()) {
            None => self.accept(place, call.epoch),
            Some((class, least)) => {
                let envoys = call.policy().map_or(1, |policy| policy.share().envoys());
                let line = self.gates.line_mut(place);
                line.decide(call.epoch);
                line.refuse(Refusal {
                    epoch: call.epoch,
                    class,
                    least,
                    at: now,
                    took: now.since(call.started.unwrap_or(now)),
                    random: host.random(),
                    envoys,
                    stated: None,
                    is_told: false,
                });
                true
            }
        };
        if is_news {
            self.gates.report(host, now, place);
        }
    }

    /// A slot that no attempt took up goes back.
    pub(super) fn return_grant(&mut self, host: &impl Host, now: Time, call: &mut Call) {
        if std::mem::take(&mut call.has_grant)
            && let Some(place) = call.place
        {
            return_grant(self.gates.line_mut(place), call);
            self.gates.report(host, now, place);
        }
    }
}

/// Which of the route's timeouts ended a hold, where Envoy had not told of it before.
fn ended_by(details: &[u8]) -> Option<Avoided> {
    match details {
        b"upstream_per_try_timeout" | b"upstream_per_try_idle_timeout" => {
            Some(Avoided::PerTryTimeout)
        }
        b"response_timeout" | b"upstream_response_timeout" => Some(Avoided::RouteTimeout),
        _ => None,
    }
}

/// Why Envoy did not make a retry that was granted.
fn dropped_by(
    via_upstream: bool,
    headers: &Headers,
    origin: Origin<'_, impl FnOnce() -> u64>,
) -> Option<Avoided> {
    if !via_upstream {
        let is_full = headers.iter().any(|(n, _)| n == b"x-envoy-overloaded");
        return is_full.then_some(Avoided::BreakerFull);
    }
    let flags = (origin.flags)();
    Some(if flags & UPSTREAM_OVERFLOW != 0 {
        Avoided::BreakerFull
    } else if flags & UPSTREAM_RETRY_LIMIT_EXCEEDED != 0 {
        Avoided::RetriesUsed
    } else {
        Avoided::BodyNotKept
    })
}

/// Puts the provider's answer back as it was and adds what Weir has to say.
fn finish(call: &mut Call, now: Time, headers: &[(Vec<u8>, Vec<u8>)]) -> Vec<Edit> {
    call.stage = Stage::Answered;
    let undo = std::mem::take(&mut call.undo);
    let mut changes = Vec::new();
    if let Some(status) = undo.status {
        changes.push(Edit::Set(":status".into(), status.to_string().into_bytes()));
    }
    changes.extend(undo.added.iter().map(|name| Edit::Remove((*name).into())));
    for (name, value) in &undo.removed {
        if let Ok(text) = std::str::from_utf8(name) {
            changes.push(Edit::Add(text.to_owned().into(), value.clone()));
        }
    }
    let seen = match undo.removed.is_empty() {
        true => Cow::Borrowed(headers),
        false => Cow::Owned([headers, &undo.removed].concat()),
    };
    let queued = call.started.unwrap_or(now).since(call.arrived);
    changes.extend(edits(&Finished {
        attempts: call.attempts_made,
        queued,
        refusal: call.passed.as_ref().map(|passed| passed.class),
        budget_spent: call.passed.as_ref().is_some_and(|p| p.budget_spent),
        wait: call.passed.as_ref().and_then(|passed| passed.known_wait),
        headers: &seen,
    }));
    changes
}
