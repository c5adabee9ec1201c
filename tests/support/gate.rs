//! A door in front of a provider's next step, opened by the test: no test sleeps to get an order.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Far more than any test passes through one gate.
const OPEN: usize = 1 << 24;

/// Closed at first. Clones are the same gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets `n` more through.
    pub(crate) fn let_through(&self, n: usize) {
        self.0.add_permits(n);
    }

    /// Lets everybody through from now on.
    pub(crate) fn open(&self) {
        self.0.add_permits(OPEN);
    }

    pub(crate) async fn pass(&self) {
        self.0
            .acquire()
            .await
            .expect("a gate is never shut")
            .forget();
    }
}
