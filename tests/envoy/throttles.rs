//! L13 at scale: a thousand refusals of every kind eject no host and trip no breaker, under detection
//! that ejects at the first failure; and a host that is down is no refusal, and is ejected.

use crate::support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::provider::nobody;
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, answers};

/// Refusals of each kind, in so many bursts: each of them is one gate's.
const REFUSALS: usize = 1000;
const BURSTS: usize = 4;

/// The first failure of a host ejects it, and no host is left then.
fn strict() -> Value {
    json!({
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
        "outlier_detection": {
            "consecutive_5xx": 1, "enforcing_consecutive_5xx": 100,
            "consecutive_gateway_failure": 1, "enforcing_consecutive_gateway_failure": 100,
            "interval": "0.05s", "base_ejection_time": "300s", "max_ejection_percent": 100}})
}

/// Breakers with room for what runs, and none to spare.
fn breakers(room: usize) -> Value {
    json!({"circuit_breakers": {"thresholds": [{
        "max_connections": room, "max_pending_requests": room, "max_requests": room,
        "max_retries": room}]}})
}

async fn assert_untouched(envoy: &Envoy) {
    let all = envoy.stats("cluster.provider.").await;
    let fault = |name: &str| {
        [
            "ejections_enforced_total",
            "overflow",
            "upstream_rq_timeout",
        ]
        .iter()
        .any(|fault| name.ends_with(fault))
    };
    let faults: BTreeMap<_, _> = all
        .iter()
        .filter(|(name, count)| fault(name) && **count > 0)
        .collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(all["cluster.provider.membership_healthy"], 1);
}

/// A burst that has all reached the provider before any of it is refused. The statuses that its
/// clients got.
async fn burst(
    envoy: &Envoy,
    provider: &Provider,
    door: &Gate,
    tenant: &str,
    path: &str,
    calls: usize,
) -> Vec<u16> {
    let before = provider.count();
    let call = |n| {
        let call = Call::chat(format!("{tenant}-{n}")).path(path);
        call.header("x-tenant", tenant).start(envoy.addr)
    };
    let calls: Vec<_> = (0..calls).map(call).collect();
    provider.wait_count(before + calls.len()).await;
    door.let_through(calls.len());
    let answers = answers(calls).await;
    if let Some(odd) = answers.iter().find(|a| a.header("x-weir-class").is_none()) {
        panic!("{path}: {odd:?}");
    }
    answers.iter().map(|answer| answer.status).collect()
}

fn overloaded_529() -> Reply {
    let body = json!({"type": "error", "error": {
        "type": "overloaded_error", "message": "Overloaded"}});
    Reply::json(529, &body)
}

fn refusal_under_200() -> Reply {
    let body = json!({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}});
    Reply::json(200, &body)
}

fn kind(path: &str) -> (Reply, u16) {
    match path {
        "/rate" => (Reply::rate(), 429),
        "/retry-after" => (Reply::rate().header("retry-after", "30"), 429),
        "/slope" => (Reply::burst(), 429),
        "/quota" => (Reply::quota(), 429),
        "/503" => (Reply::overloaded(), 503),
        "/529" => (overloaded_529(), 529),
        _ => (refusal_under_200(), 429),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l13_a_thousand_refusals_of_every_kind_eject_no_host_and_trip_no_breaker() {
    let door = Gate::closed();
    let shut = door.clone();
    let provider = Provider::start(move |seen| kind(&seen.path).0.after(&shut)).await;
    let once = policy(json!({
        "provider": "minimax", "key": ["cluster", "path_prefix", {"header": "x-tenant"}],
        "match": {"path_prefixes": ["/"]}, "classify": {"map_200": true},
        "retry": {"retry_max_attempts": 1, "burst_max_attempts": 1}}));
    let config = Bootstrap::new(provider.addr, &once)
        .workers(2)
        .clusters(&strict())
        .clusters(&breakers(REFUSALS / BURSTS));
    let envoy = Envoy::start(&config).await;
    for path in [
        "/rate",
        "/retry-after",
        "/slope",
        "/quota",
        "/503",
        "/529",
        "/200",
    ] {
        let mut refused = 0;
        for round in 0..BURSTS {
            let tenant = format!("{path}-{round}");
            let calls = REFUSALS / BURSTS;
            let statuses = burst(&envoy, &provider, &door, &tenant, path, calls).await;
            assert_eq!(statuses, vec![kind(path).1; calls], "{path}");
            refused += calls;
        }
        assert_eq!(refused, REFUSALS);
        assert_untouched(&envoy).await;
    }
    envoy.assert_idle().await;
    assert_eq!(provider.count(), 7 * REFUSALS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l13_holds_that_the_route_ends_are_no_failures_of_the_host() {
    let door = Gate::closed();
    let shut = door.clone();
    // The second wait does not fit the route any more.
    let provider = Provider::start(move |seen| {
        let refusal = kind(&seen.path).0.header("retry-after-ms", "1000");
        match seen.attempt {
            1 => refusal.after(&shut),
            _ => refusal,
        }
    })
    .await;
    let patch = json!({"key": ["cluster", {"header": "x-tenant"}],
        "retry": {"retry_max_attempts": 10}});
    let config = Bootstrap::new(provider.addr, &policy(patch))
        .workers(2)
        .action(&json!({"timeout": "2s"}))
        .clusters(&strict())
        .clusters(&breakers(REFUSALS / BURSTS));
    let envoy = Envoy::start(&config).await;
    for path in ["/rate", "/503", "/529"] {
        for round in 0..BURSTS {
            let tenant = format!("{path}-{round}");
            let calls = REFUSALS / BURSTS;
            let statuses = burst(&envoy, &provider, &door, &tenant, path, calls).await;
            assert_eq!(statuses, vec![kind(path).1; calls], "{path}");
        }
        assert_untouched(&envoy).await;
    }
    envoy.assert_idle().await;
    assert!(provider.count() > 3 * REFUSALS, "some were tried again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l13_a_thousand_refusals_of_weirs_own_never_reach_the_cluster() {
    let door = Gate::closed();
    let shut = door.clone();
    let provider = Provider::start(move |_| Reply::ok().after(&shut)).await;
    let patch = json!({"max_concurrent_calls": 1,
        "queue": {"max_waiting": 1, "max_wait_ms": 60000}, "patience_header": "x-patience"});
    let config = Bootstrap::new(provider.addr, &policy(patch))
        .clusters(&strict())
        .clusters(&breakers(1));
    let envoy = Envoy::start(&config).await;
    let running = Call::chat("running").start(envoy.addr);
    provider.wait_count(1).await;
    let waiting = Call::chat("waiting").start(envoy.addr);
    envoy.wait_policy("queued", 1).await;
    for (reason, name, value) in [
        ("queue_full", "x-none", "1"),
        ("no_wait", "x-weir-no-wait", "1"),
    ] {
        for _ in 0..BURSTS {
            let call = |n| Call::chat(n).header(name, value).start(envoy.addr);
            let calls = (0..REFUSALS / BURSTS).map(call).collect();
            for answer in answers(calls).await {
                let told = (answer.status, answer.header("x-weir-refused"));
                assert_eq!(told, (429, Some(reason)));
            }
        }
    }
    waiting.abort();
    envoy.wait_policy("waiting", 0).await;
    // In the one place that is left, one after the other.
    for n in 0..5 {
        let late = Call::chat(n)
            .header("x-patience", "20")
            .send(envoy.addr)
            .await;
        assert_eq!(late.header("x-weir-refused"), Some("deadline"));
    }
    assert_eq!(provider.count(), 1);
    assert_untouched(&envoy).await;
    door.open();
    assert_eq!(running.answer().await.status, 200);
    envoy.assert_idle().await;
}

/// What Envoy says of a host that is down is no provider's word: nothing is classified, held, tried
/// again or paused, and the host is ejected as if Weir were not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l13_a_host_that_is_down_is_ejected_and_is_no_refusal() {
    let resets = Provider::start(|_| Reply::reset()).await;
    for (at, gate_alone) in [
        (nobody().await, false),
        (nobody().await, true),
        (resets.addr, false),
        (resets.addr, true),
    ] {
        let config = Bootstrap::new(at, &policy(json!({"max_concurrent_calls": 2})));
        let config = match gate_alone {
            true => config.gate_only(),
            false => config,
        };
        let envoy = Envoy::start(&config.clusters(&strict())).await;
        let down = |answer: &support::Answer| {
            assert_eq!(answer.status, 503);
            assert_eq!(answer.header("x-weir-class"), None);
            assert_eq!(answer.header("x-weir-refused"), None);
            assert_eq!(answer.header("retry-after"), None);
        };
        down(&Call::chat("first").send(envoy.addr).await);
        let ejected = "cluster.provider.outlier_detection.ejections_active";
        envoy.wait_stat(ejected, |n| n == 1).await;
        let seen = resets.count();
        // No healthy host is left: Envoy's own word, too.
        for n in 0..20 {
            down(&Call::chat(n).send(envoy.addr).await);
        }
        assert_eq!(
            resets.count(),
            seen,
            "nothing is tried at a host that is ejected"
        );
        envoy.wait_policy("admitted", 21).await;
        let all = envoy.stats("wasmcustom.weir.policy.default.").await;
        let said: BTreeMap<_, _> = all
            .iter()
            .filter(|(name, count)| name.contains(".class.") && **count > 0)
            .collect();
        assert!(said.is_empty(), "{said:?}");
        envoy.assert_idle().await;
    }
}
