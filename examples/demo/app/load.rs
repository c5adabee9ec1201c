//! A load on one path, and how it goes meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::client::{Ask, End, Outcome, call};
use super::plan::Plan;

/// The state of a running load.
#[derive(Debug, Default)]
pub(crate) struct Live {
    offered: AtomicUsize,
    begun: AtomicUsize,
    succeeded: AtomicUsize,
    ended: AtomicUsize,
}

impl Live {
    /// Calls sent.
    pub(crate) fn offered(&self) -> usize {
        self.offered.load(Ordering::Relaxed)
    }

    /// Calls without a first byte yet.
    pub(crate) fn waiting(&self) -> usize {
        let begun = self.begun.load(Ordering::Relaxed);
        self.offered().saturating_sub(begun)
    }

    pub(crate) fn succeeded(&self) -> usize {
        self.succeeded.load(Ordering::Relaxed)
    }

    pub(crate) fn failed(&self) -> usize {
        let ended = self.ended.load(Ordering::Relaxed);
        ended.saturating_sub(self.succeeded())
    }
}

/// Sends every call of `plan` at its time, whatever became of those before it, and waits for all.
pub(crate) async fn run(
    to: SocketAddr,
    ask: Ask,
    plan: Plan,
    start: Instant,
    live: Arc<Live>,
) -> Vec<Outcome> {
    let ask = Arc::new(ask);
    let mut calls = JoinSet::new();
    for at in plan.arrivals() {
        sleep_until(start + at).await;
        live.offered.fetch_add(1, Ordering::Relaxed);
        let (ask, live) = (ask.clone(), live.clone());
        calls.spawn(async move {
            let begun = || {
                live.begun.fetch_add(1, Ordering::Relaxed);
            };
            let outcome = call(to, &ask, start, plan.patience, begun).await;
            let succeeded = usize::from(outcome.end == End::Succeeded);
            live.succeeded.fetch_add(succeeded, Ordering::Relaxed);
            live.ended.fetch_add(1, Ordering::Relaxed);
            outcome
        });
    }
    calls.join_all().await
}
