use std::time::Duration;

use crate::core::classify::{Class, Verdict};
use crate::core::time::Time;

/// How many attempts a call may make in all, the first included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxAttempts {
    /// After a refusal of class rate, concurrency or overloaded.
    pub retry: u32,
    /// After a refusal of class burst_rate.
    pub burst: u32,
}

impl MaxAttempts {
    /// The effective maximum after a refusal of this class: one for a class never retried.
    pub fn of(self, class: Class) -> u32 {
        match class {
            Class::BurstRate => self.burst,
            Class::Rate | Class::Concurrency | Class::Overloaded => self.retry,
            Class::QuotaExhausted | Class::Other => 1,
        }
    }
}

/// A call that was just refused.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// What the refusal said.
    pub verdict: Verdict,
    /// Attempts made, the refused one included.
    pub attempts_made: u32,
    /// Attempts allowed.
    pub max_attempts: MaxAttempts,
    /// Whether the request had been sent to its end when the refusal ended: Envoy does not survive
    /// a hold before that.
    pub request_complete: bool,
    /// Whether so much is known of the refusal's body that it may be held.
    pub can_be_held: bool,
    /// The time of the decision.
    pub now: Time,
    /// The earliest of the call's deadlines for the start of its last attempt.
    pub deadline: Option<Time>,
    /// The gate is shut for longer than the call can wait.
    pub is_shut_out: bool,
    /// The longest minimum of a provider that is waited for.
    pub retry_after_cap: Duration,
    /// The wait drawn for this refusal.
    pub delay: Duration,
}

/// What to do with a refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Hold the refusal back and retry.
    Hold {
        /// Before this time the call is no waiter (L9).
        not_before: Time,
        /// From now to `not_before`.
        delay: Duration,
    },
    /// Pass the provider's refusal on to the client (L11).
    GiveUp {
        /// The first reason that forbids a retry.
        why: GiveUp,
    },
}

/// Why a refused call is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// Waiting does not help, or the answer is no refusal.
    NotRetryable,
    /// Every attempt allowed for the class has been made.
    AttemptsSpent,
    /// The provider asks for a longer wait than is waited for.
    ServerWaitTooLong,
    /// The wait does not fit the call's deadline (L10).
    Deadline,
    /// The client was still sending the request.
    RequestIncomplete,
    /// The refusal's body is too big to hold, or cannot be seen.
    CannotBeHeld,
}

/// Decides whether a refused call is held for a retry.
///
/// What the refusal and the config forbid comes first: the last two reasons are of Weir's own
/// making and mean that a retry would else have been made.
pub fn decide(call: &Situation) -> Plan {
    let not_before = call.now + call.delay;
    match forbidden(call, not_before) {
        Some(why) => Plan::GiveUp { why },
        None => Plan::Hold {
            not_before,
            delay: call.delay,
        },
    }
}

fn forbidden(call: &Situation, not_before: Time) -> Option<GiveUp> {
    let class = match call.verdict.refused() {
        Some(class) if call.verdict.retryable => class,
        _ => return Some(GiveUp::NotRetryable),
    };
    let server_min = call.verdict.server_min().unwrap_or_default();
    [
        (
            call.attempts_made >= call.max_attempts.of(class),
            GiveUp::AttemptsSpent,
        ),
        (server_min > call.retry_after_cap, GiveUp::ServerWaitTooLong),
        (
            call.is_shut_out || call.deadline.is_some_and(|at| not_before > at),
            GiveUp::Deadline,
        ),
        (!call.request_complete, GiveUp::RequestIncomplete),
        (!call.can_be_held, GiveUp::CannotBeHeld),
    ]
    .into_iter()
    .find_map(|(holds, why)| holds.then_some(why))
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused(class: Class) -> Situation {
        Situation {
            verdict: Verdict {
                refusal: class != Class::Other,
                class,
                retryable: class.is_retryable(),
                ..Verdict::NOT_A_REFUSAL
            },
            attempts_made: 1,
            max_attempts: MaxAttempts { retry: 3, burst: 2 },
            request_complete: true,
            can_be_held: true,
            now: Time(1_000_000_000),
            deadline: None,
            is_shut_out: false,
            retry_after_cap: 600 * SECOND,
            delay: 4 * SECOND,
        }
    }

    fn why(call: Situation) -> Option<GiveUp> {
        match decide(&call) {
            Plan::Hold { .. } => None,
            Plan::GiveUp { why } => Some(why),
        }
    }

    #[test]
    fn a_hold_says_when() {
        assert_eq!(
            decide(&refused(Class::Rate)),
            Plan::Hold {
                not_before: Time(5_000_000_000),
                delay: 4 * SECOND
            }
        );
    }

    #[test]
    fn attempts_are_counted_against_the_maximum_of_the_last_class() {
        for class in Class::ALL {
            for attempts_made in 1..5 {
                let expected = match class {
                    Class::QuotaExhausted | Class::Other => Some(GiveUp::NotRetryable),
                    Class::BurstRate if attempts_made < 2 => None,
                    Class::BurstRate => Some(GiveUp::AttemptsSpent),
                    _ if attempts_made < 3 => None,
                    _ => Some(GiveUp::AttemptsSpent),
                };
                let call = Situation {
                    attempts_made,
                    ..refused(class)
                };
                assert_eq!(why(call), expected, "{class} {attempts_made}");
            }
        }
    }

    #[test]
    fn no_refusal_and_a_refusal_that_cannot_succeed_are_not_retried() {
        let mut call = refused(Class::Rate);
        call.verdict.retryable = false;
        assert_eq!(why(call), Some(GiveUp::NotRetryable));
        call.verdict = Verdict::NOT_A_REFUSAL;
        assert_eq!(why(call), Some(GiveUp::NotRetryable));
    }

    #[test]
    fn a_wait_at_the_bound_is_kept_and_one_above_is_not() {
        let mut call = refused(Class::Rate);
        call.verdict.wait_ms = Some(600_000);
        assert_eq!(why(call), None);
        call.verdict.wait_ms = Some(600_001);
        assert_eq!(why(call), Some(GiveUp::ServerWaitTooLong));

        let mut call = refused(Class::Rate);
        call.deadline = Some(Time(5_000_000_000));
        assert_eq!(why(call), None);
        call.deadline = Some(Time(4_999_999_999));
        assert_eq!(why(call), Some(GiveUp::Deadline));
        call.deadline = Some(Time(0));
        assert_eq!(why(call), Some(GiveUp::Deadline));
    }

    #[test]
    fn what_cannot_be_held_is_given_up_last() {
        let mut call = refused(Class::Rate);
        call.can_be_held = false;
        assert_eq!(why(call), Some(GiveUp::CannotBeHeld));
        call.request_complete = false;
        assert_eq!(why(call), Some(GiveUp::RequestIncomplete));
        call.deadline = Some(Time(0));
        assert_eq!(why(call), Some(GiveUp::Deadline));
    }
}
