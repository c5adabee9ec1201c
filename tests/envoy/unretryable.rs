//! What cannot be retried on a real Envoy: recognised, counted, and said once with the setting to
//! change.

use crate::support;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Provider, Reply, Seen};

/// Sends two calls one after the other and expects that of each one retry is not made for this
/// reason alone, with one line in the log that names the setting.
async fn avoided(
    config: Bootstrap,
    status: u16,
    kind: &str,
    setting: &str,
    call: fn(usize) -> Call,
) {
    let envoy = Envoy::start(&config).await;
    for i in 0..2 {
        let answer = call(i).send(envoy.addr).await;
        assert_eq!(answer.status, status, "{kind}");
        assert_eq!(answer.header("x-weir-retry"), None);
    }
    envoy.assert_idle().await;
    let stat = format!("wasmcustom.weir.plugin.avoided.{kind}");
    let wanted = |n| n == 2;
    envoy.wait_stat(&stat, wanted).await;
    let all = envoy.stats("wasmcustom.weir.plugin.avoided.").await;
    assert_eq!(all.values().sum::<u64>(), 2, "{all:?}");
    let log = envoy.log();
    let line = format!(r#"{{"weir":"avoided","policy":"default","kind":"{kind}","#);
    let said: Vec<_> = log.lines().filter(|l| l.contains(&line)).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said.iter().all(|l| l.contains(setting)), "{said:?}");
}

fn chat(id: usize) -> Call {
    Call::chat(id)
}

async fn refusing(reply: Reply) -> Provider {
    Provider::start(move |_: &Seen| reply.clone()).await
}

fn weir(provider: &Provider) -> Bootstrap {
    Bootstrap::new(provider.addr, &policy(json!({})))
}

fn retry_after(seconds: &str) -> Reply {
    Reply::rate().header("retry-after", seconds)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_over_the_buffer_limit_is_not_retried() {
    let provider = refusing(Reply::rate()).await;
    let large = |id| Call::chat(id).body(vec![b'x'; 2 << 20]);
    let setting = "request_body_buffer_limit";
    avoided(weir(&provider), 429, "body_not_kept", setting, large).await;
    assert_eq!(provider.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_breaker_lets_no_retry_through() {
    let provider = refusing(Reply::rate()).await;
    let none = json!({"circuit_breakers": {"thresholds": [{"max_retries": 0}]}});
    let config = weir(&provider).clusters(&none);
    avoided(config, 429, "breaker_full", "max_retries", chat).await;
    assert_eq!(provider.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_that_another_filter_took_away_are_not_made() {
    let provider = refusing(Reply::rate()).await;
    let set = json!({"header": {"key": "x-envoy-max-retries", "value": "0"},
        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"});
    let mutation = json!({"name": "mutation", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
        "mutations": {"request_mutations": [{"append": set}]}}});
    let config = weir(&provider).after_gate(mutation);
    avoided(config, 429, "retries_used", "retry policy", chat).await;
    assert_eq!(provider.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_timeout_that_would_pass_lets_no_hold_begin() {
    let provider = refusing(retry_after("5")).await;
    // The first refusal shuts the gate for five seconds; the second call comes when it has opened.
    let config = weir(&provider).action(&json!({"timeout": "2s"}));
    let short = "route's timeout";
    avoided(config, 429, "route_timeout", short, chat).await;
    assert_eq!(provider.count(), 2);
}

/// The first refusal of a call asks for nothing, the next for five seconds.
async fn refusing_longer() -> Provider {
    let seen = AtomicUsize::new(0);
    Provider::start(
        move |_: &Seen| match seen.fetch_add(1, Ordering::SeqCst) % 2 {
            0 => Reply::rate(),
            _ => retry_after("5"),
        },
    )
    .await
}

fn per_try(timeout: &str, span: &str) -> Value {
    json!({"retry_policy": {"num_retries": 1, timeout: span}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_for_each_try_is_recognised_at_the_second() {
    let provider = refusing_longer().await;
    let config = weir(&provider).action(&per_try("per_try_timeout", "3s"));
    avoided(config, 429, "per_try_timeout", "per_try_timeout", chat).await;
    assert_eq!(provider.count(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_that_envoy_does_not_tell_of_is_recognised_when_it_ends_a_hold() {
    let provider = refusing(retry_after("3")).await;
    let config = weir(&provider).action(&per_try("per_try_idle_timeout", "1s"));
    avoided(config, 504, "per_try_timeout", "per_try_idle_timeout", chat).await;
    assert_eq!(provider.count(), 2);
}
