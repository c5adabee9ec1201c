//! When the calls come and how long their clients wait.

use std::fmt;
use std::time::Duration;

/// A load that rises in a straight line and then stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// Calls per second after the rise.
    pub(crate) rate: f64,
    pub(crate) rise: Duration,
    /// Of the whole load, the rise included; at least the rise.
    pub(crate) length: Duration,
    /// A client that has no first byte of an answer by then goes away.
    pub(crate) patience: Duration,
}

impl Plan {
    pub(crate) fn morning_peak() -> Self {
        Self {
            rate: 60.0,
            rise: Duration::from_secs(2),
            length: Duration::from_secs(25),
            patience: Duration::from_secs(30),
        }
    }

    /// When each call is sent, since the start of the load.
    pub(crate) fn arrivals(&self) -> Vec<Duration> {
        // Until time t of the rise, t^2 * rate / (2 * rise) calls have come.
        let rise = self.rise.as_secs_f64();
        let in_rise = self.rate * rise / 2.0;
        let total = in_rise + self.rate * self.length.saturating_sub(self.rise).as_secs_f64();
        let at = |n: f64| {
            if n < in_rise {
                (n * 2.0 * rise / self.rate).sqrt()
            } else {
                rise + (n - in_rise) / self.rate
            }
        };
        (0..total.round() as usize)
            .map(|n| Duration::from_secs_f64(at(n as f64)))
            .collect()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0 to {} calls a second within {} s, for {} s; each client waits {} s",
            self.rate,
            self.rise.as_secs_f64(),
            self.length.as_secs_f64(),
            self.patience.as_secs_f64()
        )
    }
}
