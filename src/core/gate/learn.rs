//! How fast calls may start, learned from refusals.
//!
//! Nothing is known of the provider but what it accepted and what it refused. Providers limit the
//! rate of the last second, of a fixed window, or how fast it grows; a bucket may hide the limit for
//! a while. One behaviour serves them all:
//!
//! - *Fall.* A refusal lowers the rate to a share of what was accepted: a small step if the gate had
//!   been open for a while, larger and larger steps if refusals follow soon upon opening, for then
//!   even less is accepted than it seemed. Once an episode.
//!   (A refusal soon upon opening may be an *echo*: the pause before it made a hole in what the provider
//!   has seen, and a limit on growth is lower after it. Then the rate falls to about what was started
//!   lately, the hole included, and is quickly back.)
//! - *Grow.* While calls wait, the rate grows by a fixed amount and by a share of itself a second.
//!   Growth that goes unpunished grows slowly too; a refusal that comes while growing, at a rate that
//!   was not refused before, is taken for a limit on growth and slows it. Which of the two parts
//!   slows is a matter of how much each contributed.
//! - *Ceiling.* The rate that was refused is remembered. Close below and above it growth takes a
//!   time that is proportional to what a refusal costs, and several times as long with each refusal at
//!   about the same rate. So a limit on the rate is tested rarely, and the more rarely the dearer that
//!   is, while a ceiling that moves, as under a limit on growth, is soon passed and forgotten.
//! - *Unlearn.* While nobody waits the rate falls towards a multiple of what is used. A rate that was
//!   learned from few starts, or from refusals of another kind, lasts only until nobody waits.
//!
//! Why it is stable: below the ceiling the rate only rises, above the limit it is refused within the
//! provider's own window, and falls by at least 5 %. The time between refusals at a fixed limit grows
//! geometrically up to [`RAREST`] crossings, so the share refused falls with time; under a limit on
//! growth each refusal slows growth by [`SLOWER`], and it recovers by [`BOLDER`] a second, so the
//! product settles where refusals are about as many seconds apart as ln(1/SLOWER)/BOLDER. The
//! constants were found by random search over simulated providers with drawn parameters, not over
//! those of the repository; `docs/recovery.md` says how to check it on others.

use std::time::Duration;

use super::ramp::NANO;
use crate::core::time::Time;

/// What a gate has learned of the rate that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Learned {
    /// Starts a second, in billionths; at least [`FLOOR`].
    pub rate: u64,
    /// The rate that was refused; 0 if none is remembered.
    pub ceiling: u64,
    /// Refusals in a row at about the ceiling, the first left out.
    pub confirmed: u8,
    /// Refusals in a row soon after the gate had opened.
    pub early: u8,
    /// Growth a second: in billionths of a start per second.
    pub step: u64,
    /// Growth a second: in billionths of the rate.
    pub share: u64,
    /// Permits that are owed at `at`, in billionths.
    pub debt: u64,
    /// When all this was so.
    pub at: Time,
    /// When the gate last opened.
    pub opened: Time,
    /// When it last fell.
    pub fell: Time,
    /// How long that shut it, in nanoseconds.
    pub cost: u64,
    /// What an echo took the rate down from; below it growth is quick.
    pub level: u64,
    /// The share of attempts whose outcome nobody heard, smoothed, in thousandths.
    pub unheard: u16,
    /// The rate that the provider states; 0 if it does not.
    pub stated: u64,
    /// Somebody waits.
    pub is_pressed: bool,
    /// It outlives the queue.
    pub is_sure: bool,
}

/// What a refusal says to the learned rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lesson {
    /// Starts a second over the last second, in billionths, the refused left out.
    pub(super) measured: u64,
    /// The most in any second since the refusal before.
    pub(super) best: u64,
    /// Starts a second over the last two to three seconds, with the pauses in them.
    pub(super) lately: u64,
    /// Starts in the last ten seconds.
    pub(super) recent: u32,
    /// It was the rate, or its growth, that was refused.
    pub(super) is_of_rate: bool,
    /// The wait that the server asked for.
    pub(super) least: Option<Duration>,
}

/// The lowest rate: one start in 2 s.
pub const FLOOR: u64 = NANO / 2;

/// Fewer starts in ten seconds than this say nothing of a rate.
pub const FEW: u32 = 10;

/// After so long without a refusal all is forgotten.
pub const FORGOTTEN: Duration = Duration::from_secs(15 * 60);

/// A refusal this soon after opening is early.
const EARLY: f64 = 1.5;
/// Under a rate that was kept for less than this, what was started says more than the rate.
const MEASURE: f64 = 0.8;
/// What is left of the rate: after the first refusal, after a late one, after an early one, and how
/// much less after each further early one.
const FIRST: f64 = 0.85;
const LATE: f64 = 0.95;
const SOON: f64 = 0.85;
const SOONER: f64 = 0.12;
const LEAST: f64 = 0.3;
/// A refusal this soon after opening may be the echo of the pause before: a provider that limits growth
/// has seen little during it. Then no more is asked than so many times what started lately, pauses
/// included, though no less than a share of what it would be; and the rest is regained so fast a second.
/// After a longer pause it is no echo: a window has begun anew.
const ECHO: f64 = 3.0;
const HOLE: u64 = 2 * NANO;
const OVER_LATELY: f64 = 1.1;
const DEEPEST: f64 = 0.3;
const REGAINED: f64 = 0.1;
/// Growth at first: starts a second, and a share of the rate, a second.
const STEP: f64 = 1.6;
const SHARE: f64 = 0.13;
/// How much bolder growth becomes a second, up to so many times the first, and what a refusal leaves.
const BOLDER: f64 = 0.08;
const BOLDEST: f64 = 3.7;
const SLOWER: f64 = 0.4;
/// What is near the ceiling, and what is the same rate as it.
const NEAR: [f64; 2] = [0.91, 1.02];
const SAME: f64 = 0.18;
/// Seconds that it takes to pass the ceiling, beside what a refusal costs, and how many times as many
/// after each refusal that confirms it, of which no more than so many count.
const PASSING: f64 = 0.5;
const RARER: f64 = 2.9;
const RAREST: u8 = 4;
/// Unused, the rate falls by so much a second towards so many times what is used and so much more.
const FALL: f64 = 0.6;
const ROOM: f64 = 2.75;
const SPARE: f64 = 14.5;
/// A wait of so many seconds after so many starts in ten says that a window is used up.
const WINDOW: Duration = Duration::from_secs(5);
const MANY: u32 = 100;
/// No more is ever learned, in starts a second.
const HIGHEST: f64 = 1e6;
/// The share of attempts with an unknown outcome is smoothed over so many, and all of them are so many
/// thousandths. From one in twenty on there is no growth.
const SMOOTHED: u16 = 16;
const ALL: u16 = 1000;
/// What may be owed when the next call starts, in billionths of a permit. Little, since a provider's
/// bucket may hold no more than one call: what a coarse timer makes late is made good by the rate.
const LEAD: u64 = NANO / 25;

impl Learned {
    /// The first refusal.
    pub(super) fn first(lesson: &Lesson, now: Time) -> Learned {
        let mut learned = Learned {
            rate: lesson.measured,
            ceiling: 0,
            confirmed: 0,
            early: 0,
            step: nano(STEP),
            share: nano(SHARE),
            debt: 0,
            at: now,
            opened: now,
            fell: now,
            cost: 0,
            level: 0,
            unheard: 0,
            stated: 0,
            is_pressed: false,
            is_sure: false,
        };
        if lesson.is_of_rate {
            learned.ceiling = lesson.measured;
            learned.set(per_second(lesson.measured) * FIRST);
        } else {
            learned.step = nano(STEP * BOLDEST);
            learned.share = nano(SHARE * BOLDEST);
        }
        learned.note(lesson);
        learned
    }

    /// A refusal of an episode that has not lowered anything yet.
    pub(super) fn fall(&mut self, lesson: &Lesson, now: Time) {
        let open_for = now.since(self.opened).as_secs_f64();
        let is_paced = self.is_pressed && open_for > MEASURE;
        let refused = match is_paced {
            true => self.rate,
            false => lesson.measured.min(self.rate),
        };
        self.fell = now;
        if !lesson.is_of_rate {
            self.set(per_second(refused) * FIRST);
            return;
        }
        self.early = match open_for < EARLY {
            true => self.early.saturating_add(1),
            false => 0,
        };
        let left = match self.early {
            0 => LATE,
            again => (SOON - SOONER * f64::from(again - 1)).max(LEAST),
        };
        let gap = self.ceiling.abs_diff(refused) as f64;
        if self.ceiling > 0 && gap < SAME * self.ceiling as f64 {
            self.confirmed = self.confirmed.saturating_add(1).min(RAREST);
            self.ceiling = match refused < self.ceiling {
                true => refused,
                false => self.ceiling / 2 + refused / 2,
            };
        } else {
            self.slow_growth();
            self.confirmed = 0;
            self.ceiling = refused;
        }
        let to = per_second(refused) * left;
        if open_for < ECHO && self.cost < HOLE {
            self.level = nano(to);
            let passed = per_second(lesson.lately) * OVER_LATELY;
            self.set(to.min(passed.max(to * DEEPEST)));
        } else {
            self.set(to);
        }
        self.note(lesson);
    }

    fn note(&mut self, lesson: &Lesson) {
        self.is_sure |= lesson.is_of_rate && lesson.recent >= FEW;
        if lesson.least >= Some(WINDOW) && lesson.recent >= MANY {
            // It was no rate that was refused, and its price is small.
            self.set(per_second(self.rate.max(lesson.best)));
            self.ceiling = 0;
            self.confirmed = 0;
        }
    }

    fn slow_growth(&mut self) {
        let (step, share) = self.growth();
        let of_step = step / (step + share).max(1e-9);
        let slower = |part: f64| 1.0 - (1.0 - SLOWER) * part;
        self.step = nano(per_second(self.step) * slower(of_step));
        self.share = nano(per_second(self.share) * slower(1.0 - of_step));
    }

    /// The provider states its rate: that is what is kept to, whatever was learned.
    pub(super) fn obey(&mut self, stated: u64) {
        self.stated = stated;
        self.ceiling = 0;
        self.confirmed = 0;
        self.is_sure = true;
        self.set(per_second(stated));
    }

    /// The gate opens.
    pub(super) fn open(&mut self, now: Time) {
        self.at = now;
        self.debt = 0;
        self.opened = now;
        self.cost = u64::try_from(now.since(self.fell).as_nanos()).unwrap_or(u64::MAX);
    }

    /// Time passes in an open gate; `used` is how many calls started in the last second, in
    /// billionths.
    pub(super) fn pass(&mut self, now: Time, used: u64) {
        let span = now.since(self.at).as_secs_f64();
        self.debt = self.debt_at(now);
        self.at = self.at.max(now);
        if !self.is_pressed {
            let most = per_second(used) * ROOM + SPARE;
            let fallen = per_second(self.rate) * (1.0 - FALL * span).max(0.0);
            self.set(per_second(self.rate).min(most.max(fallen)));
            return;
        }
        // What is refused unheard must not pass for accepted.
        let heard = 1.0 - f64::from(self.unheard.saturating_mul(20).min(ALL)) / f64::from(ALL);
        let span = span * heard;
        let (step, share) = self.growth();
        let growth = step + share;
        let [near, far] = NEAR.map(|part| part * self.ceiling as f64);
        let rate = self.rate as f64;
        if rate > near && rate < far {
            let seconds = (PASSING + self.cost as f64 / 1e9) * RARER.powi(self.confirmed.into());
            let slow = per_second(self.rate) * (far / near).ln() / seconds;
            self.set(per_second(self.rate) + slow.min(growth) * span);
        } else {
            let regained = match self.rate < self.level {
                true => per_second(self.rate) * REGAINED,
                false => 0.0,
            };
            self.set(per_second(self.rate) + growth.max(regained) * span);
            let bolder = BOLDER * span / growth.max(1e-9);
            let grown = |part: u64, by: f64, first: f64| {
                nano((per_second(part) * (1.0 + bolder * by)).min(first * BOLDEST))
            };
            self.step = grown(self.step, step, STEP);
            self.share = grown(self.share, share, SHARE);
        }
        if self.rate as f64 >= far {
            self.ceiling = 0;
            self.confirmed = 0;
        }
    }

    /// Whether a call may start now.
    pub(super) fn allows(&self, now: Time) -> bool {
        self.debt_at(now) <= LEAD
    }

    /// When the next call may start.
    pub(super) fn next_at(&self, now: Time) -> Time {
        let owed = u128::from(self.debt.saturating_sub(LEAD));
        let nanos = (owed * u128::from(NANO)).div_ceil(u128::from(self.rate.max(1)));
        let span = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        (self.at + span).max(now)
    }

    /// When the call with `ahead` others in front of it may start, if nothing is refused until then:
    /// the rate grows as it does now up to where growth is slow, and then stays.
    pub(super) fn start_after(&self, now: Time, ahead: u64) -> Time {
        let (rate, calls) = (per_second(self.rate), ahead as f64);
        let (step, share) = self.growth();
        let growth = (step + share).max(1e-9);
        let top = match self.ceiling {
            0 => HIGHEST,
            ceiling => rate.max(per_second(ceiling) * NEAR[0]),
        };
        let grows_for = (top - rate) / growth;
        let meanwhile = (rate + top) / 2.0 * grows_for;
        let seconds = match calls < meanwhile {
            true => 2.0 * calls / (rate + (rate * rate + 2.0 * growth * calls).sqrt()),
            false => grows_for + (calls - meanwhile) / top,
        };
        self.next_at(now) + Duration::from_millis((seconds * 1e3).min(1e12) as u64)
    }

    /// A call starts.
    pub(super) fn take(&mut self, now: Time) {
        self.debt = self.debt_at(now).saturating_add(NANO);
        self.at = self.at.max(now);
        self.unheard -= self.unheard.div_ceil(SMOOTHED);
    }

    /// Attempts are over of which nobody knows whether they were accepted.
    pub(super) fn miss(&mut self, attempts: u32) {
        for _ in 0..attempts.min(u32::from(SMOOTHED)) {
            self.unheard = (self.unheard + ALL / SMOOTHED).min(ALL);
        }
    }

    /// A start did not happen after all.
    pub(super) fn give_back(&mut self) {
        self.debt = self.debt.saturating_sub(NANO);
    }

    /// Whether nothing was refused for so long that all is forgotten.
    pub(super) fn is_old(&self, now: Time) -> bool {
        now.since(self.fell) >= FORGOTTEN
    }

    fn debt_at(&self, now: Time) -> u64 {
        let nanos = u128::from(now.0.saturating_sub(self.at.0));
        let paid = nanos * u128::from(self.rate) / u128::from(NANO);
        let paid = u64::try_from(paid).unwrap_or(u64::MAX);
        self.debt.saturating_sub(paid)
    }

    /// Growth a second in starts a second: by the step, and by the share of the rate.
    fn growth(&self) -> (f64, f64) {
        let share = per_second(self.share) * per_second(self.rate);
        (per_second(self.step), share)
    }

    fn set(&mut self, rate: f64) {
        let most = match self.stated {
            0 => HIGHEST,
            stated => per_second(stated).max(per_second(FLOOR)),
        };
        // `clamp` would bring the printing of floats into the plugin.
        self.rate = nano(rate.max(per_second(FLOOR)).min(most));
    }
}

fn per_second(nano: u64) -> f64 {
    nano as f64 / 1e9
}

/// Rounds, so that what does not change stays the same however often it is looked at.
fn nano(per_second: f64) -> u64 {
    (per_second * 1e9 + 0.5) as u64
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn at(ms: u64) -> Time {
        Time(0) + Duration::from_millis(ms)
    }

    fn lesson(per_second: u64) -> Lesson {
        Lesson {
            measured: per_second * NANO,
            best: per_second * NANO,
            lately: per_second * NANO,
            recent: 100,
            is_of_rate: true,
            least: None,
        }
    }

    /// Refused at 40 starts a second, and open again.
    fn refused() -> Learned {
        let mut learned = Learned::first(&lesson(40), at(0));
        learned.open(at(200));
        learned
    }

    /// Calls wait until then, and the gate is looked at every 100 ms.
    fn press(learned: &mut Learned, from: u64, until: u64) {
        for now in (from..until).step_by(100) {
            learned.is_pressed = true;
            learned.pass(at(now), learned.rate);
        }
    }

    #[test]
    fn a_rate_that_is_refused_again_and_again_is_tried_more_and_more_rarely() {
        let mut learned = refused();
        let (mut now, mut spans) = (200, vec![]);
        for _ in 0..4 {
            let opened = now;
            while learned.rate < 40 * NANO {
                press(&mut learned, now, now + 100);
                now += 100;
            }
            spans.push(now - opened);
            learned.fall(&lesson(40), at(now));
            now += 200;
            learned.open(at(now));
        }
        assert!(spans.is_sorted_by(|one, next| one < next), "{spans:?}");
        assert!(spans[3] > 4 * spans[0], "{spans:?}");
    }

    #[test]
    fn refusals_soon_after_opening_lower_it_by_more_each_time() {
        let mut learned = refused();
        let mut now = 200;
        let mut left = vec![];
        for _ in 0..4 {
            let before = learned.rate;
            learned.is_pressed = true;
            now += 1_000;
            learned.pass(at(now), before);
            let refused = learned.rate;
            learned.fall(&lesson(1_000), at(now));
            left.push(learned.rate as f64 / refused as f64);
            learned.open(at(now + 100));
            now += 100;
        }
        assert!(left.is_sorted_by(|one, next| one > next), "{left:?}");
    }

    #[test]
    fn an_echo_of_a_pause_lowers_it_to_what_passed_with_the_pause_and_is_quickly_made_good() {
        let after = |open_for: u64| {
            let mut learned = refused();
            press(&mut learned, 200, 200 + open_for);
            let before = learned.rate;
            let hole = Lesson {
                lately: 20 * NANO,
                ..lesson(40)
            };
            learned.fall(&hole, at(200 + open_for));
            (before, learned)
        };
        let (before, late) = after(3_000);
        assert_eq!(late.rate, nano(per_second(before) * LATE));
        let (_, mut echo) = after(2_000);
        assert_eq!(echo.rate, nano(20.0 * OVER_LATELY));
        let level = echo.level;
        (echo.step, echo.share) = (NANO / 100, 0);
        echo.open(at(2_300));
        press(&mut echo, 2_300, 3_400);
        let grown = per_second(echo.rate) / (20.0 * OVER_LATELY);
        assert!((1.1..1.2).contains(&grown), "{grown} in 1.1 s");
        assert!(echo.rate < level);
    }

    #[test]
    fn who_comes_late_starts_by_a_rate_that_has_grown() {
        let mut learned = refused();
        let starts = |learned: &Learned, ahead| learned.start_after(at(200), ahead).since(at(200));
        // Below 36.4 a second, where growth is slow, it starts at 34 and grows by 6.02 a second.
        (learned.step, learned.share) = (nano(6.02), 0);
        assert_eq!(learned.rate, nano(34.0));
        assert_eq!(starts(&learned, 0), Duration::ZERO);
        assert_eq!(starts(&learned, 10).as_millis(), 286);
        assert_eq!(starts(&learned, 1_000).as_millis(), 27_485);
        learned.ceiling = 0;
        assert_eq!(starts(&learned, 1_000).as_millis(), 13_434);
    }

    #[test]
    fn growth_stops_while_nobody_hears_what_becomes_of_attempts() {
        let mut learned = refused();
        let before = learned.rate;
        learned.miss(1);
        press(&mut learned, 200, 5_000);
        assert_eq!(learned.rate, before);
        for _ in 0..200 {
            learned.take(at(5_000));
        }
        press(&mut learned, 5_000, 10_000);
        assert!(learned.rate > before);
    }

    #[test]
    fn unused_it_falls_to_what_is_used_and_some_more_and_never_rises() {
        let mut learned = refused();
        learned.rate = 400 * NANO;
        let mut before = learned.rate;
        for now in (200..60_000).step_by(100) {
            learned.pass(at(now), 2 * NANO);
            assert!(learned.rate <= before);
            before = learned.rate;
        }
        assert_eq!(learned.rate, nano(2.0 * ROOM + SPARE));
    }

    #[test]
    fn a_long_wait_after_many_starts_is_a_window_that_is_used_up() {
        let mut learned = refused();
        let window = Lesson {
            least: Some(Duration::from_secs(8)),
            ..lesson(90)
        };
        learned.fall(&window, at(9_000));
        assert_eq!((learned.rate, learned.ceiling), (90 * NANO, 0));
    }

    #[cfg(not(target_family = "wasm"))]
    mod properties {
        use proptest::prelude::*;

        use super::*;

        #[derive(Clone, Copy, Debug)]
        enum Step {
            Pass { pressed: bool, used: u64 },
            Take,
            Miss(u32),
            Refused { measured: u64, of_rate: bool },
            Obey(u64),
        }

        fn step() -> impl Strategy<Value = Step> {
            let rate = 0..200 * NANO;
            prop_oneof![
                4 => (any::<bool>(), rate.clone()).prop_map(|(pressed, used)| Step::Pass { pressed, used }),
                4 => Just(Step::Take),
                1 => (0_u32..40).prop_map(Step::Miss),
                2 => (rate.clone(), any::<bool>()).prop_map(|(measured, of_rate)| Step::Refused { measured, of_rate }),
                1 => rate.prop_map(Step::Obey),
            ]
        }

        proptest! {
            /// Whatever happens, the rate stays within its bounds, a refusal never raises it above what
            /// was refused, and the next start comes at a time that can be waited for.
            #[test]
            fn it_keeps_its_bounds(
                steps in proptest::collection::vec((0_u64..20_000, step()), 1..200),
            ) {
                let mut now = 0;
                let mut learned = refused();
                for (ms, step) in steps {
                    now += ms;
                    let before = learned.rate;
                    match step {
                        Step::Pass { pressed, used } => {
                            learned.is_pressed = pressed;
                            learned.pass(at(now), used);
                            prop_assert!(pressed || learned.rate <= before);
                            prop_assert!(!pressed || learned.rate >= before);
                        }
                        Step::Take if learned.allows(at(now)) => learned.take(at(now)),
                        Step::Take => {}
                        Step::Miss(attempts) => learned.miss(attempts),
                        Step::Refused { measured, of_rate } => {
                            let lesson = Lesson { measured, is_of_rate: of_rate, ..lesson(0) };
                            learned.fall(&lesson, at(now));
                            prop_assert!(learned.rate <= before.max(FLOOR));
                            learned.open(at(now + 100));
                            now += 100;
                        }
                        Step::Obey(rate) => learned.obey(rate),
                    }
                    prop_assert!(learned.rate >= FLOOR);
                    let most = if learned.stated > 0 { learned.stated.max(FLOOR) } else { nano(HIGHEST) };
                    prop_assert!(learned.rate <= most);
                    prop_assert!(learned.unheard <= ALL);
                    // A start is owed no more than its own turn at the lowest rate.
                    prop_assert!(learned.next_at(at(now)).since(at(now)) <= Duration::from_secs(2));
                }
            }
        }
    }
}
