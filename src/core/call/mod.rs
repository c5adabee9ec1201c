//! A call, from arrival to its last byte, in the order in which it lives:
//!
//! 1. [`arrive`]: the gate half sees its request; it starts, waits or is refused.
//! 2. [`start`]: a slot is granted to it, by a wake-up or by a tick.
//! 3. [`attempt`]: the attempt half sees it go out and the provider's answer come back.
//! 4. [`read`] and [`hold`]: a refusal is read, and kept back until the call may try again, or passed
//!    on. Where a provider is known to refuse under a 200, its first words are read too (`look`).
//! 5. [`answer`]: the gate half sees what the client is about to receive.
//! 6. [`end`]: it is over, however that came, and gives back all it had.
//!
//! `verdict` is what the gate hears of it all, `turn_away` what a shut gate means for those who wait,
//! `refuse` is how Weir itself says no; `shadow` is a policy that only watches; `server_queue` has a
//! provider queue on its side, and `headroom` is what it says of the calls that are left; `failover` turns a call
//! away from a shut gate before it arrives there. [`due`] holds what the clock does to it. All of it is one [`Worker`] per VM: Envoy runs a stream's
//! callbacks on one thread, and both halves of Weir share that thread's VM.
//!
//! Nothing here touches a stream. A callback gets back what to do with its own stream; what to do
//! with others comes as [`Action`]s, which the host carries out last.

pub mod answer;
pub mod arrive;
pub mod attempt;
mod configs;
pub mod due;
pub mod end;
pub mod failover;
mod headroom;
pub mod hold;
mod look;
mod marks;
mod rank;
pub mod read;
mod refuse;
mod server_queue;
mod shadow;
pub mod start;
mod state;
mod timers;
mod turn_away;
mod verdict;

use configs::Configs;
use state::Call;
pub use state::Undo;
use timers::Timers;

use crate::core::answer::Edit;
use crate::core::answer::Reply;
use crate::core::config::{self, Config, Policy};
use crate::core::fnv::fnv64;
use crate::core::gate::order::{Class, arrival};
use crate::core::gate::ramp::{Growth, Ramp};
use crate::core::gate::{Pace, Setting};
use crate::core::ordered::OrderedMap;
use crate::core::report::stats::Stats;
use crate::core::report::{LogBudget, Names};
use crate::core::secret::Secret;
use crate::core::time::Time;
use crate::core::wait::{CallId, Gates};
use crate::port::{Host, Level};

/// A stream of the host: one downstream stream, or one attempt.
pub type StreamId = u32;

/// Headers as received: names in lower case, values as they came.
pub type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// What the host does to a stream that is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Lets the request go on.
    Start {
        /// The downstream stream.
        gate: StreamId,
    },
    /// Answers in the provider's place.
    Refuse {
        /// The downstream stream.
        gate: StreamId,
        /// The answer.
        reply: Reply,
    },
    /// Lets the provider's answer go on, changed.
    Answer {
        /// The attempt's stream.
        attempt: StreamId,
        /// What to change first.
        edits: Vec<Edit>,
    },
}

impl Action {
    fn stream(&self) -> StreamId {
        match self {
            Action::Start { gate } | Action::Refuse { gate, .. } => *gate,
            Action::Answer { attempt, .. } => *attempt,
        }
    }
}

/// One VM's calls.
#[derive(Debug)]
pub struct Worker {
    gates: Gates,
    calls: OrderedMap<CallId, Box<Call>>,
    /// Which call a stream belongs to, for both halves.
    streams: OrderedMap<StreamId, CallId>,
    timers: Timers,
    /// Policies seen.
    policies: Names,
    configs: Configs,
    stats: Stats,
    log: LogBudget,
    sights: look::Sights,
    /// The hash of the process, once it was needed.
    secret: Option<Secret>,
    /// Tells this VM's calls from those of one that died.
    nonce: u64,
    next_call: u64,
    /// Phantoms that have outlived their calls.
    ghosts: usize,
    /// The last arrival time that was given out.
    last_arrival: u64,
    /// The highest downstream connection id seen.
    newest_connection: u64,
    clock: due::Clock,
}

impl Worker {
    /// A worker without calls. `nonce` is random: it marks this VM's calls.
    pub fn new(nonce: u64) -> Worker {
        Worker {
            gates: Gates::default(),
            calls: OrderedMap::new(),
            streams: OrderedMap::new(),
            timers: Timers::default(),
            policies: Names::default(),
            configs: Configs::default(),
            stats: Stats::default(),
            log: LogBudget::default(),
            sights: look::Sights::default(),
            secret: None,
            nonce,
            next_call: 0,
            ghosts: 0,
            last_arrival: 0,
            newest_connection: 0,
            clock: due::Clock::default(),
        }
    }

    /// A configuration came into force on one of this VM's roots.
    ///
    /// One that the process has not seen before takes over this VM's gates at once, so that a raised
    /// cap wakes those who wait. One that comes back does not: traffic says which is newest (law L6).
    pub fn configure(&mut self, host: &impl Host, now: Time, config: &Config) {
        for policy in config.policies() {
            let name = policy.name();
            if let Some(name) = self.policies.learn(policy_id(name), name) {
                Stats::define(host, name);
            }
        }
        self.gates.heartbeat(host, now);
        let seen = self.newest_connection;
        if !self.configs.is_news(host, config.hash(), seen) {
            return;
        }
        for place in self.gates.busy_places() {
            let Some(record) = self.gates.record(host, place) else {
                continue;
            };
            let policy = config
                .policies()
                .iter()
                .find(|policy| policy_id(policy.name()) == record.policy);
            if let Some(policy) = policy {
                let setting = setting_of(policy);
                self.gates.configure(host, now, place, setting, seen);
            }
        }
        config
            .exceeded()
            .for_each(|policy| tell_exceeded(host, policy));
    }

    fn take_id(&mut self) -> CallId {
        self.next_call = self.next_call.wrapping_add(1);
        CallId(self.next_call)
    }

    /// When a call arrived that arrives now; never the same twice.
    fn take_arrival(&mut self, now: Time, class: Class) -> u64 {
        self.last_arrival = arrival(now.0, self.last_arrival, class);
        self.last_arrival
    }

    /// Puts a call back after a change, and its next due time with it.
    fn keep(&mut self, id: CallId, mut call: Box<Call>) {
        let next = call.next_due();
        self.timers.set(id, &mut call, next);
        self.calls.insert(id, call);
        self.timers.tidy(&self.calls);
    }

    /// Takes a call out to change it; [`Worker::keep`] puts it back.
    fn lift(&mut self, id: CallId) -> Option<Box<Call>> {
        self.calls.remove(&id)
    }

    /// The call a stream belongs to, taken out.
    fn lift_by_stream(&mut self, stream: StreamId) -> Option<(CallId, Box<Call>)> {
        let id = *self.streams.get(&stream)?;
        Some((id, self.lift(id)?))
    }

    /// The call is no more.
    fn drop_call(&mut self, id: CallId, call: &mut Call) {
        self.timers.set(id, call, None);
    }
}

/// More Envoys share a cap than it has calls.
fn tell_exceeded(host: &impl Host, policy: &Policy) {
    let line = [
        "weir: policy ",
        policy.name(),
        ": max_concurrent_calls is below share.of, and each Envoy keeps 1: up to ",
        &policy.share().envoys().to_string(),
        " calls at one time in all",
    ];
    host.log(Level::Warn, &line.concat());
}

/// The hash by which a gate's record names its policy.
fn policy_id(name: &str) -> u64 {
    fnv64(name.as_bytes())
}

/// The limits of a policy, as a gate's record keeps them.
fn setting_of(policy: &Policy) -> Setting {
    Setting {
        hash: policy.limits_hash(),
        cap: policy.max_concurrent_calls().map_or(0, |cap| cap.get()),
        max_waiting: policy.queue().max_waiting(),
        pace: pace_of(policy),
    }
}

fn pace_of(policy: &Policy) -> Pace {
    Pace {
        rate: policy
            .rate()
            .map_or(Pace::NO_RATE, |rate| rate.per_second_nano()),
        burst: policy.rate().map_or(1, |rate| rate.burst()),
        learns: policy.learns(),
        ramp: policy.ramp().map(|ramp| Ramp {
            initial: ramp.initial_nano(),
            every: u64::try_from(ramp.every().as_nanos()).unwrap_or(u64::MAX),
            growth: match ramp.growth() {
                config::Growth::Percent(percent) => Growth::MilliPercent(percent.get() * 1000),
                config::Growth::Step(step) => Growth::Step(step.per_second_nano()),
            },
        }),
    }
}
