//! What a configuration does: refused with its path and rule, matched, absent, or for one half.

use crate::support;

use serde_json::{Value, json};
use support::weir::{cap, policy, quick_retry};
use support::{Bootstrap, Call, Envoy, Gate, Provider, Reply, Seen};

/// A configuration that must be refused, and what the refusal must name.
fn bad_configs() -> Vec<(String, Vec<&'static str>)> {
    let with = |patch: Value| policy(patch).to_string();
    vec![
        (
            with(json!({"max_concurrent_calls": 70_000})),
            vec!["max_concurrent_calls", "65535"],
        ),
        (
            with(json!({"max_concurent_calls": 1})),
            vec!["max_concurent_calls", "max_concurrent_calls"],
        ),
        (
            with(json!({"retry": {"retry_base_delay_ms": 1000, "retry_cap_delay_ms": 1100}})),
            vec!["retry_cap_delay_ms", "1100"],
        ),
        ("{\"version\": 1,".into(), vec!["JSON"]),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validation_refuses_a_bad_configuration_and_names_path_and_rule() {
    let provider = Provider::start(|_| Reply::ok()).await;
    let good = Bootstrap::new(provider.addr, &cap(1));
    let valid = Envoy::validate(&good).await;
    assert_eq!(valid.status.code(), Some(0), "{}", valid.log);
    for (config, named) in bad_configs() {
        let ended = Envoy::validate(&good.clone().weir(&config)).await;
        assert_eq!(ended.status.code(), Some(1), "{config}");
        for word in named {
            assert!(
                ended.log.contains(word),
                "{word:?} is not named in:\n{}",
                ended.log
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_refuses_to_start_on_a_bad_configuration() {
    let provider = Provider::start(|_| Reply::ok()).await;
    let (config, named) = bad_configs().remove(0);
    let bad = Bootstrap::new(provider.addr, &cap(1)).weir(&config);
    let Err(ended) = Envoy::try_start(&bad).await else {
        panic!("it started")
    };
    assert!(!ended.status.success());
    assert!(
        named.iter().all(|word| ended.log.contains(word)),
        "{}",
        ended.log
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_policies_nothing_is_touched() {
    let provider = Provider::start(|_| Reply::burst()).await;
    let none = json!({"version": 1, "policies": []});
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &none)).await;
    let answer = Call::chat("a").send(envoy.addr).await;
    assert_eq!((answer.status, provider.count()), (429, 1));
    let added = answer
        .headers
        .keys()
        .find(|n| n.as_str().starts_with("x-weir-"));
    assert_eq!(added, None);
    assert!(envoy.stats("wasmcustom.weir.policy.").await.is_empty());
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_policy_that_matches_is_used_and_no_match_means_untouched() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let config = json!({"version": 1, "policies": [
        {"name": "chat", "match": {"hosts": ["*.TEST"], "path_prefixes": ["/v1/chat"]},
         "max_concurrent_calls": 1},
        {"name": "rest", "match": {"clusters": ["provider"], "path_prefixes": ["/v1/"]},
         "max_concurrent_calls": 2},
    ]});
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config)).await;
    let call = |path: &str| Call::chat(path).path(path).start(envoy.addr);
    let calls: Vec<_> = ["/v1/chat", "/v1/x", "/v1/y", "/v2", "/v2", "/v2"]
        .map(call)
        .into();
    provider.wait_running(6).await;
    let waiting = Call::chat("w")
        .path("/v1/chat/completions?x=/")
        .start(envoy.addr);
    envoy
        .wait_stat("wasmcustom.weir.policy.chat.waiting", |n| n == 1)
        .await;
    let more = Call::chat("w").path("/v1/z").start(envoy.addr);
    envoy
        .wait_stat("wasmcustom.weir.policy.rest.waiting", |n| n == 1)
        .await;
    assert_eq!(provider.running(), 6);
    gate.open();
    let all = support::answers(calls.into_iter().chain([waiting, more]).collect()).await;
    assert!(all.iter().all(|a| a.status == 200));
    assert_eq!(all[0].header("x-weir-attempts"), Some("1"));
    assert_eq!(
        all[3].header("x-weir-attempts"),
        None,
        "no policy matches /v2"
    );
    envoy.assert_idle().await;
    assert_eq!(
        envoy.stat("wasmcustom.weir.policy.chat.calls").await,
        Some(2)
    );
    assert_eq!(
        envoy.stat("wasmcustom.weir.policy.rest.calls").await,
        Some(3)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_alone_queues_and_classifies_but_does_not_retry() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.path.as_str() {
        "/refused" => Reply::rate(),
        _ => Reply::ok().after(&door),
    })
    .await;
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &cap(2)).gate_only()).await;
    let calls: Vec<_> = (0..4).map(|i| Call::chat(i).start(envoy.addr)).collect();
    envoy.wait_policy("waiting", 2).await;
    gate.open();
    assert!(
        support::answers(calls)
            .await
            .iter()
            .all(|a| a.status == 200)
    );
    assert_eq!(provider.peak(), 2);
    let refused = Call::chat("r").path("/refused").send(envoy.addr).await;
    assert_eq!(
        (refused.status, refused.header("x-weir-class")),
        (429, Some("rate"))
    );
    assert_eq!(refused.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(provider.count(), 5);
    envoy.wait_policy("refusals.class.rate", 1).await;
    envoy.assert_idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_attempt_half_alone_retries_and_counts_first_attempts_as_unplanned() {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let own = json!({"retry_policy": {"retry_on": "retriable-headers", "num_retries": 3,
        "retriable_headers": [{"name": "x-weir-retry", "present_match": true}]}});
    let weir = policy(json!({"retry": quick_retry()}));
    let config = Bootstrap::new(provider.addr, &weir)
        .attempt_only()
        .action(&own);
    let envoy = Envoy::start(&config).await;
    assert_eq!(Call::chat("a").send(envoy.addr).await.status, 200);
    assert_eq!(provider.count(), 2);
    envoy.wait_policy("refusals.class.burst_rate", 1).await;
    envoy.wait_policy("unplanned", 1).await;
    envoy.assert_idle().await;
}
