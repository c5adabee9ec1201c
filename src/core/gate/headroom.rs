//! What the provider says is left, and a pace at which that lasts.
//!
//! Providers that count requests say on every answer how many more they take, and when the count
//! begins anew. While that is plenty it is of no interest. When it runs low, starts are spaced so that
//! what is left lasts until then: the refusal that would come otherwise shuts the gate for everybody.
//!
//! The newest word counts, by the start of the attempt that brought it, less what started since. What
//! is said may be the time until a *bucket* is full again and not the end of a window; then it moves
//! away with each start, and one call fits every `reset / (limit - remaining)`, however little is left.
//!
//! When a count begins anew nobody has a word of it yet: until one comes, no more start than its limit.

use std::time::Duration;

use crate::core::retry::uniform;
use crate::core::time::Time;

/// What has further to go is a quota, and told by its refusal.
pub const FURTHEST: Duration = Duration::from_secs(15 * 60);

/// Where nothing is left: how long after the reset the next call starts at most.
const AFTER_RESET: Duration = Duration::from_millis(50);

/// How long after the reset a word of the new count is waited for, once its limit has started.
const UNTOLD: Duration = Duration::from_secs(10);

/// What fits beside the calls in flight is plenty only if it is more than this.
const HANDFUL: u32 = 2;

/// By how much the end of a window may seem to move, since most are told in whole seconds.
const ROUNDING: Duration = Duration::from_millis(1100);

/// What a worker was told of the calls that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// How many, this Envoy's part.
    pub remaining: u32,
    /// Of how many; 0 if that is not said.
    pub limit: u32,
    /// When the count begins anew.
    pub reset: Time,
    /// When the attempt started that was answered so.
    pub began: Time,
    /// [`Headroom::starts`] at that time.
    pub counted: u32,
    /// A random number for the draw behind the reset.
    pub random: u64,
}

impl Told {
    /// Whether it may be low, with so many calls of one worker in flight: if so, the gate is to know.
    pub fn may_be_low(&self, running: u32) -> bool {
        self.is_low(running.saturating_mul(4).into())
    }

    fn is_low(&self, in_flight: u64) -> bool {
        u64::from(self.remaining) * 10 < u64::from(self.limit)
            || u64::from(self.remaining) < in_flight.saturating_add(HANDFUL.into())
    }
}

/// What is left while that is little; a gate has none while it is plenty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Headroom {
    /// Calls that may start before the reset.
    pub remaining: u32,
    /// Of how many; 0 if that is not said.
    pub limit: u32,
    /// When the count begins anew.
    pub reset: Time,
    /// The same as it was told when it first ran low.
    pub first_reset: Time,
    /// When the attempt started that said so.
    pub began: Time,
    /// When a call last started, or the first word came.
    pub started: Time,
    /// Calls started since the first word.
    pub starts: u32,
    /// A random number for the draw behind the reset.
    pub random: u64,
    /// A word said so; if not, it is what a new count has, and the reset is when it is forgotten.
    pub is_told: bool,
}

impl Headroom {
    /// Takes in a word while `in_flight` calls are at the provider. None if there is plenty.
    pub(super) fn hear(
        known: Option<Headroom>,
        told: Told,
        in_flight: u64,
        now: Time,
    ) -> Option<Headroom> {
        if let Some(newer) = known.filter(|known| known.began > told.began && known.reset > now) {
            return Some(newer);
        }
        if !told.is_low(in_flight) || told.reset <= now {
            return None;
        }
        let since = match known {
            Some(known) => known.starts.saturating_sub(told.counted),
            // Nobody counted. Those at the provider may all be later ones.
            None => u32::try_from(in_flight)
                .unwrap_or(u32::MAX)
                .saturating_sub(1),
        };
        let counted = known.map_or(0, |known| known.starts);
        let known = known.filter(|known| known.is_told && known.reset > now);
        Some(Headroom {
            remaining: told.remaining.saturating_sub(since),
            limit: told.limit,
            reset: told.reset,
            first_reset: known.map_or(told.reset, |known| known.first_reset),
            began: told.began,
            started: known.map_or(now, |known| known.started),
            starts: counted,
            random: told.random,
            is_told: true,
        })
    }

    /// When the next call may start: with anything left, no later than the reset.
    pub(super) fn opens_at(&self) -> Time {
        if !self.is_told && self.remaining > 0 {
            return self.began;
        }
        let left = self.reset.since(self.started);
        let spaced = match self.remaining {
            0 => self.begins_anew(),
            calls => self.started + left / calls.saturating_add(1),
        };
        let used = self.limit.saturating_sub(self.remaining);
        match self.is_bucket() && used > 0 {
            true => spaced.min(self.started + left / used),
            false => spaced,
        }
    }

    /// What is so at `now`: after the reset a new count, if its limit is known, and then nothing.
    pub(super) fn at(self, now: Time) -> Option<Headroom> {
        let begins = self.begins_anew();
        if now < begins {
            return Some(self);
        }
        let is_known = self.is_told && self.limit > 0 && !self.is_bucket();
        let anew = Headroom {
            remaining: self.limit,
            reset: begins + UNTOLD,
            first_reset: begins + UNTOLD,
            began: begins,
            is_told: false,
            ..self
        };
        Some(anew).filter(|anew| is_known && now < anew.reset)
    }

    fn begins_anew(&self) -> Time {
        match self.is_told {
            true => self.reset + uniform(AFTER_RESET, self.random),
            false => self.reset,
        }
    }

    /// A call starts.
    pub(super) fn start(&mut self, now: Time) {
        self.remaining = self.remaining.saturating_sub(1);
        self.starts = self.starts.saturating_add(1);
        self.started = now;
    }

    /// So many starts did not happen after all.
    pub(super) fn give_back(&mut self, starts: u32) {
        self.remaining = self.remaining.saturating_add(starts);
        self.starts = self.starts.saturating_sub(starts);
    }

    /// The reset moves away while calls start: it is when a bucket is full.
    fn is_bucket(&self) -> bool {
        self.reset > self.first_reset + ROUNDING
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn at(millis: u64) -> Time {
        Time(0) + Duration::from_millis(millis)
    }

    fn told(remaining: u32, reset: u64, began: u64) -> Told {
        Told {
            remaining,
            limit: 100,
            reset: at(reset),
            began: at(began),
            counted: 0,
            random: 0,
        }
    }

    fn first(told: Told, in_flight: u64) -> Option<Headroom> {
        Headroom::hear(None, told, in_flight, at(1000))
    }

    #[test]
    fn little_is_less_than_a_tenth_or_than_what_is_in_flight() {
        for (remaining, in_flight, is_low) in [
            (10, 1, false),
            (9, 1, true),
            (12, 10, false),
            (11, 10, true),
            (100, 98, false),
        ] {
            let found = first(told(remaining, 9000, 0), in_flight).is_some();
            assert_eq!(found, is_low, "{remaining} {in_flight}");
        }
        let unknown = |remaining| Told {
            limit: 0,
            ..told(remaining, 9000, 0)
        };
        assert_eq!(
            [2, 3].map(|n| first(unknown(n), 1).is_some()),
            [true, false]
        );
    }

    #[test]
    fn what_is_left_lasts_until_the_reset() {
        let mut headroom = first(told(4, 6000, 0), 1).unwrap();
        let mut starts = Vec::new();
        for _ in 0..6 {
            let next = headroom.opens_at();
            starts.push(next.since(Time(0)).as_millis());
            headroom.start(next);
        }
        // The four that are left, and then the next count, which nothing is known of.
        assert_eq!(starts, [2000, 3000, 4000, 5000, 6000, 6000]);
    }

    #[test]
    fn after_the_reset_a_new_count_begins() {
        let headroom = first(told(0, 6000, 0), 1).unwrap();
        let late = Headroom {
            random: u64::MAX,
            ..headroom
        };
        assert_eq!(headroom.opens_at(), at(6000));
        assert_eq!(late.opens_at(), at(6050));
        assert_eq!(late.at(at(6049)), Some(late));
        assert!(late.at(at(6050)).is_some_and(|anew| !anew.is_told));
    }

    #[test]
    fn of_a_new_count_no_more_start_than_its_limit_before_a_word_comes() {
        let mut anew = first(told(0, 6000, 0), 1).unwrap().at(at(6000)).unwrap();
        for _ in 0..100 {
            assert_eq!(anew.opens_at(), at(6000));
            anew.start(at(6100));
        }
        assert_eq!(anew.opens_at(), at(16_000));
        assert_eq!(anew.at(at(15_999)), Some(anew));
        assert_eq!(anew.at(at(16_000)), None);
        let hear = |told| Headroom::hear(Some(anew), told, 100, at(6200));
        let old = told(0, 6000, 5900);
        assert_eq!(hear(old), Some(anew), "a word of the count before");
        let new = hear(told(40, 66_000, 6050)).unwrap();
        assert!(new.is_told);
        assert_eq!((new.remaining, new.first_reset), (0, at(66_000)));
        let unknown = Headroom {
            limit: 0,
            ..first(told(0, 6000, 0), 1).unwrap()
        };
        assert_eq!(unknown.at(at(6000)), None);
    }

    #[test]
    fn the_newest_word_counts_less_what_started_since() {
        let mut known = first(told(8, 9000, 500), 3).unwrap();
        assert_eq!(known.remaining, 6, "two others may have started later");
        known.start(at(2000));
        known.start(at(3000));
        let hear = |told| Headroom::hear(Some(known), told, 3, at(3500));
        assert_eq!(hear(told(2, 9000, 499)), Some(known), "an older word");
        let counted = Told {
            counted: 1,
            ..told(6, 9000, 2000)
        };
        assert_eq!(hear(counted).unwrap().remaining, 5);
        assert_eq!(hear(told(90, 9000, 2000)), None);
    }

    #[test]
    fn a_word_makes_nobody_wait_anew() {
        let mut known = first(told(4, 6000, 0), 1).unwrap();
        known.start(at(2000));
        let again = Told {
            counted: 1,
            ..told(3, 6000, 2000)
        };
        let then = Headroom::hear(Some(known), again, 1, at(2900)).unwrap();
        assert_eq!(then.opens_at(), at(3000));
    }

    #[test]
    fn a_bucket_lets_a_call_go_whenever_there_is_one_permit() {
        let known = first(told(1, 50_000, 0), 1).unwrap();
        let fuller = Told {
            counted: 0,
            ..told(0, 51_200, 900)
        };
        let then = Headroom::hear(Some(known), fuller, 1, at(1200)).unwrap();
        // 50.2 s for 100 permits.
        assert_eq!(then.opens_at(), at(1502));
        let window = Told {
            reset: at(51_000),
            ..fuller
        };
        let then = Headroom::hear(Some(known), window, 1, at(1200)).unwrap();
        assert_eq!(then.opens_at(), at(51_000));
    }

    #[test]
    fn a_start_that_did_not_happen_is_there_for_the_next() {
        let mut headroom = first(told(4, 6000, 0), 1).unwrap();
        headroom.start(at(2000));
        headroom.give_back(1);
        assert_eq!((headroom.remaining, headroom.starts), (4, 0));
    }
}
