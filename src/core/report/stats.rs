//! What is counted, and under which names.
//!
//! Counts are summed in the worker and written out on a tick; gauges are set from shared state by
//! whichever VM comes round first ([`super::gauges`]).

use litemap::LiteMap;
use std::rc::Rc;
use std::time::Duration;

use super::avoided::Avoided;
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
