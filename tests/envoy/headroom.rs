//! What a provider says on its successes, on a real Envoy: the calls that are left are made to last.

use crate::support;

use std::time::Duration;

use serde_json::json;
use support::weir::policy;
use support::{Bootstrap, Call, Envoy, Provider, Reply, answers};

const WINDOW: Duration = Duration::from_millis(1500);

fn first_says(remaining: &'static str) -> impl Fn(&support::Seen) -> Reply + Send + Sync + 'static {
    move |seen| match seen.n {
        0 => Reply::ok()
            .header("x-ratelimit-limit-requests", "100")
            .header("x-ratelimit-remaining-requests", remaining)
            .header("x-ratelimit-reset-requests", "1500ms"),
        _ => Reply::ok(),
    }
}

/// How long after the first call each of four others reached the provider, who come at once.
async fn after_the_first(remaining: &'static str) -> Vec<Duration> {
    let provider = Provider::start(first_says(remaining)).await;
    let config = Bootstrap::new(provider.addr, &policy(json!({}))).workers(2);
    let envoy = Envoy::start(&config).await;
    assert_eq!(Call::chat("first").send(envoy.addr).await.status, 200);
    let calls = (0..4).map(|n| Call::chat(n).start(envoy.addr)).collect();
    for answer in answers(calls).await {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), None);
    }
    envoy.assert_idle().await;
    let mut seen = provider.seen().into_iter().map(|seen| seen.at);
    let first = seen.next().expect("the first");
    seen.map(|at| at - first).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l9_few_calls_last_until_the_reset() {
    let starts = after_the_first("2").await;
    for (n, start) in starts.iter().take(3).enumerate() {
        // A third of the window each, and nothing early.
        assert!(*start >= WINDOW / 3 * (n as u32 + 1), "{starts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l9_with_nothing_left_nothing_starts_before_the_reset() {
    let starts = after_the_first("0").await;
    assert!(starts.iter().all(|start| *start >= WINDOW), "{starts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plenty_makes_nobody_wait() {
    let starts = after_the_first("50").await;
    assert!(starts.iter().all(|start| *start < WINDOW / 3), "{starts:?}");
}
