//! One policy: what it takes, its limits, its retry rules. Each type admits only what is right,
//! so nothing downstream checks again.

use std::num::NonZeroU32;
use std::time::Duration;

use super::names::{HeaderName, PolicyName};
use super::pattern::{HostPattern, PathPrefix};
use super::providers::Provider;

/// A policy as configured, every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) name: PolicyName,
    pub(super) matcher: Matcher,
    pub(super) provider: Provider,
    pub(super) key: Vec<KeyPart>,
    pub(super) max_concurrent_calls: Option<NonZeroU32>,
    pub(super) queue: Queue,
    pub(super) retry: Retry,
    pub(super) patience_header: Option<HeaderName>,
}

impl Policy {
    /// The name, unique in its configuration; fit to be part of a stat name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Which calls the policy takes.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Whose dialect of refusals to expect.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// What besides the policy itself tells one gate from another: at least one part, none twice.
    pub fn key(&self) -> &[KeyPart] {
        &self.key
    }

    /// The cap on calls in flight per gate, at most 65535; None is no cap. Where the
    /// configuration is silent this is what the provider's profile declares.
    pub fn max_concurrent_calls(&self) -> Option<NonZeroU32> {
        self.max_concurrent_calls
    }

    /// The queue in front of the gate.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// When a refused call is tried again.
    pub fn retry(&self) -> &Retry {
        &self.retry
    }

    /// The request header in which a client says how many milliseconds it will wait.
    pub fn patience_header(&self) -> Option<&HeaderName> {
        self.patience_header.as_ref()
    }
}

/// Which calls a policy takes: each list that is not empty must have an entry that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matcher {
    pub(super) clusters: Vec<String>,
    pub(super) hosts: Vec<HostPattern>,
    pub(super) path_prefixes: Vec<PathPrefix>,
}

/// A part of the key that decides which calls share a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyPart {
    /// The Envoy cluster.
    Cluster,
    /// The host, without port, in lower case.
    Host,
    /// The configured path prefix that fits the call.
    PathPrefix,
}

/// The bounds of a gate's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub(super) max_waiting: u32,
    pub(super) max_wait: Duration,
    pub(super) no_wait_header: Option<HeaderName>,
}

impl Queue {
    /// Calls waiting for their first start, per gate, at most 100000; 0 is never to queue.
    pub fn max_waiting(&self) -> u32 {
        self.max_waiting
    }

    /// The longest single stay in the queue, at most an hour.
    pub fn max_wait(&self) -> Duration {
        self.max_wait
    }

    /// The request header by which a client asks to start now or be refused.
    pub fn no_wait_header(&self) -> Option<&HeaderName> {
        self.no_wait_header.as_ref()
    }
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            max_waiting: 1000,
            max_wait: Duration::from_secs(60),
            no_wait_header: HeaderName::parse("x-weir-no-wait"),
        }
    }
}

/// When a refused call is tried again, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub(super) max_attempts: Attempts,
    pub(super) burst_max_attempts: Attempts,
    pub(super) window: Window,
    pub(super) burst_window: Window,
    pub(super) retry_after_cap: Duration,
    pub(super) budget: Duration,
}

impl Retry {
    /// Attempts of a call in all, for refusals of class rate, concurrency and overloaded.
    pub fn max_attempts(&self) -> Attempts {
        self.max_attempts
    }

    /// Attempts of a call in all, for refusals of class burst_rate.
    pub fn burst_max_attempts(&self) -> Attempts {
        self.burst_max_attempts
    }

    /// Delays after refusals of class rate, concurrency and overloaded.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Delays after refusals of class burst_rate.
    pub fn burst_window(&self) -> Window {
        self.burst_window
    }

    /// The longest wait asked by a provider that is still waited for, at most an hour.
    pub fn retry_after_cap(&self) -> Duration {
        self.retry_after_cap
    }

    /// From a call's arrival to the start of its last attempt, at most an hour.
    pub fn budget(&self) -> Duration {
        self.budget
    }
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            max_attempts: Attempts(3),
            burst_max_attempts: Attempts(2),
            window: Window {
                base_ms: 1000,
                cap_ms: 8000,
            },
            burst_window: Window {
                base_ms: 5000,
                cap_ms: 15_000,
            },
            retry_after_cap: Duration::from_secs(600),
            budget: Duration::from_secs(120),
        }
    }
}

/// A number of attempts from 1 to 10, the first one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempts(u8);

impl Attempts {
    /// The largest number of attempts.
    pub const MAX: u8 = 10;

    /// None unless `count` is 1 to 10.
    pub fn new(count: u8) -> Option<Attempts> {
        (1..=Attempts::MAX)
            .contains(&count)
            .then_some(Attempts(count))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// The range in which delays are drawn: at least 1 ms, at most an hour, and wide enough
/// (`cap >= 1.2 * base`) that calls refused together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    base_ms: u32,
    cap_ms: u32,
}

impl Window {
    /// The largest cap: an hour.
    pub const MAX_MS: u32 = 3_600_000;

    /// None unless `1 <= base_ms`, `1.2 * base_ms <= cap_ms` and `cap_ms <= MAX_MS`.
    pub fn from_millis(base_ms: u32, cap_ms: u32) -> Option<Window> {
        let wide = cap_ms >= Window::least_cap_ms(base_ms);
        (base_ms >= 1 && wide && cap_ms <= Window::MAX_MS).then_some(Window { base_ms, cap_ms })
    }

    /// The smallest cap that goes with `base_ms`.
    pub fn least_cap_ms(base_ms: u32) -> u32 {
        base_ms.saturating_add(base_ms.div_ceil(5))
    }

    /// The smallest delay.
    pub fn base(self) -> Duration {
        Duration::from_millis(u64::from(self.base_ms))
    }

    /// The largest delay.
    pub fn cap(self) -> Duration {
        Duration::from_millis(u64::from(self.cap_ms))
    }

    pub(super) fn millis(self) -> (u32, u32) {
        (self.base_ms, self.cap_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_at_least_a_fifth_wide() {
        let right = [(1, 2), (5, 6), (1000, 1200), (3_000_000, 3_600_000)];
        for (base, cap) in right {
            let window = Window::from_millis(base, cap).unwrap();
            assert_eq!(window.millis(), (base, cap));
            assert_eq!(Window::from_millis(base, cap - 1), None, "{base} {cap}");
        }
        let wrong = [
            (0, 1),
            (1, 3_600_001),
            (3_000_001, 3_600_000),
            (u32::MAX, u32::MAX),
        ];
        for (base, cap) in wrong {
            assert_eq!(Window::from_millis(base, cap), None, "{base} {cap}");
        }
    }

    #[test]
    fn attempts_are_one_to_ten() {
        assert_eq!(Attempts::new(0), None);
        assert_eq!(Attempts::new(1).map(Attempts::get), Some(1));
        assert_eq!(Attempts::new(10).map(Attempts::get), Some(10));
        assert_eq!(Attempts::new(11), None);
    }
}
