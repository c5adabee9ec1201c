//! The starts that Weir granted, as its trace tells them.

use std::collections::BTreeMap;

use super::envoy::Envoy;

/// Starts that one exchange with a gate granted; below 0 if it gave some back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Grant {
    /// When, in nanoseconds of the process's monotonic clock.
    pub(crate) at_ns: u64,
    pub(crate) starts: i64,
}

/// How Envoy must be started for [`grants`] to find something.
pub(crate) const ARGS: [&str; 2] = ["--component-log-level", "wasm:trace"];

/// All grants by gate, in the order of their times.
pub(crate) fn grants(envoy: &Envoy) -> BTreeMap<String, Vec<Grant>> {
    let mut all: BTreeMap<String, Vec<Grant>> = BTreeMap::new();
    for line in envoy.log().lines() {
        let Some(at) = line.find(r#"{"weir":"grant""#) else {
            continue;
        };
        let found = serde_json::Deserializer::from_str(&line[at..])
            .into_iter::<serde_json::Value>()
            .next();
        let said = found.expect("an object").expect("JSON");
        let gate = said["gate"].as_str().expect("a gate").to_owned();
        all.entry(gate).or_default().push(Grant {
            at_ns: said["at_ns"].as_u64().expect("a time"),
            starts: said["starts"].as_i64().expect("a number"),
        });
    }
    all.values_mut().for_each(|grants| grants.sort());
    all
}

/// The gate that granted `starts` in all; tests give each gate a number of its own.
pub(crate) fn with_starts(envoy: &Envoy, starts: usize) -> Vec<Grant> {
    let all = grants(envoy);
    let sum = |grants: &[Grant]| grants.iter().map(|grant| grant.starts).sum::<i64>();
    let found = all.values().find(|grants| sum(grants) == starts as i64);
    let sums: Vec<_> = all.values().map(|grants| sum(grants)).collect();
    found
        .unwrap_or_else(|| panic!("no gate granted {starts} starts: {sums:?}"))
        .clone()
}

/// L7: a window in which more than `burst + rate * T` of these starts lie, plus what `rate` gives in
/// `slack_ns`. `starts` are (time in ns, how many), in order; `rate` is in starts per second.
pub(crate) fn excess(
    starts: &[(u64, i64)],
    burst: u64,
    rate: u64,
    slack_ns: u64,
) -> Option<String> {
    const SECOND: u128 = 1_000_000_000;
    for (i, (from, _)) in starts.iter().enumerate() {
        let mut count = 0_i64;
        for (to, more) in &starts[i..] {
            count += more;
            let span = u128::from(to - from + slack_ns);
            let over = u128::try_from(count - burst as i64).unwrap_or(0) * SECOND;
            if over > u128::from(rate) * span {
                return Some(format!(
                    "{count} starts in {span} ns from {from} on at {rate}/s and burst {burst}"
                ));
            }
        }
    }
    None
}
