//! Shared data, queues, metrics and log of one process, in memory, with Envoy's rules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir::port::{HostError, Level, MetricKind, QueueId};

use super::calls::Calls;

/// A write number that makes a write succeed only on a key never written.
pub(crate) const ONLY_NEW: u32 = u32::MAX;

/// What all VMs of a process share.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) data: BTreeMap<String, (Vec<u8>, u32)>,
    pub(crate) writes: u32,
    /// How often shared data was read.
    pub(crate) reads: u64,
    queues: Vec<Queue>,
    /// On their way to whom their queues woke when they were sent: one for each message.
    wake_ups: VecDeque<(Reader, QueueId)>,
    /// Roots that are no more: nobody is woken for them, and no sender hears of it.
    ended: BTreeSet<Reader>,
    pub(crate) counters: BTreeMap<String, u64>,
    pub(crate) gauges: BTreeMap<String, u64>,
    /// The most that each gauge ever showed.
    pub(crate) highest: BTreeMap<String, u64>,
    pub(crate) histograms: BTreeMap<String, Vec<u64>>,
    pub(crate) lines: Vec<(Level, String)>,
    /// The operator wants to see every line.
    pub(crate) is_tracing: bool,
    pub(crate) faults: Faults,
    /// VMs whose host calls do nothing any more.
    pub(crate) dead: BTreeSet<usize>,
    /// A VM, and how many host calls it makes before it dies.
    pub(crate) fuse: Option<(usize, u64)>,
    /// Histograms and log lines are not kept.
    pub(crate) is_quiet: bool,
    pub(crate) random: Random,
    pub(crate) newer: super::newer::Newer,
    pub(crate) calls: Calls,
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

impl Random {
    pub(crate) fn draw(&mut self) -> u64 {
        match self {
            Random::Always(number) => *number,
            Random::Stream(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mixed(*state)
            }
        }
    }
}

struct Queue {
    name: String,
    reader: Reader,
    messages: VecDeque<Vec<u8>>,
}

/// Whom a queue wakes: the root context of the VM that registered it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reader {
    pub(crate) vm: usize,
    pub(crate) root: u32,
}

impl Memory {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A VM to which a wake-up is on its way, the lowest first.
    pub(crate) fn woken(&self, is_awake: impl Fn(usize) -> bool) -> Option<usize> {
        let woken: BTreeSet<usize> = {
            let state = self.state();
            state.wake_ups.iter().map(|(to, _)| to.vm).collect()
        };
        woken.into_iter().find(|vm| is_awake(*vm))
    }

    /// The VMs that were sent a message since the last look. For those who deliver by what lies in
    /// the queues.
    pub(crate) fn take_sent(&self) -> BTreeSet<usize> {
        let mut state = self.state();
        let sent = state.wake_ups.drain(..).map(|(to, _)| to.vm);
        sent.collect()
    }

    /// Whether a message lies in a queue that this VM reads.
    pub(crate) fn has_message(&self, vm: usize) -> bool {
        let state = self.state();
        let mut queues = state.queues.iter();
        queues.any(|q| q.reader.vm == vm && !q.messages.is_empty())
    }

    /// The VM that reads the queue of this name.
    pub(crate) fn reader(&self, name: &str) -> Option<usize> {
        let state = self.state();
        let queue = state.queues.iter().find(|q| q.name == name);
        queue.map(|q| q.reader.vm)
    }

    /// Whether this VM reads any queue.
    pub(crate) fn is_reader(&self, vm: usize) -> bool {
        self.state().queues.iter().any(|q| q.reader.vm == vm)
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

impl State {
    /// A VM calls its host; false if it is dead, or dies of this.
    pub(crate) fn lives(&mut self, vm: usize) -> bool {
        match &mut self.fuse {
            Some((its, 0)) if *its == vm => {
                self.fuse = None;
                self.dead.insert(vm);
            }
            Some((its, left)) if *its == vm => *left -= 1,
            _ => {}
        }
        !self.dead.contains(&vm)
    }

    /// The oldest wake-up for a VM is delivered. There may be no message left to it.
    pub(crate) fn take_wake_up(&mut self, vm: usize) -> Option<(Reader, QueueId)> {
        let at = self.wake_ups.iter().position(|(to, _)| to.vm == vm)?;
        self.wake_ups.remove(at)
    }

    pub(crate) fn get(&mut self, key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
        self.reads += 1;
        match self.faults.no_data {
            true => Err(HostError::Refused),
            false => Ok(self.data.get(key).cloned()),
        }
    }

    /// Writes if the key was never written, or last with the number `cas`; 0 always writes.
    pub(crate) fn set(&mut self, key: &str, bytes: &[u8], cas: u32) -> Result<(), HostError> {
        if self.faults.no_data {
            return Err(HostError::Refused);
        }
        self.faults.sets += 1;
        let Faults {
            sets,
            conflict_every: every,
            conflict_one_in: one_in,
            ..
        } = self.faults;
        let is_beaten = every > 0 && sets.is_multiple_of(every)
            || one_in > 0 && mixed(u64::from(sets)).is_multiple_of(one_in);
        if let Some((_, last)) = self.data.get(key) {
            // Only a key that exists has another writer to lose against.
            if is_beaten || (cas != 0 && cas != *last) {
                return Err(HostError::Conflict);
            }
        }
        self.writes += 1;
        self.data
            .insert(key.to_owned(), (bytes.to_vec(), self.writes));
        Ok(())
    }

    /// A root context is no more, and wake-ups for it are lost without a word.
    pub(crate) fn end_root(&mut self, reader: Reader) {
        self.ended.insert(reader);
        self.wake_ups.retain(|(to, _)| *to != reader);
    }

    /// The same name is always the same queue; who registers it last is woken.
    pub(crate) fn register(&mut self, name: &str, reader: Reader) -> QueueId {
        if let Some(at) = self.queues.iter().position(|q| q.name == name) {
            self.queues[at].reader = reader;
            return at as QueueId;
        }
        self.queues.push(Queue {
            name: name.to_owned(),
            reader,
            messages: VecDeque::new(),
        });
        (self.queues.len() - 1) as QueueId
    }

    pub(crate) fn enqueue(&mut self, queue: QueueId, message: &[u8]) -> Result<(), HostError> {
        let lost = self.faults.lost_wakes;
        let id = queue;
        let queue = self.queues.get_mut(id as usize).ok_or(HostError::Gone)?;
        if !lost {
            queue.messages.push_back(message.to_vec());
            if !self.ended.contains(&queue.reader) {
                self.wake_ups.push_back((queue.reader, id));
            }
        }
        Ok(())
    }

    pub(crate) fn dequeue(&mut self, queue: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        let queue = self.queues.get_mut(queue as usize).ok_or(HostError::Gone)?;
        Ok(queue.messages.pop_front())
    }

    pub(crate) fn metric(&mut self, kind: MetricKind, name: &str, value: u64) {
        match kind {
            MetricKind::Counter => *self.counters.entry(name.to_owned()).or_default() += value,
            MetricKind::Gauge => {
                let highest = self.highest.entry(name.to_owned()).or_default();
                *highest = value.max(*highest);
                self.gauges.insert(name.to_owned(), value);
            }
            MetricKind::Histogram if self.is_quiet => {}
            MetricKind::Histogram => {
                let values = self.histograms.entry(name.to_owned()).or_default();
                values.push(value);
            }
        }
    }

    pub(crate) fn log(&mut self, level: Level, line: String) {
        if !self.is_quiet {
            self.lines.push((level, line));
        }
    }
}

/// The output function of SplitMix64.
fn mixed(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
