//! Gauges, set from shared state.
//!
//! A gauge that each worker moved by its own share would keep a dead worker's share for ever. So one
//! VM at a time, whichever comes first, sums the records and sets the gauges.

use litemap::LiteMap;
use std::rc::Rc;
use std::time::Duration;

use super::stats::{plugin_stat, policy_stat};
use crate::core::gate::owner::{SLOTS, WorkerSlot};
use crate::core::time::{Time, millis_up};
use crate::core::wait::registry::{directory, read};
use crate::core::wait::turn::take_turn;
use crate::port::{Host, MetricKind, Stored};

/// How old the gauges may get while somebody is there to set them.
pub const EVERY: Duration = Duration::from_millis(50);

/// How much older for each gate: to set them is to read every record, and that must stay a small part
/// of what the process does, however many gates there are.
const PER_GATE: Duration = Duration::from_millis(1);

/// When the gauges were last set, by whichever VM.
const TURN: &str = "weir.gauges";

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    slots: u64,
    waiting: u64,
    held: u64,
    limit: u64,
    rate_milli_per_s: u64,
    pause_left_ms: u64,
}

/// Sets all gauges, unless another VM did so just now. `policies` names the policies by the hash
/// their records carry.
pub fn refresh(host: &impl Host, now: Time, policies: &LiteMap<u64, Rc<str>>) {
    let directory = directory(host);
    if !take_turn(host, TURN, now, EVERY + PER_GATE * directory.len()) {
        return;
    }
    let mut sums: LiteMap<u64, Sums> = policies.keys().map(|id| (*id, Sums::default())).collect();
    for record in directory.places().filter_map(|place| read(host, place)) {
        let Some(sum) = sums.get_mut(&record.policy) else {
            continue;
        };
        sum.slots += record.in_flight();
        sum.waiting += record.waiting();
        sum.held += record.held();
        sum.limit = match record.limit() {
            u64::MAX => 0,
            limit => limit,
        };
        if let Some(pause) = record.sight().lasting(now) {
            let left = millis_up(pause.until.since(now));
            sum.pause_left_ms = sum.pause_left_ms.max(left);
        }
        let pace = &record.setting.pace;
        let stated = (!pace.is_unbound()).then(|| record.bucket.rate(pace, now));
        let learned = record.learned_rate().unwrap_or(u64::MAX);
        match stated.unwrap_or(u64::MAX).min(learned) {
            u64::MAX => {}
            rate => sum.rate_milli_per_s += rate / 1_000_000,
        }
    }
    for (id, sum) in sums {
        let Some(policy) = policies.get(&id) else {
            continue;
        };
        for (name, value) in [
            ("slots", sum.slots),
            ("waiting", sum.waiting),
            ("held", sum.held),
            ("limit", sum.limit),
            ("rate_milli_per_s", sum.rate_milli_per_s),
            ("pause_left_ms", sum.pause_left_ms),
        ] {
            host.metric(MetricKind::Gauge, &policy_stat(policy, name), value);
        }
    }
    let keys = u64::from(directory.len());
    host.metric(MetricKind::Gauge, &plugin_stat("keys"), keys);
    host.metric(MetricKind::Gauge, &plugin_stat("workers"), workers(host));
}

/// Worker slots that a worker has. Slots come into use in order, and stay.
fn workers(host: &impl Host) -> u64 {
    let read = |slot| host.shared_get(&WorkerSlot::name(slot));
    (0..SLOTS)
        .map_while(|slot| match read(slot) {
            Ok(Stored::Present { bytes, .. }) => Some(bytes),
            Ok(Stored::Absent) | Err(_) => None,
        })
        .filter(|bytes| WorkerSlot::decode(bytes).is_some_and(|slot| slot.is_held()))
        .map(|_| 1)
        .sum()
}
