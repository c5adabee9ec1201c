//! What a gate hears of the provider's answers.
//!
//! A refusal is told at its headers, with what they alone say, and again when its body has said more.
//! That an attempt was accepted is told only while it is news, so that a call of a gate without
//! trouble costs no more than its start and its end.

use std::time::Duration;

use super::read::answer_of;
use super::state::{Call, Told};
use super::{StreamId, Worker};
use crate::core::classify::{Answer, Class, Scope, Verdict, classify};
use crate::core::config::Policy;
use crate::core::gate::Refusal;
use crate::core::time::Time;
use crate::core::wait::GateId;
use crate::port::Host;

impl Worker {
    /// The headers of an answer whose status says that it is a refusal.
    pub(super) fn tell_headers(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
    ) {
        let policy = call.config.policies().get(call.policy);
        let attempt = call.attempts.get(&stream);
        if let Some(attempt) = attempt
            && let Some(reading) = &attempt.reading
        {
            let verdict = classify(&Answer {
                is_whole: false,
                ..answer_of(reading, policy, attempt.host.as_deref(), host.wall_ms())
            });
            self.tell_refused(host, now, call, stream, &verdict);
        }
    }

    /// An attempt was refused. If it has a slot, giving that back is what tells the gate.
    pub(super) fn tell_refused(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        verdict: &Verdict,
    ) {
        let Some((class, least)) = for_all(verdict, call.policy()) else {
            return self.take_back(host, now, call, stream);
        };
        let counts = call.has_own_slots();
        let policy = call.config.policies().get(call.policy);
        let Some((attempt, place)) = call.attempts.get_mut(&stream).zip(call.place) else {
            return;
        };
        let stated = verdict.limits.and_then(|limits| limits.in_calls());
        let before = attempt.told;
        let is_news = before
            .is_none_or(|told| (told.class, told.least, told.stated) != (class, least, stated));
        if !counts || !is_news {
            return;
        }
        let at = before.map_or(now, |told| told.at);
        attempt.told = Some(Told {
            class,
            least,
            stated,
            at,
        });
        let envoys = policy.map_or(1, |policy| policy.share().envoys());
        self.gates.line_mut(place).refuse(Refusal {
            epoch: attempt.epoch,
            class,
            least,
            at,
            took: at.since(attempt.began),
            random: host.random(),
            envoys,
            stated,
            is_told: before.is_some(),
        });
        if !attempt.has_slot {
            self.gates.report(host, now, place);
        }
    }

    /// The answer is no refusal. Unless it has been read to its end, the gate hears of it now.
    pub(super) fn tell_accepted(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        stream: StreamId,
        is_whole: bool,
    ) {
        let Some((attempt, place)) = call.attempts.get_mut(&stream).zip(call.place) else {
            return;
        };
        if !std::mem::take(&mut attempt.is_undecided) {
            return self.take_back(host, now, call, stream);
        }
        if self.accept(place, attempt.epoch) && !is_whole {
            self.gates.report(host, now, place);
        }
    }

    /// An attempt that started in this epoch was accepted. True if the gate should hear of it.
    pub(super) fn accept(&mut self, place: GateId, epoch: u32) -> bool {
        let is_news = self.gates.sight(place).is_recovering;
        if is_news {
            let line = self.gates.line_mut(place);
            line.decide(epoch);
            line.accept(epoch);
        } else {
            self.gates.decide(place, epoch);
        }
        is_news
    }

    /// The epoch of an attempt that Envoy starts on its own. While a gate recovers it is none of
    /// those that the gate has let go.
    pub(super) fn epoch_of_unplanned(&self, place: GateId) -> u32 {
        let sight = self.gates.sight(place);
        sight.epoch.saturating_sub(u32::from(sight.is_recovering))
    }

    /// By its headers the answer was a refusal, and it is none, or none that concerns other calls.
    fn take_back(&mut self, host: &impl Host, now: Time, call: &mut Call, stream: StreamId) {
        if let Some((attempt, place)) = call.attempts.get_mut(&stream).zip(call.place)
            && attempt.told.take().is_some()
        {
            self.gates.line_mut(place).take_back(attempt.epoch);
            self.gates.report(host, now, place);
        }
    }
}

/// The class of a refusal that concerns more than its request, and how long a wait the server asks
/// for, as far as it is heeded.
pub(super) fn for_all(
    verdict: &Verdict,
    policy: Option<&Policy>,
) -> Option<(Class, Option<Duration>)> {
    let class = verdict.refused()?;
    if verdict.scope == Scope::Request {
        return None;
    }
    let cap = policy.map_or(Duration::MAX, |policy| policy.retry().retry_after_cap());
    let least = match class {
        Class::QuotaExhausted => verdict.server_min(),
        _ => verdict.server_min().map(|least| least.min(cap)),
    };
    Some((class, least))
}
