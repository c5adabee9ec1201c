//! What `docs/try-it.md` shows with the provider to practise with.

use crate::support;

use std::net::SocketAddr;
use std::process::{Child, Command};
use std::time::Duration;

use support::provider::nobody;
use support::weir::cap;
use support::{Bootstrap, Call, Envoy, answers};

const BURST: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_is_refused_without_weir_and_waits_with_it() {
    let at = nobody().await;
    let _provider = Practice::start(at).await;

    let direct = burst(at).await;
    let refused = direct.iter().filter(|status| **status == 429).count();
    let served = direct.iter().filter(|status| **status == 200).count();
    assert_eq!((served, served + refused), (4, BURST), "{direct:?}");

    let envoy = Envoy::start(&Bootstrap::new(at, &cap(4)).workers(2)).await;
    assert_eq!(burst(envoy.addr).await, [200; BURST]);
    envoy.wait_policy("queued", 16).await;
    assert_eq!(envoy.policy("refusals.class.rate").await, 0);
    envoy.assert_idle().await;
}

async fn burst(to: SocketAddr) -> Vec<u16> {
    let calls = (0..BURST).map(|i| Call::chat(i).start(to)).collect();
    answers(calls).await.iter().map(|a| a.status).collect()
}

/// `tools/practice.py`, ended with the test.
struct Practice(Child);

impl Practice {
    async fn start(at: SocketAddr) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/practice.py");
        let mut command = Command::new("python3");
        let child = command.args([script, &at.port().to_string()]).spawn();
        let practice = Self(child.expect("python3"));
        for _ in 0..1000 {
            if tokio::net::TcpStream::connect(at).await.is_ok() {
                return practice;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nobody listens at {at}");
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
