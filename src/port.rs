//! The one trait between the core and whatever hosts it: Envoy, a test, a simulator.
//!
//! Only what a decision needs *at once* is here: shared state and the numbers that go with it. What a
//! decision does to streams comes out of the core as values and is carried out last.

/// A value in shared data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Never written, or written as nothing.
    Absent,
    /// The bytes and the number of the write that put them there.
    Present {
        /// The bytes.
        bytes: Vec<u8>,
        /// The number to give to [`Expect::Same`].
        cas: u32,
    },
}

/// What must still hold for a write to go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The key has never been written.
    New,
    /// The last write had this number.
    Same(u32),
}

/// Why a host call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Another writer came first.
    #[error("another writer came first")]
    Conflict,
    /// The thing named is not there.
    #[error("no such key, queue or stream")]
    Gone,
    /// The host refused for a reason of its own.
    #[error("the host refused the call")]
    Refused,
}

/// How severe a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Each grant: for tests and long nights.
    Trace,
    /// For the curious.
    Info,
    /// Something that somebody should change.
    Warn,
    /// Something that does not work.
    Error,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricKind {
    /// Only rises.
    Counter,
    /// Is set.
    Gauge,
    /// Counts values in buckets.
    Histogram,
}

/// A queue that wakes a worker.
pub type QueueId = u32;

/// What the host of a VM offers.
pub trait Host {
    /// Random bits, good enough for jitter.
    fn random(&self) -> u64;

    /// The time of day in milliseconds since 1970 UTC, as far as the host knows it. Good for
    /// turning a provider's dates into spans and for nothing else: it may jump.
    fn wall_ms(&self) -> u64;

    /// Random bytes that nobody can guess.
    ///
    /// # Errors
    /// [`HostError::Refused`] if the host has none.
    fn entropy(&self) -> Result<[u8; 16], HostError>;

    /// Reads from the data that all VMs of the process share.
    ///
    /// # Errors
    /// [`HostError::Refused`] if shared data cannot be used.
    fn shared_get(&self, key: &str) -> Result<Stored, HostError>;

    /// Writes to the data that all VMs of the process share.
    ///
    /// # Errors
    /// [`HostError::Conflict`] if `expect` does not hold.
    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError>;

    /// Makes this VM the reader of the queue `name`; the same name is always the same queue.
    ///
    /// # Errors
    /// [`HostError::Refused`] if the host has no queues.
    fn queue_register(&self, name: &str) -> Result<QueueId, HostError>;

    /// Puts a message into a queue and wakes its reader.
    ///
    /// # Errors
    /// [`HostError::Gone`] if there is no such queue.
    fn queue_send(&self, queue: QueueId, message: &[u8]) -> Result<(), HostError>;

    /// Takes the next message; `None` if there is none.
    ///
    /// # Errors
    /// [`HostError::Gone`] if there is no such queue.
    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError>;

    /// Adds to a counter, sets a gauge or records a value, by its full name.
    fn metric(&self, kind: MetricKind, name: &str, value: u64);

    /// Whether lines of [`Level::Trace`] are wanted.
    fn is_tracing(&self) -> bool {
        false
    }

    /// Writes a line to the log.
    fn log(&self, level: Level, line: &str);
}
