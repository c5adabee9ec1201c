//! What happened when: counts by buckets of time.

use std::time::Duration;

use serde::Serialize;
use weir::core::time::Time;

use super::clairvoyant::Server;
use super::provider::Provider;

/// The most starts of a bucket that are told: a provider without limits takes any number.
const MOST: u64 = 1_000_000;

/// Counts by buckets, the first of which begins at the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Timeline {
    pub(crate) bucket_ms: u64,
    pub(crate) buckets: Vec<Bucket>,
}

/// What happened from the beginning of a bucket to before its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Bucket {
    /// Calls that came.
    pub(crate) offered: u64,
    pub(crate) attempts: u64,
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    /// Calls that ended: answered, failed or left.
    pub(crate) ended: u64,
    /// Calls that were not accepted yet and not over, at the end of the bucket.
    pub(crate) waiting: u64,
    /// Starts that the provider would have taken from one who always has a call ready, all of mean
    /// length and cost, after what it had taken before the bucket; `None` if it has no limit, or the
    /// run is over.
    pub(crate) envelope: Option<u64>,
    /// Starts of the clairvoyant queue.
    pub(crate) possible: u64,
}

impl Timeline {
    pub(crate) fn new(bucket: Duration) -> Timeline {
        Timeline {
            bucket_ms: (bucket.as_millis() as u64).max(1),
            buckets: Vec::new(),
        }
    }

    /// When the next bucket begins.
    pub(crate) fn end(&self) -> Time {
        Time(0) + Duration::from_millis(self.bucket_ms * self.buckets.len() as u64)
    }

    /// A bucket begins, with as many `waiting` and a provider where calls run until `ends`.
    pub(crate) fn begin(&mut self, provider: &Provider, ends: Vec<Time>, waiting: u64, mean: Mean) {
        let from = self.end();
        let until = from + Duration::from_millis(self.bucket_ms);
        if let Some(last) = self.buckets.last_mut() {
            last.waiting = waiting;
        }
        self.buckets.push(Bucket {
            envelope: envelope(Server::new(provider.clone(), ends), from, until, mean),
            ..Bucket::default()
        });
    }

    /// The bucket of now.
    pub(crate) fn now(&mut self) -> Option<&mut Bucket> {
        self.buckets.last_mut()
    }

    /// Says what the clairvoyant queue did in the meantime.
    pub(crate) fn compare(mut self, starts: &[Time]) -> Timeline {
        let bucket = Duration::from_millis(self.bucket_ms);
        for start in starts {
            while self.end() <= *start {
                self.buckets.push(Bucket::default());
            }
            let at = start.since(Time(0)).as_nanos() / bucket.as_nanos();
            if let Some(bucket) = self.buckets.get_mut(at as usize) {
                bucket.possible += 1;
            }
        }
        self
    }
}

/// A call as others are on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) service: Duration,
    pub(crate) cost: f64,
}

fn envelope(mut server: Server, from: Time, until: Time, mean: Mean) -> Option<u64> {
    let mut now = from;
    for starts in 0..MOST {
        match server.first_start(now, until, mean.cost) {
            Some(at) if at < until && server.start(at, mean.cost, at + mean.service) => now = at,
            _ => return Some(starts),
        }
    }
    None
}
