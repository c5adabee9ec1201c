//! Workers whose host calls happen one at a time, in an order that the test chooses.
//!
//! Each worker is a thread that makes a host call only while it has the baton. Who gets it next is
//! decided after each call: as a given plan says, and beyond the plan whoever had it keeps it. The
//! decisions are noted, so that a search can go back to the last one that could have been another.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};

use weir::port::{Expect, Host, HostError, Level, MetricKind, QueueId, Stored};

/// A decision: who could have had the baton, the one who had it first, and who got it.
#[derive(Clone, Debug)]
pub struct Choice {
    pub able: Vec<usize>,
    pub chosen: usize,
    /// It left somebody who could have gone on.
    pub is_switch: bool,
}

#[derive(Default)]
struct State {
    data: Data,
    writes: u32,
    /// Workers that have more to do.
    able: Vec<usize>,
    turn: usize,
    /// Workers that are not ready for the race, which begins when all are.
    unready: usize,
    plan: Vec<usize>,
    choices: Vec<Choice>,
    /// A worker, and how many more host calls it makes before it dies.
    fuse: Option<(usize, usize)>,
}

/// Shared data: values and the numbers of their writes.
pub type Data = BTreeMap<String, (Vec<u8>, u32)>;

/// What checks shared data after every write, with what lay there before.
pub type Check = fn(&Data, &str, Option<&[u8]>);

/// The baton, and the data that all workers share.
pub struct Baton {
    state: Mutex<State>,
    passed: Condvar,
    check: Check,
}

impl Baton {
    pub fn new(
        data: Data,
        workers: usize,
        plan: Vec<usize>,
        fuse: Option<(usize, usize)>,
        check: Check,
    ) -> Baton {
        let mut state = State {
            writes: data.values().map(|(_, cas)| *cas).max().unwrap_or(0),
            data,
            able: (0..workers).collect(),
            unready: workers,
            plan,
            fuse,
            ..State::default()
        };
        choose(&mut state, 0);
        Baton {
            state: Mutex::new(state),
            passed: Condvar::new(),
            check,
        }
    }

    pub fn host(&self, worker: usize) -> BatonHost<'_> {
        BatonHost {
            baton: self,
            worker,
        }
    }

    pub fn is_dead(&self, worker: usize) -> bool {
        self.lock().fuse == Some((worker, 0))
    }

    /// The worker is ready for the race; until now nobody else made host calls.
    pub fn ready(&self, worker: usize) {
        let mut state = self.wait_for(worker);
        state.unready -= 1;
        match state.unready {
            0 => choose(&mut state, 0),
            _ => state.turn = worker + 1,
        }
        self.passed.notify_all();
    }

    /// The worker has no more to do.
    pub fn retire(&self, worker: usize) {
        let mut state = self.wait_for(worker);
        state.able.retain(|other| *other != worker);
        choose(&mut state, worker);
        self.passed.notify_all();
    }

    pub fn finish(self) -> (Data, Vec<Choice>) {
        let state = self.state.into_inner().unwrap_or_else(|e| e.into_inner());
        (state.data, state.choices)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait_for(&self, worker: usize) -> MutexGuard<'_, State> {
        let is_not_its = |state: &mut State| state.turn != worker;
        self.passed
            .wait_while(self.lock(), is_not_its)
            .unwrap_or_else(|e| e.into_inner())
    }

    /// One host call of `worker`, after which somebody else may go on.
    fn step<T>(
        &self,
        worker: usize,
        call: impl FnOnce(&mut State) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let mut state = self.wait_for(worker);
        if state.unready > 0 {
            return call(&mut state);
        }
        let result = match &mut state.fuse {
            Some((who, 0)) if *who == worker => return Err(HostError::Refused),
            Some((who, left)) if *who == worker => {
                *left -= 1;
                call(&mut state)
            }
            _ => call(&mut state),
        };
        choose(&mut state, worker);
        self.passed.notify_all();
        result
    }
}

fn choose(state: &mut State, last: usize) {
    let mut able = state.able.clone();
    able.sort_by_key(|worker| *worker != last);
    let Some(first) = able.first().copied().filter(|_| state.unready == 0) else {
        return;
    };
    let chosen = state.plan.get(state.choices.len()).copied();
    state.turn = chosen.unwrap_or(first);
    let is_switch = first == last && state.turn != last;
    state.choices.push(Choice {
        able,
        chosen: state.turn,
        is_switch,
    });
}

/// One worker's host.
pub struct BatonHost<'a> {
    baton: &'a Baton,
    worker: usize,
}

impl Host for BatonHost<'_> {
    fn random(&self) -> u64 {
        0
    }

    fn wall_ms(&self) -> u64 {
        0
    }

    fn entropy(&self) -> Result<[u8; 16], HostError> {
        Ok([0; 16])
    }

    fn shared_get(&self, key: &str) -> Result<Stored, HostError> {
        self.baton.step(self.worker, |state| {
            Ok(match state.data.get(key) {
                Some((bytes, cas)) => Stored::Present {
                    bytes: bytes.clone(),
                    cas: *cas,
                },
                None => Stored::Absent,
            })
        })
    }

    fn shared_set(&self, key: &str, bytes: &[u8], expect: Expect) -> Result<(), HostError> {
        let check = self.baton.check;
        self.baton.step(self.worker, |state| {
            let found = state.data.get(key).map(|(_, cas)| *cas);
            let holds = match expect {
                Expect::New => found.is_none(),
                Expect::Same(cas) => found == Some(cas),
            };
            if !holds {
                return Err(HostError::Conflict);
            }
            state.writes += 1;
            let written = (bytes.to_vec(), state.writes);
            let before = state.data.insert(key.to_owned(), written);
            check(
                &state.data,
                key,
                before.as_ref().map(|(bytes, _)| bytes.as_slice()),
            );
            Ok(())
        })
    }

    fn queue_register(&self, _: &str) -> Result<QueueId, HostError> {
        Ok(self.worker as QueueId)
    }

    fn queue_send(&self, _: QueueId, _: &[u8]) -> Result<(), HostError> {
        Ok(())
    }

    fn queue_take(&self, _: QueueId) -> Result<Option<Vec<u8>>, HostError> {
        Ok(None)
    }

    fn metric(&self, _: MetricKind, _: &str, _: u64) {}

    fn log(&self, _: Level, _: &str) {}
}
