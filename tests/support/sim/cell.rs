//! One cell of the table: a model, a load, a seed and a peer.

use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use weir::core::config::Config;
use weir::core::time::Time;

use super::clairvoyant::{self, Possible};
use super::clients::{Clients, Habits};
use super::crowd::{Crowd, Parts};
use super::load::Load;
use super::models::Model;
use super::peer::Peer;
use super::peers::{self, sdk::Sdk};
use super::provider::Provider;
use super::tally::Tally;
use super::timeline::Timeline;
use super::weir::{Setup, Weir};
use super::world::{Seen, What, World};

/// So many Envoys are not all ticked 250 times a second.
const MANY: usize = 1000;

/// What can stand between clients and provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerName {
    Weir,
    None,
    /// No proxy, and clients whose SDK retries.
    Sdk,
    EnvoyRetry,
    /// As often as the client has patience for.
    EnvoyRetryHard,
    AdaptiveConcurrency,
    LocalRatelimit,
    LeakyBucket,
    /// Half and twice the rate that is right.
    LeakyBucketHalf,
    LeakyBucketDouble,
    AwsAdaptive,
    Gradient2,
    NetflixAimd,
    DeerFlow,
    Aimd,
    GentleProber,
}

impl PeerName {
    pub(crate) const ALL: [(&'static str, PeerName); 16] = [
        ("weir", PeerName::Weir),
        ("none", PeerName::None),
        ("sdk", PeerName::Sdk),
        ("envoy-retry", PeerName::EnvoyRetry),
        ("envoy-retry-hard", PeerName::EnvoyRetryHard),
        ("adaptive-concurrency", PeerName::AdaptiveConcurrency),
        ("local-ratelimit", PeerName::LocalRatelimit),
        ("leaky-bucket", PeerName::LeakyBucket),
        ("leaky-bucket-half", PeerName::LeakyBucketHalf),
        ("leaky-bucket-double", PeerName::LeakyBucketDouble),
        ("aws-adaptive", PeerName::AwsAdaptive),
        ("gradient2", PeerName::Gradient2),
        ("netflix-aimd", PeerName::NetflixAimd),
        ("deer-flow", PeerName::DeerFlow),
        ("aimd", PeerName::Aimd),
        ("gentle-prober", PeerName::GentleProber),
    ];

    pub(crate) fn name(self) -> &'static str {
        let named = PeerName::ALL.iter().find(|(_, peer)| *peer == self);
        named.map_or("", |(name, _)| name)
    }
}

/// What the peers of all cells run in.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) config: Rc<Config>,
    pub(crate) envoys: usize,
    pub(crate) workers: usize,
    pub(crate) habits: Habits,
    pub(crate) crowd: Crowd,
    /// The buckets of a timeline, if one is wanted.
    pub(crate) timeline: Option<Duration>,
}

/// A model, a load and a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) model: &'a Model,
    pub(crate) load: &'a Load,
    pub(crate) seed: u64,
    pub(crate) surroundings: &'a Surroundings,
}

/// One line of output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) model: String,
    pub(crate) load: String,
    pub(crate) seed: u64,
    pub(crate) peer: &'static str,
    pub(crate) clients: &'static str,
    pub(crate) offered: u64,
    pub(crate) possible: u64,
    pub(crate) served: u64,
    pub(crate) efficiency: f64,
    pub(crate) attempts: u64,
    pub(crate) refused: u64,
    pub(crate) refused_share: f64,
    pub(crate) wait_p50_ms: Option<f64>,
    pub(crate) wait_p95_ms: Option<f64>,
    pub(crate) clairvoyant_p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<Tasks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parts: Option<Parts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeline: Option<Timeline>,
}

/// What agents got done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Tasks {
    pub(crate) count: u64,
    /// Tasks whose last call was answered.
    pub(crate) done: u64,
    /// The same with the clairvoyant queue.
    pub(crate) possible: u64,
    /// When the clairvoyant queue starts its last call: what is served after it does not count.
    pub(crate) horizon_ms: f64,
}

impl Scene<'_> {
    fn clients(&self) -> Clients {
        let habits = self.surroundings.habits;
        Clients::new(self.load, self.model, habits, self.seed).of(&self.crowd())
    }

    fn crowd(&self) -> Rc<Crowd> {
        let agents = self.load.agents();
        Rc::new(Crowd {
            calls_of_one: agents.map_or(1, |agents| agents.calls * agents.tries),
            ..self.surroundings.crowd.clone()
        })
    }

    /// What a queue that knows the model makes of it.
    pub(crate) fn clairvoyant(&self) -> Possible {
        let provider = Provider::new(self.model.limits.clone());
        clairvoyant::run(self.clients(), provider)
    }

    /// Runs a peer; what happens to calls is written to `trace`.
    pub(crate) fn run(&self, peer: PeerName, trace: Option<&mut dyn Write>) -> io::Result<Tally> {
        let retries = self.surroundings.habits.retries;
        match peer {
            PeerName::Weir => {
                let setup = Setup {
                    envoys: self.surroundings.envoys,
                    workers: self.surroundings.workers,
                    config: Rc::clone(&self.surroundings.config),
                    clusters: 1,
                    seed: self.seed,
                };
                let weir = Weir::new(&setup).serving(&self.crowd()).quiet();
                let weir = match setup.envoys >= MANY {
                    true => weir.sparing(),
                    false => weir,
                };
                self.run_clients(weir, retries, trace)
            }
            _ => {
                let envoys = self.surroundings.envoys;
                let peers = peers::processes(peer, self.model, envoys, self.seed);
                self.run_clients(peers, retries || peer == PeerName::Sdk, trace)
            }
        }
    }

    fn run_clients<P: Peer>(
        &self,
        peer: P,
        retries: bool,
        trace: Option<&mut dyn Write>,
    ) -> io::Result<Tally> {
        match retries {
            true => self.run_world(Sdk::new(peer, self.seed), trace),
            false => self.run_world(peer, trace),
        }
    }

    fn run_world<P: Peer>(&self, peer: P, trace: Option<&mut dyn Write>) -> io::Result<Tally> {
        let mut world = World::new(peer, self.clients(), self.model);
        if let Some(bucket) = self.surroundings.timeline {
            world.count_by(bucket);
        }
        let Some(trace) = trace else {
            world.run();
            return Ok(world.tally);
        };
        world.watch();
        while !world.is_over() && world.step() {
            for seen in world.seen.iter_mut().flat_map(std::mem::take) {
                writeln!(trace, "{}", traced(&seen))?;
            }
        }
        Ok(world.tally)
    }

    pub(crate) fn line(&self, peer: PeerName, tally: &Tally, possible: &Possible) -> Line {
        let horizon = possible.starts.last().copied().unwrap_or(Time(0));
        let tasks = self.load.agents().map(|agents| Tasks {
            count: agents.count,
            done: tally.tasks_done,
            possible: possible.tasks_done,
            horizon_ms: horizon.since(Time(0)).as_micros() as f64 / 1e3,
        });
        let served = match tasks {
            Some(_) => tally.served_by(horizon),
            None => tally.served(),
        };
        let possible_calls = possible.waits.len() as u64;
        let efficiency = match possible_calls {
            0 => 1.0,
            calls => served as f64 / calls as f64,
        };
        Line {
            model: self.model.name.clone(),
            load: self.load.name.clone(),
            seed: self.seed,
            peer: peer.name(),
            clients: match self.surroundings.habits.retries {
                true => "sdk",
                false => "plain",
            },
            offered: tally.offered,
            possible: possible_calls,
            served,
            efficiency: rounded(efficiency),
            attempts: tally.attempts,
            refused: tally.refused,
            refused_share: rounded(tally.refused_share()),
            wait_p50_ms: tally.waits.percentile_ms(50),
            wait_p95_ms: tally.waits.percentile_ms(95),
            clairvoyant_p95_ms: possible.waits.percentile_ms(95),
            tasks,
            parts: (!self.surroundings.crowd.is_plain())
                .then(|| Parts::new(tally, &self.surroundings.crowd, &self.surroundings.config)),
            timeline: (tally.timeline.clone()).map(|timeline| timeline.compare(&possible.starts)),
        }
    }
}

fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn traced(seen: &Seen) -> serde_json::Value {
    let ms = seen.at.since(Time(0)).as_secs_f64() * 1e3;
    let (what, more) = match seen.what {
        What::Arrived => ("arrived", json!(null)),
        What::Attempt {
            attempt,
            is_accepted,
        } => (
            "attempt",
            json!({"number": attempt, "accepted": is_accepted}),
        ),
        What::Refusal { min } => (
            "refusal",
            json!({"min_ms": min.map(|min| min.as_millis() as u64)}),
        ),
        What::Ended => ("ended", json!(null)),
        What::Failed => ("failed", json!(null)),
        What::Left => ("left", json!(null)),
    };
    json!({"ms": ms, "call": seen.number, "what": what, "more": more})
}
