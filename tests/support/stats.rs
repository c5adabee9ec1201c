//! Envoy's counters and gauges as a test reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::envoy::{Envoy, POLL};

/// How long a test waits for a stat before it fails with what was seen instead.
const PATIENCE: Duration = Duration::from_secs(30);
/// Gauges are written on ticks, 200 ms apart when nothing happens: idle counts when it lasts over
/// several.
const QUIET: Duration = Duration::from_millis(500);
/// What an Envoy or a VM writes when something in it has died.
const DEATHS: [&str; 5] = [
    "panicked at",
    "RuntimeError",
    "RangeError",
    "Segmentation fault",
    "assert failure",
];

impl Envoy {
    /// One counter or gauge by its raw name; `None` while it does not exist.
    pub(crate) async fn stat(&self, name: &str) -> Option<u64> {
        self.matching(&format!("^{}$", escape(name)))
            .await
            .remove(name)
    }

    /// A stat of the policy `default`; 0 while it does not exist.
    pub(crate) async fn policy(&self, name: &str) -> u64 {
        self.stat(&format!("wasmcustom.weir.policy.default.{name}"))
            .await
            .unwrap_or(0)
    }

    /// A stat of the plugin; 0 while it does not exist.
    pub(crate) async fn plugin(&self, name: &str) -> u64 {
        self.stat(&format!("wasmcustom.weir.plugin.{name}"))
            .await
            .unwrap_or(0)
    }

    /// All counters and gauges whose raw name starts with `prefix`.
    pub(crate) async fn stats(&self, prefix: &str) -> BTreeMap<String, u64> {
        self.matching(&format!("^{}", escape(prefix))).await
    }

    async fn matching(&self, regex: &str) -> BTreeMap<String, u64> {
        let page = self
            .admin(&format!("/stats?filter={}", percent(regex)))
            .await;
        let lines = page.lines().filter_map(|line| line.rsplit_once(": "));
        lines
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect()
    }

    /// Waits until `wanted` holds of a stat; one that does not exist counts as 0.
    pub(crate) async fn wait_stat(&self, name: &str, wanted: impl Fn(u64) -> bool) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let value = self.stat(name).await;
            if wanted(value.unwrap_or(0)) {
                return value.unwrap_or(0);
            }
            if Instant::now() > deadline {
                let near = self.stats("wasmcustom.").await;
                panic!("{name} stays {value:?}; there is {near:#?}");
            }
            sleep(POLL).await;
        }
    }

    /// As [`Envoy::wait_stat`], for a stat of the policy `default` and one value.
    pub(crate) async fn wait_policy(&self, name: &str, value: u64) {
        self.wait_stat(&format!("wasmcustom.weir.policy.default.{name}"), |v| {
            v == value
        })
        .await;
    }

    /// How many workers have had a connection.
    pub(crate) async fn workers_used(&self) -> usize {
        let all = self.stats("listener.front.worker_").await;
        all.iter()
            .filter(|(name, n)| name.ends_with("downstream_cx_total") && **n > 0)
            .count()
    }

    /// L4 and L14: nothing runs, waits or is held any more, and nothing has died.
    pub(crate) async fn assert_idle(&self) {
        self.assert_empty().await;
        self.assert_alive().await;
    }

    /// L4: nothing runs, waits or is held any more.
    pub(crate) async fn assert_empty(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < QUIET {
            let all = self.stats("wasmcustom.weir.policy.").await;
            let busy: Vec<_> = all
                .iter()
                .filter(|(name, v)| is_load(name) && **v != 0)
                .collect();
            if !busy.is_empty() {
                assert!(Instant::now() < deadline, "left behind: {busy:?}");
                quiet_since = Instant::now();
            }
            sleep(POLL).await;
        }
    }

    /// L14: the process runs and no VM has died.
    pub(crate) async fn assert_alive(&self) {
        assert_eq!(self.ended(), None, "Envoy has ended");
        let log = self.log();
        let dead = log
            .lines()
            .find(|line| DEATHS.iter().any(|d| line.contains(d)));
        assert_eq!(dead, None, "something died");
    }
}

fn is_load(name: &str) -> bool {
    [".slots", ".waiting", ".held"]
        .iter()
        .any(|gauge| name.ends_with(gauge))
}

fn escape(text: &str) -> String {
    text.replace('.', "\\.")
}

fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, b| {
        if b.is_ascii_alphanumeric() || b"._-".contains(&b) {
            all.push(b.into());
        } else {
            let _ = write!(all, "%{b:02X}");
        }
        all
    })
}
