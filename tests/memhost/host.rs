//! [`weir::port::Host`] over what all VMs of a process share.

use weir::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

use super::memory::{Memory, ONLY_NEW, Reader};

/// One VM's view of [`Memory`].
pub(crate) struct MemHost {
    memory: Memory,
    vm: usize,
}

impl Memory {
    /// The host of one VM.
    pub(crate) fn host(&self, vm: usize) -> MemHost {
        MemHost {
            memory: self.clone(),
            vm,
        }
    }
}

impl MemHost {
    /// The oldest wake-up for this VM is delivered.
    pub(crate) fn take_wake_up(&self) -> Option<QueueId> {
        let wake_up = self.memory.state().take_wake_up(self.vm)?;
        Some(wake_up.1)
    }
}

impl Host for MemHost {
    fn random(&self) -> u64 {
        self.memory.state().random.draw()
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        let stored = self.memory.state().get(key)?;
        Ok(match stored {
            Some((bytes, cas)) => Stored::Present { bytes, cas },
            None => Stored::Absent,
        })
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let cas = match expect {
            Expect::New => ONLY_NEW,
            Expect::Same(cas) => cas,
        };
        self.memory.state().set(key, bytes, cas)
    }

    fn queue_register(&self, name: &str) -> Result<QueueId, HostError> {
        let reader = Reader {
            vm: self.vm,
            root: 0,
        };
        Ok(self.memory.state().register(name, reader))
    }

    fn queue_send(&self, queue: QueueId, message: &[u8]) -> Result<(), HostError> {
        self.memory.state().enqueue(queue, message)
    }

    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        self.memory.state().dequeue(queue)
    }

    fn metric(&self, kind: MetricKind, name: &str, value: u64) {
        self.memory.state().metric(kind, name, value);
    }

    fn log(&self, level: Level, line: &str) {
        self.memory.state().lines.push((level, line.to_owned()));
    }
}
