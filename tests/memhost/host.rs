//! [`weir::port::Host`] over what all VMs of a process share.

use weir::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

use std::sync::MutexGuard;

use super::memory::{Memory, ONLY_NEW, Reader, State};

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
    /// The VM calls its host; `None` if it is dead, or dies of this.
    fn call(&self) -> Option<MutexGuard<'_, State>> {
        let mut state = self.memory.state();
        state.lives(self.vm).then_some(state)
    }

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

    fn wall_ms(&self) -> u64 {
        1_790_000_000_000
    }

    fn entropy(&self) -> Result<[u8; 16], HostError> {
        Ok((u128::from(self.random()) << 64 | u128::from(self.random())).to_le_bytes())
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        let mut state = self.call().ok_or(HostError::Refused)?;
        Ok(match state.get(key)? {
            Some((bytes, cas)) => {
                let bytes = state.newer.load(self.vm, key, bytes);
                Stored::Present { bytes, cas }
            }
            None => Stored::Absent,
        })
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let cas = match expect {
            Expect::New => ONLY_NEW,
            Expect::Same(cas) => cas,
        };
        let mut state = self.call().ok_or(HostError::Refused)?;
        let bytes = state.newer.store(self.vm, key, bytes);
        state.set(key, &bytes, cas)
    }

    fn queue_register(&self, name: &str) -> Result<QueueId, HostError> {
        let reader = Reader {
            vm: self.vm,
            root: 0,
        };
        let mut state = self.call().ok_or(HostError::Refused)?;
        Ok(state.register(name, reader))
    }

    fn queue_send(&self, queue: QueueId, message: &[u8]) -> Result<(), HostError> {
        let mut state = self.call().ok_or(HostError::Refused)?;
        state.enqueue(queue, message)
    }

    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        self.call().ok_or(HostError::Refused)?.dequeue(queue)
    }

    fn metric(&self, kind: MetricKind, name: &str, value: u64) {
        if let Some(mut state) = self.call() {
            state.metric(kind, name, value);
        }
    }

    fn is_tracing(&self) -> bool {
        self.memory.state().is_tracing
    }

    fn log(&self, level: Level, line: &str) {
        if let Some(mut state) = self.call() {
            state.log(level, line.to_owned());
        }
    }
}
