//! L7, L10 on a real Envoy: starts keep to rate and ramp, exactly by Weir's own trace and closely at
//! the provider. `-- --nocapture` prints what share of its rate each gate reached.

use crate::support;

use std::time::Duration;

use serde_json::{Value, json};
use support::trace::{self, Grant};
use support::{Bootstrap, Call, Envoy, Lane, Provider, Reply, Seen, answers};
use tokio::time::Instant;

/// Between a grant and its start at the provider lies a machine that may be busy.
const SLACK: Duration = Duration::from_millis(100);
const SECOND: f64 = 1e9;

/// A gate under a rate.
#[derive(Clone, Copy)]
struct Paced {
    name: &'static str,
    rate: u64,
    burst: u64,
    cap: usize,
}

const GATES: [Paced; 6] = [
    gate("rare", 2, 1, 0),
    gate("often", 10, 1, 0),
    gate("fast", 50, 1, 0),
    gate("wide", 20, 5, 0),
    gate("swift", 60, 5, 0),
    gate("capped", 20, 5, 4),
];

const fn gate(name: &'static str, rate: u64, burst: u64, cap: usize) -> Paced {
    Paced {
        name,
        rate,
        burst,
        cap,
    }
}

impl Paced {
    fn policy(self) -> Value {
        json!({
            "max_concurrent_calls": self.cap,
            "rate": {"requests_per_second": self.rate, "burst": self.burst},
        })
    }

    /// What is granted in `seconds`; another number for each gate.
    fn calls(self, seconds: u64) -> usize {
        (self.burst + self.rate * seconds) as usize + self.cap
    }
}

/// Ticks come 4 ms apart, so that a grant is some milliseconds late: what a burst of 1 cannot make up
/// for, a larger one does.
const LEAST: f64 = 0.97;

/// So often may the machine have been too busy for what depends on it.
const TRIES: u32 = 3;

/// Asks until the machine has left it time.
async fn in_time<F: Future<Output = Vec<String>>>(once: impl Fn() -> F) {
    for _ in 0..TRIES {
        let late = once().await;
        if late.is_empty() {
            return;
        }
        println!("once more: {late:?}");
    }
    panic!("calls came late each time");
}

/// All gates at once, each with more calls than its rate lets start for some seconds. What Weir
/// grants is exact whatever the machine does; gives what was late.
async fn rates(workers: u32) -> Vec<String> {
    let mut late = vec![];
    let seconds = if std::env::var_os("WEIR_PROVE").is_some() {
        20
    } else {
        3
    };
    let mut lanes = vec![];
    for gate in GATES {
        lanes.push(Lane::start(gate.name, gate.policy()).await);
    }
    let config = Lane::bootstrap(&lanes).workers(workers);
    let envoy = Envoy::start(&trace::ARGS.into_iter().fold(config, Bootstrap::arg)).await;
    let mut calls = vec![];
    for (lane, gate) in lanes.iter().zip(GATES) {
        calls.extend(lane.calls(&envoy, gate.calls(seconds)).await);
        if gate.cap > 0 {
            // The cap first, while the rate would let one more start.
            lane.provider.wait_running(gate.cap).await;
        }
        lane.door.open();
    }
    // While hundreds arrive at once, starts wait for their turn on the worker's thread.
    for (lane, gate) in lanes.iter().zip(GATES) {
        lane.wait(&envoy, "calls", gate.calls(seconds)).await;
    }
    let arrived = Instant::now();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    envoy.assert_idle().await;
    for (lane, gate) in lanes.iter().zip(GATES) {
        let count = gate.calls(seconds);
        let grants = trace::with_starts(&envoy, count);
        let exact: Vec<_> = grants.iter().map(|g| (g.at_ns, g.starts)).collect();
        let excess = trace::excess(&exact, gate.burst, gate.rate, 0);
        assert_eq!(excess, None, "L7");
        let slack = SLACK.as_nanos() as u64;
        late.extend(trace::excess(
            &starts_at(&lane.provider, arrived),
            gate.burst,
            gate.rate,
            slack,
        ));
        assert_eq!(lane.provider.count(), count);
        if gate.cap > 0 {
            assert_eq!(lane.provider.peak(), gate.cap);
        }
        let share = share(gate, &grants);
        println!(
            "{workers} workers, {}/s, burst {}: {:.1} % of the rate",
            gate.rate,
            gate.burst,
            share * 100.0
        );
        if gate.burst > 1 && share < LEAST {
            late.push(format!("{}: {share}", gate.name));
        }
    }
    late
}

/// What was granted of what the rate allows in the same time, from the first grant that the cap did
/// not hold up.
fn share(gate: Paced, grants: &[Grant]) -> f64 {
    let at = times(grants);
    let free = &at[gate.cap..];
    let span = (free[free.len() - 1] - free[0]) as f64 / SECOND;
    let burst = if gate.cap > 0 { 1 } else { gate.burst };
    free.len() as f64 / (gate.rate as f64 * span + burst as f64)
}

/// The time of each start that was granted and not given back.
fn times(grants: &[Grant]) -> Vec<u64> {
    let mut times = vec![];
    for grant in grants {
        let starts = usize::try_from(grant.starts).unwrap_or(0);
        times.extend(std::iter::repeat_n(grant.at_ns, starts));
        let back = usize::try_from(-grant.starts).unwrap_or(0);
        times.truncate(times.len() - back);
    }
    times
}

/// When requests came to a provider after `from`, in nanoseconds.
fn starts_at(provider: &Provider, from: Instant) -> Vec<(u64, i64)> {
    let seen = provider.seen();
    let since = |s: &Seen| s.at.duration_since(from).as_nanos() as u64;
    let later = seen.iter().filter(|s| s.at >= from);
    let mut starts: Vec<_> = later.map(|s| (since(s), 1)).collect();
    starts.sort_unstable();
    starts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_every_window_of_grants_keeps_the_rate_on_one_worker() {
    in_time(|| rates(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_every_window_of_grants_keeps_the_rate_on_four_workers() {
    in_time(|| rates(4)).await;
}

/// The level a ramp begins at, in starts per second.
const INITIAL: f64 = 4.0;
/// A level this low has fallen back.
const FALLEN: f64 = 4.2;
const EVERY: f64 = 0.3;

/// How a ramp grows, and how many calls a wave has.
const RAMPS: [(&str, &str, f64, usize); 2] = [
    ("percent", "growth_percent", 50.0, 40),
    ("step", "step_per_second", 2.0, 45),
];

/// How many calls may start within `t` seconds after a first one at level `initial`.
fn closed_form(how: &str, growth: f64, initial: f64, t: f64) -> f64 {
    if how == "growth_percent" {
        let k = (growth / 100.0).ln_1p() / EVERY;
        initial * (k * t).exp_m1() / k
    } else {
        (initial + growth / EVERY * t / 2.0) * t
    }
}

async fn ramps(workers: u32) -> Vec<String> {
    let mut late = vec![];
    let began = Instant::now();
    let mut lanes = vec![];
    for (name, how, growth, _) in RAMPS {
        let every = (EVERY * 1000.0) as u64;
        let mut ramp = json!({"mode": null, "initial_per_second": INITIAL, "every_ms": every});
        ramp[how] = json!(growth as u64);
        let lane = Lane::start(name, json!({"ramp": ramp})).await;
        lane.door.open();
        lanes.push(lane);
    }
    let config = Lane::bootstrap(&lanes).workers(workers);
    let envoy = Envoy::start(&trace::ARGS.into_iter().fold(config, Bootstrap::arg)).await;
    for _ in 0..2 {
        let mut calls = vec![];
        for (lane, (_, _, _, count)) in lanes.iter().zip(RAMPS) {
            calls.extend(lane.calls(&envoy, count).await);
        }
        assert!(answers(calls).await.iter().all(|a| a.status == 200));
        for lane in &lanes {
            let fallen = |milli| milli <= (FALLEN * 1000.0) as u64;
            envoy
                .wait_stat(&lane.stat("rate_milli_per_s"), fallen)
                .await;
        }
    }
    envoy.assert_idle().await;
    for (lane, (name, how, growth, count)) in lanes.iter().zip(RAMPS) {
        let grants = trace::with_starts(&envoy, 2 * count);
        let seen: Vec<u64> = starts_at(&lane.provider, began)
            .iter()
            .map(|s| s.0)
            .collect();
        for (what, starts, slack) in [("granted", times(&grants), 0.0), ("seen", seen, 0.1)] {
            assert_eq!(starts.len(), 2 * count);
            for (wave, initial) in starts.chunks(count).zip([INITIAL, FALLEN]) {
                let after = |i: usize| (wave[i] - wave[0]) as f64 / SECOND;
                for i in 1..count {
                    let most = closed_form(how, growth, initial, after(i) + slack);
                    let it = i as f64;
                    if it > most + 0.01 {
                        let said = format!("{name}: {i} {what} where {most} may be");
                        assert_eq!(what, "seen", "{said}");
                        late.push(said);
                    }
                }
                let took = after(count - 1);
                let least = closed_form(how, growth, INITIAL, took * 0.6);
                if least > count as f64 {
                    late.push(format!("{name}: {count} {what} took {took} s"));
                }
            }
        }
    }
    late
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_a_ramp_opens_slowly_when_cold_and_after_idling_on_one_worker() {
    in_time(|| ramps(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_a_ramp_opens_slowly_when_cold_and_after_idling_on_four_workers() {
    in_time(|| ramps(4)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l10_what_cannot_start_in_time_is_refused_at_once_and_told_when_it_could() {
    let fields = json!({
        "rate": {"requests_per_minute": 6},
        "queue": {"max_wait_ms": 25_000},
    });
    let lanes = [Lane::start("slow", fields).await];
    let [lane] = &lanes;
    lane.door.open();
    let envoy = Envoy::start(&Lane::bootstrap(&lanes).workers(4)).await;
    assert_eq!(lane.call(0).send(envoy.addr).await.status, 200);
    // Starts are 10 s apart: two can wait for theirs, a third cannot.
    let waiting = lane.calls(&envoy, 2).await;
    lane.wait(&envoy, "waiting", 2).await;
    let refused = lane.call(3).send(envoy.addr).await;
    let told = (refused.status, refused.header("x-weir-refused"));
    assert_eq!(told, (429, Some("wait_too_long")));
    let number = |name: &str| -> u64 { refused.header(name).unwrap().parse().unwrap() };
    let (seconds, millis) = (number("retry-after"), number("retry-after-ms"));
    assert_eq!(seconds, millis.div_ceil(1000).max(1));
    assert!(millis <= 6250, "5 s too late, and a quarter: {millis}");
    let told = &refused.json()["error"]["weir"];
    assert_eq!(told["limit"], "max_wait_ms");
    assert_eq!(told["position"], 3);
    assert_eq!(told["sent_upstream"], false);
    let expected = told["expected_wait_ms"].as_u64().unwrap();
    assert!((25_000..=30_000).contains(&expected), "{expected}");
    assert!(waiting.iter().all(|call| !call.is_finished()));
    drop(waiting);
    envoy.assert_idle().await;
    assert_eq!(lane.provider.ids(), ["0"], "nothing else was sent");
    lane.wait(&envoy, "refused.reason.wait_too_long", 1).await;
}

/// What three calls at once sent and got; the last is refused by the provider.
async fn through(config: impl Fn(&Provider) -> Bootstrap) -> (Envoy, Vec<Value>) {
    let door = support::Gate::closed();
    let before = door.clone();
    let provider = Provider::start(move |seen: &Seen| {
        let reply = match seen.id.as_str() {
            "2" => Reply::rate().header("retry-after", "7"),
            _ => Reply::ok().header("x-weir-mine", "kept"),
        };
        reply.after(&before)
    })
    .await;
    let envoy = Envoy::start(&config(&provider)).await;
    let mut calls = vec![];
    for i in 0..3 {
        let call = Call::chat(i)
            .header("x-weir-no-wait", "0")
            .header("x-weir-own", "1");
        calls.push(call.start(envoy.addr));
        // No cap holds them.
        provider.wait_count(i + 1).await;
    }
    door.open();
    let mut all = vec![];
    for (answer, seen) in answers(calls).await.iter().zip(provider.seen()) {
        let head = |name: &str, value: &[u8]| match name {
            "date" | "x-request-id" | "x-envoy-upstream-service-time" => format!("{name}: any"),
            "host" => format!("{name}: same"),
            _ => format!("{name}: {}", String::from_utf8_lossy(value)),
        };
        let received = answer.headers.iter();
        let received: Vec<_> = received
            .map(|(n, v)| head(n.as_str(), v.as_bytes()))
            .collect();
        let sent: Vec<_> = seen.headers.iter().map(|(n, v)| head(n, v)).collect();
        all.push(json!({
            "sent": sent, "body": [seen.body_len, seen.body_hash], "path": seen.path,
            "status": answer.status, "received": received, "answer": answer.text(),
        }));
    }
    (envoy, all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_in_shadow_mode_counts_and_changes_no_byte() {
    let shadow = support::weir::policy(json!({
        "mode": "shadow", "max_concurrent_calls": 1, "queue": {"max_waiting": 1},
    }));
    let (_, plain) = through(|p| Bootstrap::plain(p.addr)).await;
    let (envoy, shadowed) = through(|p| Bootstrap::new(p.addr, &shadow)).await;
    assert_eq!(shadowed, plain);
    for (name, count) in [
        ("calls", 3),
        ("queued", 1),
        ("refused.reason.queue_full", 1),
        ("refusals.class.rate", 1),
        ("retries.class.rate", 1),
        ("admitted", 2),
        ("unplanned", 0),
    ] {
        envoy.wait_policy(name, count).await;
    }
    envoy.assert_idle().await;
}
