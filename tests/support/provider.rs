//! A provider in this process: HTTP/1.1 and h2c, answers by script, remembers what it saw.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::outgoing::{Broken, Outgoing, outgoing};
use super::provider_seen::Ledger;
pub(crate) use super::provider_seen::Seen;
use super::reply::{Payload, Reply};

type Script = dyn Fn(&Seen) -> Reply + Send + Sync;

/// When the script is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    AfterBody,
    /// At the head; the body is still read to its end, as real servers do.
    AtHead,
}

/// A running provider; stops when dropped.
pub(crate) struct Provider {
    pub(crate) addr: SocketAddr,
    ledger: Arc<Ledger>,
    task: JoinHandle<()>,
}

impl Provider {
    /// Reads each request to its end, then does what `script` says.
    pub(crate) async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::bind(Arc::new(script), Ask::AfterBody).await
    }

    /// Does what `script` says as soon as the head is there, while the body still comes in.
    pub(crate) async fn start_early(
        script: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::bind(Arc::new(script), Ask::AtHead).await
    }

    async fn bind(script: Arc<Script>, ask: Ask) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("bound");
        let ledger = Arc::new(Ledger::default());
        let task = tokio::spawn(accept(listener, script, ask, ledger.clone()));
        Self { addr, ledger, task }
    }

    /// Every request so far, in order of arrival of its head.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.ledger.seen()
    }

    /// The `x-id` of every request so far, in order of arrival.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.seen().into_iter().map(|s| s.id).collect()
    }

    /// Requests so far.
    pub(crate) fn count(&self) -> usize {
        self.seen().len()
    }

    /// Requests running now: from the head until just before the last chunk of the answer, or
    /// the head of a refusal.
    pub(crate) fn running(&self) -> usize {
        self.ledger.running()
    }

    /// The most that ever ran at once.
    pub(crate) fn peak(&self) -> usize {
        self.ledger.peak()
    }

    /// Waits until `n` requests have come in all.
    pub(crate) async fn wait_count(&self, n: usize) {
        self.ledger
            .wait(&format!("{n} requests at the provider"), |l| {
                l.seen().len() >= n
            })
            .await;
    }

    /// Waits until a request with this `x-id` has come.
    pub(crate) async fn wait_id(&self, id: &str) {
        self.ledger
            .wait(id, |l| l.seen().iter().any(|s| s.id == id))
            .await;
    }

    /// Waits until `n` run at once.
    pub(crate) async fn wait_running(&self, n: usize) {
        self.ledger
            .wait(&format!("{n} running at the provider"), |l| {
                l.running() == n
            })
            .await;
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("bound")
}

async fn accept(listener: TcpListener, script: Arc<Script>, ask: Ask, ledger: Arc<Ledger>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let _ = stream.set_nodelay(true);
        let (script, ledger) = (script.clone(), ledger.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let (script, ledger) = (script.clone(), ledger.clone());
                async move { answer(request, &*script, ask, ledger).await }
            });
            let server = auto::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    request: Request<Incoming>,
    script: &Script,
    ask: Ask,
    ledger: Arc<Ledger>,
) -> Result<Response<Outgoing>, Broken> {
    let (head, body) = request.into_parts();
    let (mut seen, running) = ledger.enter(&head);
    let read = read_body(body, ledger, seen.n);
    match ask {
        Ask::AtHead => drop(tokio::spawn(read)),
        Ask::AfterBody => (seen.body_len, seen.body_hash) = read.await.ok_or(Broken)?,
    }
    let reply = script(&seen);
    if let Some(gate) = &reply.before {
        gate.pass().await;
    }
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value.as_slice());
    }
    let body = match reply.body {
        Payload::Reset => return Err(Broken),
        Payload::Hang => std::future::pending().await,
        body if reply.status >= 400 => outgoing(body, None),
        body => outgoing(body, Some(running)),
    };
    Ok(response.body(body).expect("a well-formed reply"))
}

async fn read_body(mut body: Incoming, ledger: Arc<Ledger>, n: usize) -> Option<(usize, u64)> {
    let (mut len, mut hash) = (0, FNV_OFFSET);
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.ok()?.data_ref() {
            len += data.len();
            hash = fnv(hash, data);
        }
    }
    ledger.body(n, len, hash);
    Some((len, hash))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, enough to see that a replayed body is the same body.
fn fnv(start: u64, data: &[u8]) -> u64 {
    data.iter().fold(start, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The hash that [`Seen::body_hash`] has for these bytes.
pub(crate) fn body_hash(data: &[u8]) -> u64 {
    fnv(FNV_OFFSET, data)
}
