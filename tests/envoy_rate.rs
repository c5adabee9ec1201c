//! L7 on a real Envoy: one rate for all workers.

mod support;

use std::time::Duration;

use serde_json::json;
use support::weir::policy;
use support::{Bootstrap, Call, Conn, Envoy, Provider, Reply, answers};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "rate is not built yet"]
async fn starts_on_four_workers_share_one_rate() {
    const CALLS: u32 = 16;
    let provider = Provider::start(|_| Reply::ok()).await;
    let config = policy(json!({"rate": {"requests_per_second": 20, "burst": 4}}));
    let envoy = Envoy::start(&Bootstrap::new(provider.addr, &config).workers(4)).await;
    let conns = Conn::many(envoy.addr, CALLS as usize).await;
    let calls = conns
        .into_iter()
        .enumerate()
        .map(|(i, c)| c.start(Call::chat(i)))
        .collect();
    assert!(answers(calls).await.iter().all(|a| a.status == 200));
    let seen = provider.seen();
    // Four at once, then one each 50 ms; a few ms on the way to the provider are not the filter's.
    let least = Duration::from_millis(50) * (CALLS - 4) - Duration::from_millis(20);
    let took = seen[seen.len() - 1].at - seen[0].at;
    assert!(took >= least, "{took:?} for {CALLS} starts");
    assert!(envoy.workers_used().await >= 3);
    envoy.assert_idle().await;
}
