//! The alternatives to Weir, from their published algorithms and constants.
//!
//! - [`sdk`], [`envoys`]: what goes on top of any peer: a client's own retries, and many processes.
//! - [`line`]: who waits. [`blocking`]: a limiter that makes callers wait.
//! - [`tuning`]: the constants that a well tuned peer has.
//! - One file each for the rest.

pub(crate) mod adaptive_concurrency;
pub(crate) mod aimd;
pub(crate) mod aimd_limit;
pub(crate) mod aws_adaptive;
pub(crate) mod blocking;
pub(crate) mod cubic;
pub(crate) mod deer_flow;
pub(crate) mod envoy_retry;
pub(crate) mod envoys;
pub(crate) mod gentle_prober;
pub(crate) mod gradient2;
pub(crate) mod headers;
pub(crate) mod leaky_bucket;
pub(crate) mod line;
pub(crate) mod local_ratelimit;
pub(crate) mod sdk;
pub(crate) mod tuning;

use super::cell::PeerName;
use super::draw::{Draw, For};
use super::models::Model;
use super::none::NoProtection;
use super::peer::{Peer, Slot};
use adaptive_concurrency::AdaptiveConcurrency;
use aimd::Aimd;
use aimd_limit::AimdLimit;
use aws_adaptive::AwsAdaptive;
use blocking::Blocking;
use deer_flow::DeerFlow;
use envoy_retry::{EnvoyRetry, Policy};
use envoys::Envoys;
use gentle_prober::GentleProber;
use gradient2::WindowedGradient2;
use leaky_bucket::LeakyBucket;
use local_ratelimit::LocalRatelimit;

/// What these peers want to be reminded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A call, by its slot and number: the slot may be another call's by then.
    Call(Slot, u64),
    /// The peer's own clock; a number that it chose.
    Clock(u64),
}

/// A peer whose type is known when it runs.
pub(crate) type AnyPeer = Box<dyn Peer<Timer = Timer>>;

/// As many processes of a peer as asked for, tuned to the model; Weir is built elsewhere.
pub(crate) fn processes(name: PeerName, model: &Model, count: usize, seed: u64) -> Envoys {
    let leaky = || tuning::rate("leaky", model, |rate| Box::new(LeakyBucket::new(rate)));
    let one: Box<dyn Fn(u64) -> AnyPeer> = match name {
        PeerName::Weir | PeerName::None | PeerName::Sdk => Box::new(|_| Box::new(NoProtection)),
        PeerName::EnvoyRetry => {
            Box::new(|seed| Box::new(EnvoyRetry::new(Policy::DOCUMENTED, seed)))
        }
        PeerName::EnvoyRetryHard => Box::new(|seed| Box::new(EnvoyRetry::new(Policy::HARD, seed))),
        PeerName::AdaptiveConcurrency => Box::new(|seed| Box::new(AdaptiveConcurrency::new(seed))),
        PeerName::LocalRatelimit => {
            let rate = tuning::rate("local", model, |rate| Box::new(LocalRatelimit::new(rate)));
            Box::new(move |_| Box::new(LocalRatelimit::new(rate.share(count))))
        }
        PeerName::LeakyBucket => leaky_bucket(leaky().share(count)),
        PeerName::LeakyBucketHalf => leaky_bucket(leaky().times(0.5).share(count)),
        PeerName::LeakyBucketDouble => leaky_bucket(leaky().times(2.0).share(count)),
        PeerName::AwsAdaptive => Box::new(|seed| Box::new(AwsAdaptive::new(seed))),
        PeerName::Gradient2 => Box::new(|_| Box::new(Blocking::new(WindowedGradient2::default()))),
        PeerName::NetflixAimd => Box::new(|_| Box::new(Blocking::new(AimdLimit::default()))),
        PeerName::DeerFlow => {
            let new = |cap, seed| -> AnyPeer { Box::new(DeerFlow::new(cap, seed)) };
            let cap = tuning::cap("deer-flow", model, new);
            let share = (cap / count as u32).max(1);
            Box::new(move |seed| new(share, seed))
        }
        PeerName::Aimd => Box::new(|_| Box::new(Aimd::default())),
        PeerName::GentleProber => Box::new(|_| Box::new(GentleProber::default())),
    };
    let seeds = (0..count).map(|at| Draw::of_call(seed, For::Host, at as u64).bits());
    Envoys::new(seeds.map(one).collect(), seed)
}

fn leaky_bucket(rate: tuning::Rate) -> Box<dyn Fn(u64) -> AnyPeer> {
    Box::new(move |_| Box::new(LeakyBucket::new(rate)))
}
