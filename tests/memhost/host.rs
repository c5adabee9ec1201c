//! Shared data, queues, metrics and log of one process, in memory.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use weir::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

/// What all VMs of a process share.
#[derive(Clone, Default)]
pub(crate) struct Memory(Rc<RefCell<State>>);

#[derive(Default)]
pub(crate) struct State {
    data: BTreeMap<String, (Vec<u8>, u32)>,
    writes: u32,
    /// How often shared data was read.
    pub(crate) reads: u64,
    queues: Vec<Queue>,
    pub(crate) counters: BTreeMap<String, u64>,
    pub(crate) gauges: BTreeMap<String, u64>,
    pub(crate) histograms: BTreeMap<String, Vec<u64>>,
    pub(crate) lines: Vec<(Level, String)>,
    pub(crate) faults: Faults,
    pub(crate) random: Random,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// Shared data refuses every call.
    pub(crate) no_data: bool,
    /// Every k-th write is beaten by another; 0 is none.
    pub(crate) conflict_every: u32,
    /// Messages are taken and never arrive.
    pub(crate) lost_wakes: bool,
    sets: u32,
}

/// Where random numbers come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Random {
    /// Always the same one: 0 draws the least of every range, `u64::MAX` the most.
    Always(u64),
    /// SplitMix64 from this state.
    Stream(u64),
}

impl Default for Random {
    fn default() -> Random {
        Random::Always(0)
    }
}

struct Queue {
    name: String,
    reader: usize,
    messages: VecDeque<Vec<u8>>,
}

impl Memory {
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }

    /// The host of one VM.
    pub(crate) fn host(&self, vm: usize) -> MemHost {
        MemHost {
            memory: self.clone(),
            vm,
        }
    }

    /// A VM whose queue holds a message, the lowest first.
    pub(crate) fn woken(&self, is_awake: impl Fn(usize) -> bool) -> Option<usize> {
        let state = self.state();
        let full = state.queues.iter().filter(|q| !q.messages.is_empty());
        full.map(|q| q.reader).filter(|vm| is_awake(*vm)).min()
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        self.state().counters.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn gauge(&self, name: &str) -> Option<u64> {
        self.state().gauges.get(name).copied()
    }

    pub(crate) fn histogram(&self, name: &str) -> Vec<u64> {
        self.state()
            .histograms
            .get(name)
            .cloned()
            .unwrap_or_default()
    }
}

/// One VM's view of [`Memory`].
pub(crate) struct MemHost {
    memory: Memory,
    vm: usize,
}

impl Host for MemHost {
    fn random(&self) -> u64 {
        match &mut self.memory.state().random {
            Random::Always(number) => *number,
            Random::Stream(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            }
        }
    }

    fn wall_ms(&self) -> u64 {
        1_790_000_000_000
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        let mut state = self.memory.state();
        state.reads += 1;
        if state.faults.no_data {
            return Err(HostError::Refused);
        }
        Ok(match state.data.get(key) {
            Some((bytes, cas)) => Stored::Present {
                bytes: bytes.clone(),
                cas: *cas,
            },
            None => Stored::Absent,
        })
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let mut state = self.memory.state();
        if state.faults.no_data {
            return Err(HostError::Refused);
        }
        state.faults.sets += 1;
        let every = state.faults.conflict_every;
        // Only a key that exists has another writer to lose against.
        if every > 0 && state.faults.sets.is_multiple_of(every) && state.data.contains_key(key) {
            return Err(HostError::Conflict);
        }
        let holds = match (state.data.get(key), expect) {
            (None, Expect::New) => true,
            (Some((_, cas)), Expect::Same(same)) => *cas == same,
            (None, Expect::Same(_)) | (Some(_), Expect::New) => false,
        };
        if !holds {
            return Err(HostError::Conflict);
        }
        state.writes += 1;
        let cas = state.writes;
        state.data.insert(key.to_owned(), (bytes.to_vec(), cas));
        Ok(())
    }

    fn queue_register(&self, name: &str) -> Result<QueueId, HostError> {
        let mut state = self.memory.state();
        if let Some(at) = state.queues.iter().position(|q| q.name == name) {
            state.queues[at].reader = self.vm;
            return Ok(at as QueueId);
        }
        state.queues.push(Queue {
            name: name.to_owned(),
            reader: self.vm,
            messages: VecDeque::new(),
        });
        Ok((state.queues.len() - 1) as QueueId)
    }

    fn queue_send(&self, queue: QueueId, message: &[u8]) -> Result<(), HostError> {
        let mut state = self.memory.state();
        let lost = state.faults.lost_wakes;
        let queue = state
            .queues
            .get_mut(queue as usize)
            .ok_or(HostError::Gone)?;
        if !lost {
            queue.messages.push_back(message.to_vec());
        }
        Ok(())
    }

    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        let mut state = self.memory.state();
        let queue = state
            .queues
            .get_mut(queue as usize)
            .ok_or(HostError::Gone)?;
        Ok(queue.messages.pop_front())
    }

    fn metric(&self, kind: MetricKind, name: &str, value: u64) {
        let mut state = self.memory.state();
        match kind {
            MetricKind::Counter => *state.counters.entry(name.to_owned()).or_default() += value,
            MetricKind::Gauge => {
                state.gauges.insert(name.to_owned(), value);
            }
            MetricKind::Histogram => {
                let values = state.histograms.entry(name.to_owned()).or_default();
                values.push(value);
            }
        }
    }

    fn log(&self, level: Level, line: &str) {
        self.memory.state().lines.push((level, line.to_owned()));
    }
}
