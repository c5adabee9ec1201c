//! How fast calls may start, all in all: by the pace that is configured and by what was learned; and
//! what refusals teach.

use std::time::Duration;

use super::adaptive_cap::AdaptiveCap;
use super::learn::{FEW, FORGOTTEN, Learned, Lesson};
use super::record::Record;
use super::recovery::Recovery;
use crate::core::classify::{Class, Stated};
use crate::core::time::Time;

/// What was so when a refusal began an episode. What follows from it is decided when its class is
/// known for certain, before the gate opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// Starts a second over the last second, in billionths, without the refused.
    pub measured: u64,
    /// The most in any second since the refusal before.
    pub best: u64,
    /// Starts a second over some seconds.
    pub lately: u64,
    /// Starts in the last ten seconds.
    pub recent: u32,
    /// Attempts in flight, without the refused.
    pub in_flight: u32,
    /// When it was.
    pub at: Time,
}

impl Snapshot {
    fn lesson(&self, is_of_rate: bool, least: Option<Duration>) -> Lesson {
        Lesson {
            measured: self.measured,
            best: self.best,
            lately: self.lately,
            recent: self.recent,
            is_of_rate,
            least,
        }
    }
}

impl Record {
    /// Most attempts in flight, by the configuration and by what was learned.
    pub fn limit(&self) -> u64 {
        let learned = self.adaptive_cap.map_or(u64::MAX, |cap| cap.limit.into());
        self.setting.limit().min(learned)
    }

    /// Whether the pace and what was learned let a waiter start.
    pub fn has_permit(&self, now: Time) -> bool {
        self.bucket.allows(&self.setting.pace, now)
            && self
                .learned
                .as_ref()
                .is_none_or(|learned| learned.allows(now) || self.is_slight(now))
    }

    /// When pace and what was learned let a call start with `ahead` waiters in front of it.
    pub(super) fn permit_at(&self, from: Time, ahead: u64) -> Time {
        let by_pace = match self.sight().lasting(from) {
            None => self.bucket.next_at(&self.setting.pace, from, ahead),
            Some(_) => {
                self.bucket
                    .at(&self.setting.pace, from)
                    .next_at(&self.setting.pace, from, ahead)
            }
        };
        match &self.learned {
            Some(learned) if ahead == 0 => by_pace.max(learned.next_at(from)),
            Some(learned) => by_pace.max(learned.start_after(from, ahead)),
            None => by_pace,
        }
    }

    /// A call starts.
    pub(super) fn take_permit(&mut self, now: Time) {
        self.bucket.take(&self.setting.pace, now);
        self.count_start(now);
    }

    /// Something started that nobody asked for.
    pub(super) fn take_unasked(&mut self, now: Time) {
        self.bucket.take_unasked(&self.setting.pace, now);
        self.count_start(now);
    }

    /// A start did not happen after all.
    pub(super) fn return_permit(&mut self, now: Time) {
        self.bucket.give_back(&self.setting.pace, now);
        if let Some(headroom) = &mut self.headroom {
            headroom.give_back(1);
        }
        if self.setting.pace.learns {
            self.meter.uncount(now);
        }
        if let Some(learned) = &mut self.learned {
            learned.give_back();
        }
    }

    /// Attempts are over of which nobody knows whether they were accepted.
    pub(super) fn miss(&mut self, attempts: u32) {
        if let Some(learned) = &mut self.learned {
            learned.miss(attempts);
        }
    }

    fn count_start(&mut self, now: Time) {
        if let Some(headroom) = &mut self.headroom {
            headroom.start(now);
        }
        if self.setting.pace.learns {
            self.meter.count(now);
        }
        if let Some(learned) = &mut self.learned {
            learned.take(now);
        }
    }

    /// Traffic so low that no rate says anything of it: nobody waits, and few came.
    fn is_slight(&self, now: Time) -> bool {
        self.uncovered() == 0 && self.meter.in_ten_seconds(now) < FEW
    }

    /// Time passes for what was learned.
    pub(super) fn pass_time(&mut self, now: Time) {
        let is_open = self.recovery.as_ref().is_none_or(|r| r.is_open());
        if let Some(learned) = &mut self.learned
            && is_open
        {
            learned.pass(now, self.meter.rate(now, 0));
        }
        let is_old = |learned: &Learned| !self.setting.pace.learns || learned.is_old(now);
        if self.learned.as_ref().is_some_and(|learned| is_old(learned)) {
            self.learned = None;
        }
        if self
            .adaptive_cap
            .is_some_and(|cap| !self.setting.pace.learns || now.since(cap.fell) >= FORGOTTEN)
        {
            self.adaptive_cap = None;
        }
    }

    /// Whether calls wait is what growth hangs on, and what is not certain lasts only while they do.
    pub(super) fn note_pressure(&mut self) {
        let is_open = self.recovery.as_ref().is_none_or(|r| r.is_open());
        let is_pressed = self.uncovered() > 0;
        if let Some(learned) = &mut self.learned {
            learned.is_pressed = is_pressed;
            if is_open && !is_pressed && !learned.is_sure {
                self.learned = None;
            }
        }
    }

    /// If only the learned cap keeps a waiter, it may give way. True if it did.
    pub(super) fn press_cap(&mut self, now: Time) -> bool {
        let in_flight = self.in_flight();
        let is_all = in_flight >= self.limit()
            && in_flight < self.setting.limit()
            && self.opens_at() <= now
            && self.has_permit(now);
        is_all && self.adaptive_cap.as_mut().is_some_and(|cap| cap.press(now))
    }

    /// What is so as a refusal begins an episode.
    pub(super) fn snapshot(&self, now: Time) -> Snapshot {
        Snapshot {
            measured: self.meter.rate(now, 1),
            best: self.meter.best,
            lately: self.meter.lately(now),
            recent: self.meter.in_ten_seconds(now).saturating_sub(1),
            in_flight: u32::try_from(self.in_flight()).unwrap_or(u32::MAX),
            at: now,
        }
    }

    /// Limits fall, once for each episode, now that its class is known.
    pub(super) fn learn(&mut self, snapshot: &Snapshot, of: &Recovery) {
        if !self.setting.pace.learns || of.class == Class::QuotaExhausted {
            return;
        }
        let least = of.is_stated.then(|| of.until.since(snapshot.at));
        let is_of_rate = matches!(of.class, Class::BurstRate | Class::Rate);
        let lesson = snapshot.lesson(is_of_rate, least);
        let at = snapshot.at;
        match &mut self.learned {
            Some(learned) => learned.fall(&lesson, at),
            None => self.learned = Some(Box::new(Learned::first(&lesson, at))),
        }
        self.meter.best = 0;
        if of.class == Class::Concurrency {
            let in_flight = snapshot.in_flight.into();
            match &mut self.adaptive_cap {
                Some(cap) => cap.fall(in_flight, at),
                None => self.adaptive_cap = Some(AdaptiveCap::first(in_flight, at)),
            }
        }
    }

    /// A refusal states a limit: it is used exactly.
    pub(super) fn obey(&mut self, limit: Stated, now: Time) {
        if !self.setting.pace.learns {
            return;
        }
        match limit {
            Stated::PerSecond(rate) => {
                let lesson = self.snapshot(now).lesson(true, None);
                self.learned
                    .get_or_insert_with(|| Box::new(Learned::first(&lesson, now)))
                    .obey(rate);
            }
            Stated::AtOnce(calls) => self.adaptive_cap = Some(AdaptiveCap::stated(calls, now)),
        }
    }

    /// Whether what was learned may be forgotten with the gate.
    pub(super) fn has_learned(&self) -> bool {
        self.learned.as_ref().is_some_and(|learned| learned.is_sure) || self.adaptive_cap.is_some()
    }

    /// The learned rate in starts a second, in billionths.
    pub fn learned_rate(&self) -> Option<u64> {
        self.learned.as_ref().map(|learned| learned.rate)
    }
}

/// How long a gate that has learned something is kept at least.
pub(super) const KEPT: Duration = FORGOTTEN;

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::{Event, Key, Owner, Pace, Setting, Standing, apply};
    use super::*;

    #[test]
    fn a_learned_cap_gives_way_to_a_waiter_and_to_nobody_else() {
        let setting = Setting {
            hash: 1,
            cap: 0,
            max_waiting: 9,
            pace: Pace {
                learns: true,
                ..Pace::UNBOUND
            },
        };
        let mut record = Record::new(1, 2, setting, Time(0));
        record.adaptive_cap = Some(AdaptiveCap::first(1, Time(0)));
        let mut limit_after = |running, fresh| {
            let owner = Owner {
                slot: 3,
                generation: 1,
            };
            let standing = Standing {
                running,
                fresh,
                head: Key::at(1),
                ..Standing::NONE
            };
            let now = Time(0) + Duration::from_secs(60);
            apply(&mut record, owner, standing, Event::Report, now).expect("not fenced");
            (record.limit(), record.in_flight())
        };
        // Nobody waits.
        assert_eq!(limit_after(1, 0), (1, 1));
        // A slot is free for who waits, and then another comes.
        assert_eq!(limit_after(0, 1), (1, 1));
        assert_eq!(limit_after(0, 2), (2, 2));
    }
}
