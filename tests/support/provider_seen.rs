//! What a provider remembers of the requests it got.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::http::request::Parts;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a test waits for an event before it fails with what was seen instead.
const PATIENCE: Duration = Duration::from_secs(30);

/// One request as it reached the provider.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Its place in the order of arrival, from 0.
    pub(crate) n: usize,
    /// The `x-id` header.
    pub(crate) id: String,
    /// How many with this id have come, itself included.
    pub(crate) attempt: usize,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// 0 until the body was read to its end.
    pub(crate) body_len: usize,
    pub(crate) body_hash: u64,
    pub(crate) at: Instant,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_slice())
    }
}

#[derive(Default)]
pub(crate) struct Ledger {
    inner: Mutex<Inner>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Inner {
    seen: Vec<Seen>,
    running: usize,
    peak: usize,
}

impl Ledger {
    pub(crate) fn enter(self: &Arc<Self>, head: &Parts) -> (Seen, Running) {
        let headers: Vec<(String, Vec<u8>)> = head
            .headers
            .iter()
            .map(|(n, v)| (n.as_str().to_owned(), v.as_bytes().to_owned()))
            .collect();
        let id = head
            .headers
            .get("x-id")
            .and_then(|v| v.to_str().ok())
            .unwrap_or("")
            .to_owned();
        let mut inner = self.inner.lock().expect("ledger");
        let seen = Seen {
            n: inner.seen.len(),
            attempt: inner.seen.iter().filter(|s| s.id == id).count() + 1,
            id,
            path: head
                .uri
                .path_and_query()
                .map_or(String::new(), ToString::to_string),
            headers,
            body_len: 0,
            body_hash: 0,
            at: Instant::now(),
        };
        inner.seen.push(seen.clone());
        inner.running += 1;
        inner.peak = inner.peak.max(inner.running);
        drop(inner);
        self.changed.send_replace(());
        (seen, Running(self.clone()))
    }

    pub(crate) fn body(&self, n: usize, len: usize, hash: u64) {
        let mut inner = self.inner.lock().expect("ledger");
        if let Some(seen) = inner.seen.get_mut(n) {
            (seen.body_len, seen.body_hash) = (len, hash);
        }
        drop(inner);
        self.changed.send_replace(());
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner.lock().expect("ledger").seen.clone()
    }

    pub(crate) fn running(&self) -> usize {
        self.inner.lock().expect("ledger").running
    }

    pub(crate) fn peak(&self) -> usize {
        self.inner.lock().expect("ledger").peak
    }

    pub(crate) async fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let mut changed = self.changed.subscribe();
        let reached = async {
            while !done(self) {
                changed
                    .changed()
                    .await
                    .expect("the ledger outlives its waiters");
            }
        };
        if tokio::time::timeout(PATIENCE, reached).await.is_err() {
            let ids: Vec<String> = self.seen().into_iter().map(|s| s.id).collect();
            panic!(
                "waited in vain for {what}; running {}, seen {ids:?}",
                self.running()
            );
        }
    }
}

/// One running request; over when dropped.
pub(crate) struct Running(Arc<Ledger>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.inner.lock().expect("ledger").running -= 1;
        self.0.changed.send_replace(());
    }
}
