//! A provider that can queue on its side is asked to, where the policy says so.

use crate::support;

use serde_json::{Value, json};
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Provider, Reply};

const HEADER: &str = "x-dashscope-wait-timeout";

/// What the provider was told by each attempt of a call that is refused once.
async fn told(patch: Value, call: Call) -> Vec<Option<String>> {
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::burst(),
        _ => Reply::ok(),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &policy(patch)).action(&json!({"timeout": "20s"}));
    let envoy = Envoy::start(&config).await;
    assert_eq!(call.send(envoy.addr).await.status, 200);
    envoy.assert_idle().await;
    let seen = provider.seen();
    let value = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    seen.iter().map(|s| s.header(HEADER).map(value)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_sees_how_long_it_may_queue_a_call() {
    let on = json!({"provider": "dashscope", "server_queue_ms": 12_000});
    let all = told(on, Call::chat("on")).await;
    assert_eq!(all, [Some("12".to_owned()), Some("12".to_owned())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_told_no_more_than_what_is_left_of_the_call() {
    let on = json!({"provider": "dashscope", "server_queue_ms": 120_000,
        "retry": {"burst_retry_base_delay_ms": 1000, "burst_retry_cap_delay_ms": 1200}});
    let all = told(on, Call::chat("route")).await;
    let seconds: Vec<u64> = all.iter().flatten().map(|s| s.parse().unwrap()).collect();
    assert_eq!(seconds.len(), 2, "{all:?}");
    // The route's 20 s, and a second less for the retry.
    assert!(
        seconds[0] == 19 && (15..=18).contains(&seconds[1]),
        "{all:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_asked_without_the_option_and_the_clients_own_word_stands() {
    let off = json!({"provider": "dashscope"});
    assert_eq!(told(off, Call::chat("off")).await, [None, None]);
    let on = json!({"provider": "dashscope", "server_queue_ms": 12_000});
    let own = told(on, Call::chat("own").header(HEADER, "5")).await;
    assert_eq!(own, [Some("5".to_owned()), Some("5".to_owned())]);
}
