//! The constants of a well tuned peer: what the provider documents, and where it documents nothing,
//! what is best in hindsight.
//!
//! A bucket documents its rate and size, a window its limit per length, a limit on concurrency itself,
//! a token limit its rate over the mean cost. In hindsight: the best of a small grid over `peak`, `saw`
//! and `steps` on seed 0, by calls served less attempts refused; one number for all loads. A documented
//! rate leaves only the burst to choose. What a static peer is tuned to is split evenly among Envoys.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::super::clients::{Clients, Habits};
use super::super::load::Load;
use super::super::model::{Refusal, TokenBucket};
use super::super::models::Model;
use super::super::provider::Limit;
use super::super::world::World;
use super::AnyPeer;
use super::envoys::Envoys;

/// Seeds of measurements begin at 1.
const SEED: u64 = 0;
const LOADS: [&str; 3] = ["peak", "saw", "steps"];

/// A rate with bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    /// Calls at once after a pause, at least 1.
    pub(crate) burst: f64,
}

impl Rate {
    /// One of `parts` even shares.
    pub(crate) fn share(self, parts: usize) -> Rate {
        Rate {
            per_second: self.per_second / parts as f64,
            burst: (self.burst / parts as f64).max(1.0),
        }
    }

    pub(crate) fn times(self, factor: f64) -> Rate {
        Rate {
            per_second: self.per_second * factor,
            ..self
        }
    }
}

/// The best rate for a peer; `name` tells peers apart.
pub(crate) fn rate(name: &'static str, model: &Model, peer: fn(Rate) -> AnyPeer) -> Rate {
    static FOUND: Mutex<BTreeMap<String, Rate>> = Mutex::new(BTreeMap::new());
    let grid = match documented_rate(model) {
        Some(rate) => vec![
            Rate { burst: 1.0, ..rate },
            Rate {
                burst: (rate.burst / 2.0).max(1.0),
                ..rate
            },
            rate,
        ],
        None => {
            let bursts = |per_second: f64| [20.0, 5.0, 1.0].map(|burst| Rate { per_second, burst });
            rates(model).into_iter().flat_map(bursts).collect()
        }
    };
    best(&FOUND, name, model, grid, |rate, _| peer(rate))
}

/// The best cap on calls at once for a peer, from what it is and a seed.
pub(crate) fn cap(name: &'static str, model: &Model, peer: fn(u32, u64) -> AnyPeer) -> u32 {
    static FOUND: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let grid = match &model.limits[..] {
        [Limit::Concurrency(limit)] => vec![limit.0 as u32],
        _ => CAPS.to_vec(),
    };
    best(&FOUND, name, model, grid, peer)
}

/// Rates to choose from, in calls a second, rising.
fn rates(model: &Model) -> Vec<f64> {
    match &model.limits[..] {
        [Limit::Concurrency(limit)] => {
            let even = limit.0 as f64 / model.service.mean.as_secs_f64();
            SHARES.map(|share| even * share).to_vec()
        }
        _ => RATES.to_vec(),
    }
}

/// Of what a limit on concurrency takes of calls of mean length.
const SHARES: [f64; 8] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2];

/// In calls a second.
const RATES: [f64; 16] = [
    2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 50.0, 60.0, 80.0,
];

/// Calls at once.
const CAPS: [u32; 14] = [2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 50, 64, 1000];

fn documented_rate(model: &Model) -> Option<Rate> {
    match &model.limits[..] {
        [Limit::Window(window)] => {
            let state = window.state(Duration::ZERO);
            Some(Rate {
                per_second: state.limit as f64 / state.length.as_secs_f64(),
                burst: state.limit as f64,
            })
        }
        [Limit::Requests(bucket)] => of_bucket(bucket, 1.0),
        [Limit::Tokens(bucket)] => of_bucket(bucket, model.cost?.mean),
        _ => None,
    }
}

/// What an empty bucket says of itself, in calls.
fn of_bucket(bucket: &TokenBucket, cost: f64) -> Option<Rate> {
    let mut bucket = *bucket;
    bucket.charge(Duration::ZERO, f64::MAX);
    match bucket.check(Duration::ZERO, 1.0) {
        Err(Refusal::TokenBucket {
            burst, per_second, ..
        }) => Some(Rate {
            per_second: per_second / cost,
            burst: (burst / cost).max(1.0),
        }),
        _ => None,
    }
}

/// The best of a grid, found once for each peer and model.
fn best<T: Copy>(
    found: &Mutex<BTreeMap<String, T>>,
    name: &'static str,
    model: &Model,
    grid: Vec<T>,
    peer: impl Fn(T, u64) -> AnyPeer,
) -> T {
    let key = format!("{name} {model:?}");
    let known = found
        .lock()
        .expect("no panic while it is held")
        .get(&key)
        .copied();
    if let Some(known) = known {
        return known;
    }
    let score = |choice: T| -> i64 {
        LOADS
            .iter()
            .map(|load| score(model, load, peer(choice, SEED)))
            .sum()
    };
    // The last of equals: the fastest.
    let (_, chosen) = grid
        .iter()
        .map(|choice| (score(*choice), *choice))
        .reduce(|best, next| if next.0 >= best.0 { next } else { best })
        .expect("a grid");
    found
        .lock()
        .expect("no panic while it is held")
        .insert(key, chosen);
    chosen
}

fn score(model: &Model, load: &str, peer: AnyPeer) -> i64 {
    let load = Load::named(load).expect("a load");
    let clients = Clients::new(&load, model, Habits::default(), SEED);
    let mut world = World::new(Envoys::new(vec![peer], SEED), clients, model);
    world.run();
    world.tally.served() as i64 - world.tally.refused as i64
}
