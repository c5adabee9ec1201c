//! L4 on a real Envoy: the VM of one worker dies under load.
//!
//! The plugin is one that can be told to die; `make crash-wasm` builds it.

use crate::support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use support::weir::cap;
use support::{Bootstrap, Call, Conn, Envoy, Gate, Provider, Reply, Seen};
use tokio::task::JoinHandle;

const CAP: usize = 3;

/// Clients that call again and again, whatever they get.
struct Load {
    is_over: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(to: SocketAddr, clients: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let served = Arc::new(AtomicUsize::new(0));
        let client = |_| {
            let (is_over, served) = (Arc::clone(&is_over), Arc::clone(&served));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = Call::chat("load").try_send(to).await;
                    if answer.is_ok_and(|answer| answer.status == 200) {
                        served.fetch_add(1, Ordering::Relaxed);
                    } else {
                        // A worker that has just lost its VM refuses everything for a second.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            })
        };
        Self {
            clients: (0..clients).map(client).collect(),
            is_over: Arc::clone(&is_over),
            served: Arc::clone(&served),
        }
    }

    async fn wait_served(&self, more: usize) {
        let wanted = self.served.load(Ordering::Relaxed) + more;
        while self.served.load(Ordering::Relaxed) < wanted {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for client in self.clients {
            assert!(client.await.is_ok());
        }
    }
}

async fn a_vm_dies_under_load(workers: u32) {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |seen: &Seen| match seen.id.as_str() {
        "load" => Reply::ok(),
        _ => Reply::ok().after(&door),
    })
    .await;
    let config = Bootstrap::new(provider.addr, &cap(CAP as u32))
        .workers(workers)
        .crashing()
        // Calls that waited in the dead VM end by this alone.
        .hcm(json!({"stream_idle_timeout": "4s"}));
    let envoy = Envoy::start(&config).await;
    let load = Load::start(envoy.addr, 8 * workers as usize);
    load.wait_served(300).await;

    let boom = Call::chat("boom").header("x-weir-test-crash", "1");
    let answer = boom.try_send(envoy.addr).await;
    assert!(answer.is_ok_and(|answer| answer.status == 503));
    envoy
        .wait_stat("wasmcustom.weir.plugin.reaped", |n| n == 1)
        .await;
    // It was the crash that was reaped, and the queue goes on, on the new VM too.
    assert!(envoy.log().contains("RuntimeError"), "nothing has died");
    load.wait_served(300).await;
    load.end().await;
    envoy.assert_empty().await;
    assert_eq!(envoy.plugin("reaped_alive").await, 0);

    let _balance = Conn::many(envoy.addr, workers as usize).await;
    let calls: Vec<_> = (0..3 * CAP)
        .map(|i| Call::chat(format!("after{i}")).start(envoy.addr))
        .collect();
    envoy.wait_policy("waiting", 2 * CAP as u64).await;
    envoy.wait_policy("slots", CAP as u64).await;
    assert_eq!(provider.running(), CAP, "the cap is what it was");
    gate.open();
    let answers = support::answers(calls).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    envoy.assert_empty().await;
    // The new VM has the dead one's worker slot.
    let held = envoy.plugin("workers").await;
    assert!(
        (1..=u64::from(workers)).contains(&held),
        "{held} slots held"
    );
    assert_eq!(envoy.ended(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_the_only_workers_vm_dies_under_load() {
    a_vm_dies_under_load(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_one_of_four_vms_dies_under_load() {
    a_vm_dies_under_load(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_a_process_that_was_stopped_gives_no_worker_up() {
    let gate = Gate::closed();
    let door = gate.clone();
    let provider = Provider::start(move |_: &Seen| Reply::ok().after(&door)).await;
    let config = Bootstrap::new(provider.addr, &cap(CAP as u32)).workers(4);
    let envoy = Envoy::start(&config).await;
    let calls: Vec<_> = (0..8).map(|i| Call::chat(i).start(envoy.addr)).collect();
    envoy.wait_policy("waiting", 8 - CAP as u64).await;
    envoy.stall(Duration::from_secs(5)).await;
    // Longer than it takes to give somebody up.
    tokio::time::sleep(Duration::from_secs(3)).await;
    gate.open();
    let answers = support::answers(calls).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    envoy.assert_idle().await;
    for count in ["reaped", "reaped_alive"] {
        assert_eq!(envoy.plugin(count).await, 0, "{count}");
    }
}
