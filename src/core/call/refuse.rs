//! Weir refuses a call itself: why, and when to come back.

use std::time::Duration;

use super::Worker;
use super::state::{Call, Stage};
use super::turn_away::reason;
use crate::core::answer::{Refusal, Refused, Reply};
use crate::core::classify::Class;
use crate::core::gate::estimate::expected_wait;
use crate::core::gate::{Keeps, Pause, Refuse, Why};
use crate::core::report::stats::Count;
use crate::core::time::Time;
use crate::port::Host;

/// When a refused caller is told to come back while nothing better is known.
const COME_BACK: Duration = Duration::from_secs(1);

/// Nobody is sent away for longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// What a refused call is told.
struct Told {
    reason: Refused,
    limit: Option<&'static str>,
    class: Option<Class>,
    position: Option<u64>,
    expected: Option<Duration>,
    come_back: Option<Duration>,
    is_final: bool,
}

impl Worker {
    /// A call can neither start nor wait.
    pub(super) fn refuse_at_arrival(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        refuse: Refuse,
    ) -> Reply {
        let Refuse {
            why,
            position,
            expected,
        } = refuse;
        let pace = match call.policy() {
            Some(policy) if policy.rate().is_none() => "ramp",
            _ => "rate",
        };
        let (until, by_stay) = call.wait_ends();
        // Its client had the whole budget before, and more of it does not come by waiting.
        let is_final = call.deadline <= now && call.budget_since < call.arrived;
        let (reason, limit, come_back) = match why {
            Why::Shut(pause) => {
                return self.refuse_for_pause(host, now, call, pause, Some(position));
            }
            Why::NoWait { keeps } => {
                let limit = match keeps {
                    Keeps::Slot => Some("max_concurrent_calls"),
                    Keeps::Pace => Some(pace),
                    Keeps::Pause => None,
                };
                (Refused::NoWait, limit, expected)
            }
            // By then a quarter of those who wait have started.
            Why::QueueFull => (
                Refused::QueueFull,
                Some("max_waiting"),
                expected.map(|e| e / 4),
            ),
            Why::TooLate { .. } if is_final => {
                (Refused::Deadline, Some(call.deadline_field), expected)
            }
            // By then a wait that is allowed would do.
            Why::TooLate { start } => (
                if by_stay {
                    Refused::WaitTooLong
                } else {
                    Refused::Deadline
                },
                Some(if by_stay {
                    "max_wait_ms"
                } else {
                    call.deadline_field
                }),
                Some(start.since(until).max(Duration::from_millis(1))),
            ),
        };
        let expected = match why {
            Why::TooLate { start } => Some(start.since(now)),
            _ => expected,
        };
        let position = Some(position);
        let told = Told {
            reason,
            limit,
            class: None,
            position,
            expected,
            come_back,
            is_final,
        };
        self.refuse(host, call, told)
    }

    /// A call has waited for as long as it may.
    pub(super) fn refuse_waiter(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        by_stay: bool,
    ) -> Reply {
        let record = call.place.and_then(|place| self.gates.record(host, place));
        let expected = record.and_then(|r| expected_wait(&r, now, r.uncovered()));
        let told = Told {
            reason: if by_stay {
                Refused::WaitTooLong
            } else {
                Refused::Deadline
            },
            limit: Some(if by_stay {
                "max_wait_ms"
            } else {
                call.deadline_field
            }),
            class: None,
            position: None,
            expected,
            come_back: expected,
            is_final: false,
        };
        self.refuse(host, call, told)
    }

    /// The gate is shut for longer than the call can wait. It is told when that ends.
    pub(super) fn refuse_for_pause(
        &mut self,
        host: &impl Host,
        now: Time,
        call: &mut Call,
        pause: Pause,
        position: Option<u64>,
    ) -> Reply {
        let left = Some(pause.until.since(now));
        let told = Told {
            reason: reason(&pause),
            limit: None,
            class: Some(pause.class),
            position,
            expected: left,
            come_back: left,
            is_final: pause.is_quota(),
        };
        self.refuse(host, call, told)
    }

    fn refuse(&mut self, host: &impl Host, call: &mut Call, told: Told) -> Reply {
        self.stats
            .count(&call.policy_name, Count::Refused(told.reason));
        call.stage = Stage::Refused;
        let refusal = Refusal {
            reason: told.reason,
            policy: &call.policy_name,
            limit: told.limit,
            class: told.class,
            position: told.position,
            expected_wait: told.expected.map(rounded),
            retry_after: told.come_back.unwrap_or(COME_BACK).min(LONGEST),
            is_final: told.is_final,
        };
        refusal.render(host.random())
    }
}

/// An estimate as people read it: up to two digits that mean something.
fn rounded(wait: Duration) -> Duration {
    let millis = wait.as_millis().min(LONGEST.as_millis() * 24);
    let unit = match millis {
        0..1_000 => 10,
        1_000..10_000 => 100,
        _ => 1_000,
    };
    let millis = millis.div_ceil(unit) * unit;
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn estimates_are_told_in_round_numbers() {
        let table = [(0, 0), (1, 10), (995, 1000), (1001, 1100), (41_001, 42_000)];
        for (exact, told) in table {
            let exact = Duration::from_millis(exact);
            assert_eq!(rounded(exact).as_millis(), told, "{exact:?}");
        }
        assert_eq!(rounded(Duration::MAX), LONGEST * 24);
    }
}
