use std::time::Duration;

use super::uniform;
use crate::core::classify::Class;

/// The back-off of one call: decorrelated jitter with its window clamped before the draw.
///
/// `lo = base`, `hi = min(cap, 3 * max(lo, previous))`, `drawn = U[lo, hi]`. The original form
/// (AWS architecture blog, "Exponential Backoff And Jitter") clamps after the draw, which piles
/// most draws up at the cap and makes the calls synchronous again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    previous: Option<(Class, Duration)>,
}

/// One drawn delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The draw from the window, which widens the next one.
    pub drawn: Duration,
    /// How long the call waits: the draw, lifted above the provider's minimum if it gave one.
    pub wait: Duration,
}

impl Backoff {
    /// Draws the delay after a refusal.
    ///
    /// `base` and `cap` are the window of the refusal's class; a cap below the base counts as the
    /// base. `random` holds two independent uniform numbers. With a minimum m the wait lies in
    /// [t, 1.5 t], where t = max(drawn, m): never before the provider's word (L9), nor all at it.
    pub fn draw(
        &mut self,
        class: Class,
        base: Duration,
        cap: Duration,
        server_min: Option<Duration>,
        random: [u64; 2],
    ) -> Delay {
        let [first, second] = random;
        let previous = match self.previous {
            Some((of, drawn)) if of == class => drawn.max(base),
            _ => base,
        };
        let hi = cap.min(previous.saturating_mul(3)).max(base);
        let drawn = base.saturating_add(uniform(hi - base, first));
        self.previous = Some((class, drawn));
        let wait = match server_min {
            None => drawn,
            Some(min) => {
                let least = drawn.max(min);
                least.saturating_add(uniform(least / 2, second))
            }
        };
        Delay { drawn, wait }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const MIN: u64 = 0;
    const MAX: u64 = u64::MAX;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The smallest and largest draw in a window, from one state.
    fn ends(state: Backoff, class: Class, base: u64, cap: u64) -> [Duration; 2] {
        [MIN, MAX].map(|r| {
            let mut state = state;
            state.draw(class, ms(base), ms(cap), None, [r, MIN]).drawn
        })
    }

    #[test]
    fn windows_are_as_stated() {
        let fresh = Backoff::default();
        assert_eq!(ends(fresh, Class::Rate, 1000, 8000), [ms(1000), ms(3000)]);
        assert_eq!(
            ends(fresh, Class::BurstRate, 5000, 15000),
            [ms(5000), ms(15000)]
        );
        let after = |millis| Backoff {
            previous: Some((Class::Rate, ms(millis))),
        };
        assert_eq!(
            ends(after(2500), Class::Rate, 1000, 8000),
            [ms(1000), ms(7500)]
        );
        assert_eq!(
            ends(after(7500), Class::Rate, 1000, 8000),
            [ms(1000), ms(8000)]
        );
        // A class that changes starts again.
        assert_eq!(
            ends(after(2500), Class::Overloaded, 1000, 8000),
            [ms(1000), ms(3000)]
        );
        // Windows that no checked config holds.
        assert_eq!(ends(fresh, Class::Rate, 1000, 10), [ms(1000), ms(1000)]);
        assert_eq!(ends(fresh, Class::Rate, 0, 0), [ms(0), ms(0)]);
    }

    #[test]
    fn a_draw_widens_the_next_window() {
        let mut backoff = Backoff::default();
        let rate = |b: &mut Backoff| {
            b.draw(Class::Rate, ms(1000), ms(8000), None, [MAX, MIN])
                .drawn
        };
        assert_eq!(
            [(); 3].map(|()| rate(&mut backoff)),
            [ms(3000), ms(8000), ms(8000)]
        );
    }

    #[test]
    fn a_minimum_lifts_the_wait_and_not_the_draw() {
        for (second, wait) in [(MIN, ms(4000)), (MAX, ms(6000))] {
            let mut backoff = Backoff {
                previous: Some((Class::Rate, ms(500))),
            };
            // A quarter of [1000, 3000] is 1500.
            let random = [1 << 62, second];
            let delay = backoff.draw(Class::Rate, ms(1000), ms(8000), Some(ms(4000)), random);
            assert_eq!(
                delay,
                Delay {
                    drawn: ms(1500),
                    wait
                }
            );
        }
    }

    /// Kolmogorov-Smirnov against the uniform distribution; 1.63 / sqrt(n) is the 1 % bound, and
    /// the stream is fixed.
    #[test]
    fn draws_and_waits_are_uniform() {
        const N: usize = 20_000;
        let mut stream = SplitMix(7);
        let mut draws = Vec::new();
        let mut waits = Vec::new();
        for _ in 0..N {
            let random = [stream.next(), stream.next()];
            let min = Some(ms(4000));
            let delay = Backoff::default().draw(Class::Rate, ms(1000), ms(8000), min, random);
            draws.push((delay.drawn - ms(1000)).as_secs_f64() / 2.0);
            waits.push((delay.wait - ms(4000)).as_secs_f64() / 2.0);
        }
        for mut sample in [draws, waits] {
            sample.sort_by(f64::total_cmp);
            let n = N as f64;
            let worst = sample
                .iter()
                .enumerate()
                .map(|(i, x)| (x - i as f64 / n).abs().max((x - (i + 1) as f64 / n).abs()))
                .fold(0.0, f64::max);
            assert!(worst < 1.63 / n.sqrt(), "{worst}");
        }
    }

    /// Steele, Lea and Flood, "Fast splittable pseudorandom number generators".
    struct SplitMix(u64);

    impl SplitMix {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[cfg(not(target_family = "wasm"))]
    mod laws {
        use super::*;
        use proptest::prelude::*;

        fn spans() -> impl Strategy<Value = Duration> {
            prop_oneof![
                (0u64..100_000).prop_map(Duration::from_millis),
                (any::<u64>(), 0u32..1_000_000_000).prop_map(|(s, n)| Duration::new(s, n)),
            ]
        }

        proptest! {
            /// L9: never below the minimum, never above t + t/2.
            #[test]
            fn waits_lie_between_t_and_one_and_a_half_t(
                base in spans(), cap in spans(), previous in proptest::option::of(spans()),
                min in proptest::option::of(spans()), random in any::<[u64; 2]>(),
            ) {
                let mut backoff = Backoff { previous: previous.map(|p| (Class::Rate, p)) };
                let delay = backoff.draw(Class::Rate, base, cap, min, random);
                prop_assert!(delay.drawn >= base && delay.drawn <= cap.max(base));
                let t = delay.drawn.max(min.unwrap_or_default());
                prop_assert!(delay.wait >= t);
                prop_assert!(delay.wait <= t.saturating_add(t / 2));
                prop_assert!(min.is_some() || delay.wait == delay.drawn);
            }
        }
    }
}
