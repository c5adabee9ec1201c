//! What is counted, and under which names.
//!
//! Counts are summed in the worker and written out on a tick; gauges are set from shared state by
//! whichever VM comes round first ([`super::gauges`]).

use litemap::LiteMap;
use std::rc::Rc;
use std::time::Duration;

use crate::core::answer::Refused;
use crate::core::classify::Class;
use crate::core::time::millis_up;
use crate::core::wait::gates::Trouble;
use crate::port::{Host, MetricKind};

/// Something counted for a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// Calls that fell under the policy.
    Calls,
    /// Calls that got their first start.
    Admitted,
    /// Calls that had to wait for it.
    Queued,
    /// Calls that Weir refused itself.
    Refused(Refused),
    /// Refusals of the provider.
    Refusal(Class),
    /// Retries granted.
    Retry(Class),
    /// Refusals passed on to the client.
    GaveUp(Class),
    /// Calls that went elsewhere, since their gate was shut.
    FailedOver,
    /// Attempts that Envoy started on its own.
    Unplanned,
    /// Retries granted that never started.
    RetryDropped,
    /// Waiters started by a wake-up.
    GrantByWake,
    /// Waiters started by a tick because their wake-up was lost.
    GrantByTick,
}

impl Count {
    /// Everything that can be counted for a policy.
    pub fn all() -> impl Iterator<Item = Count> {
        let plain = [
            Count::Calls,
            Count::Admitted,
            Count::Queued,
            Count::FailedOver,
            Count::Unplanned,
            Count::RetryDropped,
            Count::GrantByWake,
            Count::GrantByTick,
        ];
        let classes = Class::ALL.into_iter().flat_map(|class| {
            [
                Count::Refusal(class),
                Count::Retry(class),
                Count::GaveUp(class),
            ]
        });
        plain
            .into_iter()
            .chain(Refused::ALL.into_iter().map(Count::Refused))
            .chain(classes)
    }

    fn name(self) -> String {
        match self {
            Count::Calls => "calls".to_owned(),
            Count::Admitted => "admitted".to_owned(),
            Count::Queued => "queued".to_owned(),
            Count::Refused(reason) => format!("refused.reason.{reason}"),
            Count::Refusal(class) => format!("refusals.class.{class}"),
            Count::Retry(class) => format!("retries.class.{class}"),
            Count::GaveUp(class) => format!("gave_up.class.{class}"),
            Count::FailedOver => "failed_over".to_owned(),
            Count::Unplanned => "unplanned".to_owned(),
            Count::RetryDropped => "retry_dropped".to_owned(),
            Count::GrantByWake => "grants_by_wake".to_owned(),
            Count::GrantByTick => "grants_by_tick".to_owned(),
        }
    }
}

/// A time measured for a policy, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// From arrival to the first start, of calls that had to wait.
    Wait,
    /// From a refusal to the start of its retry.
    Hold,
    /// The delay drawn after a refusal.
    Delay,
}

/// Something Weir would have done, had the surroundings allowed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Avoided {
    /// A retry: the client was still sending the request. `envoy.filters.http.buffer` after the gate
    /// removes the case.
    RequestIncomplete,
    /// A retry: the refusal's body is larger than may be held.
    BodyOverCap,
    /// Reading a refusal's body: it did not end in time.
    BodyWithoutEnd,
    /// Reading an answer's body: `allow_on_headers_stop_iteration` is not set on the attempt half.
    NoStopIteration,
    /// A hold: as many calls are held as may be.
    HoldsFull,
    /// A hold: another attempt of the same call is held already.
    HoldTaken,
    /// Anything after the first start: the attempt half is not installed.
    NoAttemptHalf,
    /// Queueing first starts: the gate half is not installed.
    NoGateHalf,
}

impl Avoided {
    const ALL: [Avoided; 8] = [
        Avoided::RequestIncomplete,
        Avoided::BodyOverCap,
        Avoided::BodyWithoutEnd,
        Avoided::NoStopIteration,
        Avoided::HoldsFull,
        Avoided::HoldTaken,
        Avoided::NoAttemptHalf,
        Avoided::NoGateHalf,
    ];

    /// The name used in stats and logs.
    pub fn name(self) -> &'static str {
        match self {
            Avoided::RequestIncomplete => "request_incomplete",
            Avoided::BodyOverCap => "body_over_cap",
            Avoided::BodyWithoutEnd => "body_without_end",
            Avoided::NoStopIteration => "no_stop_iteration",
            Avoided::HoldsFull => "holds_full",
            Avoided::HoldTaken => "hold_taken",
            Avoided::NoAttemptHalf => "no_attempt_half",
            Avoided::NoGateHalf => "no_gate_half",
        }
    }

    /// A line for the log: what happened, and what to change.
    pub fn advice(self) -> String {
        let advice = match self {
            Avoided::RequestIncomplete => {
                "a refusal came before the request was sent and was not retried: put \
                 envoy.filters.http.buffer after the gate"
            }
            Avoided::BodyOverCap => "a refusal with a body over 16 KiB was not retried",
            Avoided::BodyWithoutEnd => {
                "the body of a refusal did not end within 1 s: it was classified from its beginning"
            }
            Avoided::NoStopIteration => {
                "the body of an answer was not shown while its headers were kept back: set \
                 allow_on_headers_stop_iteration on the attempt half"
            }
            Avoided::HoldsFull => {
                "a refusal was not retried because max_waiting calls are held already"
            }
            Avoided::HoldTaken => {
                "a refusal was not retried because another attempt of its call is held: turn off \
                 hedging on the route"
            }
            Avoided::NoAttemptHalf => {
                "an answer came past no attempt half: install it in the cluster's or the router's \
                 upstream filters, or nothing is retried"
            }
            Avoided::NoGateHalf => {
                "an attempt came past no gate half: install it in the listener's filters, or nothing \
                 is queued"
            }
        };
        format!(
            r#"{{"weir":"avoided","kind":"{}","advice":"{advice}"}}"#,
            self.name()
        )
    }
}

/// Counts that have not been written out yet.
#[derive(Debug, Default)]
pub struct Stats {
    counts: LiteMap<Rc<str>, LiteMap<Count, u64>>,
    avoided: LiteMap<Avoided, u64>,
    log_dropped: u64,
}

impl Stats {
    /// Makes every stat of a policy visible, at zero.
    pub fn define(host: &impl Host, policy: &str) {
        for count in Count::all() {
            host.metric(MetricKind::Counter, &policy_stat(policy, &count.name()), 0);
        }
        for (name, _) in plugin_counts(&Trouble::default(), 0) {
            host.metric(MetricKind::Counter, &plugin_stat(name), 0);
        }
        for avoided in Avoided::ALL {
            host.metric(MetricKind::Counter, &avoided_stat(avoided), 0);
        }
    }

    /// Counts one.
    pub fn count(&mut self, policy: &Rc<str>, count: Count) {
        let counts = match self.counts.get_mut(policy) {
            Some(counts) => counts,
            None => self.counts.entry(Rc::clone(policy)).or_default(),
        };
        *counts.entry(count).or_default() += 1;
    }

    /// Counts something that was avoided.
    pub fn avoid(&mut self, avoided: Avoided) {
        *self.avoided.entry(avoided).or_default() += 1;
    }

    /// Counts a log line that was not written.
    pub fn drop_log_line(&mut self) {
        self.log_dropped += 1;
    }

    /// Writes everything out.
    pub fn flush(&mut self, host: &impl Host, trouble: &Trouble) {
        for (policy, counts) in std::mem::take(&mut self.counts) {
            for (count, value) in counts {
                host.metric(
                    MetricKind::Counter,
                    &policy_stat(&policy, &count.name()),
                    value,
                );
            }
        }
        for (avoided, value) in std::mem::take(&mut self.avoided) {
            host.metric(MetricKind::Counter, &avoided_stat(avoided), value);
        }
        for (name, value) in plugin_counts(trouble, std::mem::take(&mut self.log_dropped)) {
            if value > 0 {
                host.metric(MetricKind::Counter, &plugin_stat(name), value);
            }
        }
    }
}

/// Records a time, at once: a histogram has no sum to keep.
pub fn measure(host: &impl Host, policy: &str, measure: Measure, span: Duration) {
    let name = match measure {
        Measure::Wait => "wait",
        Measure::Hold => "hold",
        Measure::Delay => "delay",
    };
    host.metric(
        MetricKind::Histogram,
        &policy_stat(policy, name),
        millis_up(span),
    );
}

/// The full name of a policy's stat.
pub fn policy_stat(policy: &str, name: &str) -> String {
    format!("weir.policy.{policy}.{name}")
}

/// The full name of a stat of the plugin as a whole.
pub fn plugin_stat(name: &str) -> String {
    format!("weir.plugin.{name}")
}

fn avoided_stat(avoided: Avoided) -> String {
    plugin_stat(&format!("avoided.{}", avoided.name()))
}

fn plugin_counts(trouble: &Trouble, log_dropped: u64) -> [(&'static str, u64); 7] {
    let Trouble {
        cas_conflicts,
        cas_exhausted,
        overflow,
        config_flaps,
        reaped,
        reaped_alive,
    } = *trouble;
    [
        ("cas_conflicts", cas_conflicts),
        ("cas_exhausted", cas_exhausted),
        ("overflow", overflow),
        ("config_flaps", config_flaps),
        ("reaped", reaped),
        ("reaped_alive", reaped_alive),
        ("log_dropped", log_dropped),
    ]
}
