//! L7: grants against the rate.

use std::collections::BTreeMap;

use weir::port::Level;

/// The grants of each gate, from the trace: when, and how many.
pub(crate) fn grants(lines: &[(Level, String)]) -> BTreeMap<String, Vec<(u64, u32)>> {
    let mut gates = BTreeMap::<String, Vec<(u64, u32)>>::new();
    for (_, line) in lines {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        if line["weir"] == "grant" {
            let gate = line["gate"].as_str().expect("a gate").to_owned();
            let at = line["at_ns"].as_u64().expect("a time");
            let starts = line["starts"].as_u64().expect("a number") as u32;
            gates.entry(gate).or_default().push((at, starts));
        }
    }
    gates
}

/// L7: in every window of T seconds at most `burst` + `per_second` x T of these.
pub(crate) fn check_windows(grants: &[(u64, u32)], per_second: u32, burst: u32) {
    // In billionths of a call, so that nothing is rounded: between i and j there may be no more
    // than burst, which is so if it is so for the i that leaves the least room.
    let (rate, nano) = (i128::from(per_second), 1_000_000_000_i128);
    let (mut before, mut least) = (0_i128, i128::MAX);
    for (at, starts) in grants {
        let paid = i128::from(*at) * rate;
        least = least.min(before * nano - paid);
        before += i128::from(*starts);
        let in_window = before * nano - paid - least;
        let most = i128::from(burst) * nano;
        assert!(
            in_window <= most,
            "L7: {in_window} billionths at {at} ns, {most} may"
        );
    }
}
