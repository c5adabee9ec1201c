//! Shared data, queues, metrics and log of one process, in memory.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::newer;
use weir::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

/// What all VMs of a process share.
#[derive(Clone, Default)]
pub(crate) struct Memory(Rc<RefCell<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) data: BTreeMap<String, (Vec<u8>, u32)>,
    writes: u32,
    /// How often shared data was read.
    pub(crate) reads: u64,
    queues: Vec<Queue>,
    pub(crate) counters: BTreeMap<String, u64>,
    pub(crate) gauges: BTreeMap<String, u64>,
    pub(crate) histograms: BTreeMap<String, Vec<u64>>,
    pub(crate) lines: Vec<(Level, String)>,
    pub(crate) faults: Faults,
    /// VMs whose host calls do nothing any more.
    pub(crate) dead: BTreeSet<usize>,
    /// A VM, and how many host calls it makes before it dies.
    pub(crate) fuse: Option<(usize, u64)>,
    pub(crate) random: Random,
    /// VMs with newer code, and what they have counted in each record.
    pub(crate) newer: BTreeSet<usize>,
    pub(crate) newer_counts: BTreeMap<String, u64>,
    /// VMs that were sent a message since [`Memory::take_sent`].
    sent: BTreeSet<usize>,
    /// Histograms and log lines are not kept.
    pub(crate) is_quiet: bool,
    /// Every grant is logged.
    pub(crate) is_tracing: bool,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// Shared data refuses every call.
    pub(crate) no_data: bool,
    /// Every k-th write is beaten by another; 0 is none.
    pub(crate) conflict_every: u32,
    /// One write in so many is beaten, without a rhythm; 0 is none.
    pub(crate) conflict_one_in: u64,
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
        let full: Vec<usize> = {
            let state = self.state();
            let full = state.queues.iter().filter(|q| !q.messages.is_empty());
            full.map(|q| q.reader).collect()
        };
        full.into_iter().filter(|vm| is_awake(*vm)).min()
    }

    /// The VMs that were sent a message since the last look, the lowest first.
    pub(crate) fn take_sent(&self) -> BTreeSet<usize> {
        std::mem::take(&mut self.state().sent)
    }

    /// Whether a message lies in a queue that this VM reads.
    pub(crate) fn has_message(&self, vm: usize) -> bool {
        let state = self.state();
        let mut queues = state.queues.iter();
        queues.any(|q| q.reader == vm && !q.messages.is_empty())
    }

    /// The VM that reads the queue of this name.
    pub(crate) fn reader(&self, name: &str) -> Option<usize> {
        let state = self.state();
        let queue = state.queues.iter().find(|q| q.name == name);
        queue.map(|q| q.reader)
    }

    /// Bytes of all values in shared data, and messages in all queues.
    pub(crate) fn size(&self) -> (usize, usize) {
        let state = self.state();
        let bytes = state.data.values().map(|(bytes, _)| bytes.len());
        let messages = state.queues.iter().map(|q| q.messages.len());
        (bytes.sum(), messages.sum())
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

impl MemHost {
    /// The VM calls its host; `None` if it is dead, or dies of this.
    fn call(&self) -> Option<RefMut<'_, State>> {
        let mut state = self.memory.state();
        match &mut state.fuse {
            Some((vm, 0)) if *vm == self.vm => {
                state.fuse = None;
                state.dead.insert(self.vm);
            }
            Some((vm, left)) if *vm == self.vm => *left -= 1,
            _ => {}
        }
        (!state.dead.contains(&self.vm)).then_some(state)
    }
}

impl Host for MemHost {
    fn random(&self) -> u64 {
        match &mut self.memory.state().random {
            Random::Always(number) => *number,
            Random::Stream(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mixed(*state)
            }
        }
    }

    fn entropy(&self) -> Result<[u8; 16], HostError> {
        Ok((u128::from(self.random()) << 64 | u128::from(self.random())).to_le_bytes())
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        let mut state = self.call().ok_or(HostError::Refused)?;
        state.reads += 1;
        if state.faults.no_data {
            return Err(HostError::Refused);
        }
        let Some((mut bytes, cas)) = state.data.get(key).cloned() else {
            return Ok(Stored::Absent);
        };
        if state.newer.contains(&self.vm) && newer::is_record(key, &bytes) {
            let count;
            (bytes, count) = newer::load(&bytes);
            let expected = state.newer_counts.get(key).copied();
            assert_eq!(count, expected, "{key}: newer code misses what it wrote");
        }
        Ok(Stored::Present { bytes, cas })
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let mut state = self.call().ok_or(HostError::Refused)?;
        if state.faults.no_data {
            return Err(HostError::Refused);
        }
        state.faults.sets += 1;
        let Faults {
            sets,
            conflict_every: every,
            conflict_one_in: one_in,
            ..
        } = state.faults;
        let is_beaten = every > 0 && sets.is_multiple_of(every)
            || one_in > 0 && mixed(u64::from(sets)).is_multiple_of(one_in);
        // Only a key that exists has another writer to lose against.
        if is_beaten && state.data.contains_key(key) {
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
        let mut bytes = bytes.to_vec();
        if state.newer.contains(&self.vm) && newer::is_record(key, &bytes) {
            let count = state.newer_counts.entry(key.to_owned()).or_default();
            *count += 1;
            bytes = newer::store(&bytes, *count);
        }
        state.data.insert(key.to_owned(), (bytes, cas));
        Ok(())
    }

    fn queue_register(&self, name: &str) -> Result<QueueId, HostError> {
        let mut state = self.call().ok_or(HostError::Refused)?;
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
        let mut state = self.call().ok_or(HostError::Refused)?;
        let State {
            queues,
            faults,
            sent,
            ..
        } = &mut *state;
        let queue = queues.get_mut(queue as usize).ok_or(HostError::Gone)?;
        if !faults.lost_wakes {
            queue.messages.push_back(message.to_vec());
            sent.insert(queue.reader);
        }
        Ok(())
    }

    fn queue_take(&self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        let mut state = self.call().ok_or(HostError::Refused)?;
        let queue = state
            .queues
            .get_mut(queue as usize)
            .ok_or(HostError::Gone)?;
        Ok(queue.messages.pop_front())
    }

    fn metric(&self, kind: MetricKind, name: &str, value: u64) {
        let Some(mut state) = self.call() else {
            return;
        };
        match kind {
            MetricKind::Counter => *state.counters.entry(name.to_owned()).or_default() += value,
            MetricKind::Gauge => {
                state.gauges.insert(name.to_owned(), value);
            }
            MetricKind::Histogram if state.is_quiet => {}
            MetricKind::Histogram => {
                let values = state.histograms.entry(name.to_owned()).or_default();
                values.push(value);
            }
        }
    }

    fn is_tracing(&self) -> bool {
        self.memory.state().is_tracing
    }

    fn log(&self, level: Level, line: &str) {
        if let Some(mut state) = self.call()
            && !state.is_quiet
        {
            state.lines.push((level, line.to_owned()));
        }
    }
}

/// The output function of SplitMix64.
fn mixed(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
