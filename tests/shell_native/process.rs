//! What the threads of a race share beside the process's memory: a clock, a provider, and a place
//! to wait for each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use weir::core::time::Time;

/// The monotonic clock of a process. It moves when told to.
pub(crate) struct Clock(AtomicU64);

impl Clock {
    pub(crate) fn new(now: Time) -> Clock {
        Clock(AtomicU64::new(now.0))
    }

    /// Some time passes; the new time.
    pub(crate) fn advance(&self, nanos: u64) -> Time {
        Time(self.0.fetch_add(nanos, Ordering::SeqCst) + nanos)
    }

    pub(crate) fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

/// A provider, and how many calls it has had at once.
#[derive(Default)]
pub(crate) struct Provider {
    running: AtomicU64,
    peak: AtomicU64,
}

impl Provider {
    pub(crate) fn begin(&self, calls: u64) {
        let running = self.running.fetch_add(calls, Ordering::SeqCst) + calls;
        self.peak.fetch_max(running, Ordering::SeqCst);
    }

    /// To be said before Weir hears of it, so that no other call is counted too early.
    pub(crate) fn finish(&self, calls: u64) {
        self.running.fetch_sub(calls, Ordering::SeqCst);
    }

    pub(crate) fn running(&self) -> u64 {
        self.running.load(Ordering::SeqCst)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::SeqCst)
    }
}

/// Where threads wait until all are there. If one fails, all do.
pub(crate) struct Meeting {
    size: usize,
    state: Mutex<Met>,
    changed: Condvar,
}

#[derive(Default)]
struct Met {
    here: usize,
    times: usize,
    is_broken: bool,
}

impl Meeting {
    pub(crate) fn of(size: usize) -> Meeting {
        Meeting {
            size,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits for all others.
    pub(crate) fn meet(&self) {
        let mut met = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        met.here += 1;
        let times = met.times;
        if met.here == self.size {
            met.here = 0;
            met.times += 1;
            self.changed.notify_all();
        }
        while met.times == times && !met.is_broken {
            met = self
                .changed
                .wait(met)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let is_broken = met.is_broken;
        drop(met);
        assert!(!is_broken, "another thread failed");
    }

    /// Held by each thread while it takes part.
    pub(crate) fn member(&self) -> Member<'_> {
        Member(self)
    }
}

pub(crate) struct Member<'a>(&'a Meeting);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut met = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            met.is_broken = true;
            self.0.changed.notify_all();
        }
    }
}
