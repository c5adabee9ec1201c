//! The limit of the possible: a queue that knows the model. First come, first served, each call
//! started at the first moment at which the model takes it, never refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use weir::core::time::Time;

use super::clients::Clients;
use super::provider::Provider;
use super::tally::Waits;

/// What could be made of the calls of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Possible {
    /// Of those who were started before they went away.
    pub(crate) waits: Waits,
    /// When they were started, in order.
    pub(crate) starts: Vec<Time>,
}

/// Serves all calls as well as can be.
pub(crate) fn run(clients: Clients, provider: Provider) -> Possible {
    let mut possible = Possible::default();
    let mut server = Server::new(provider, []);
    let mut now = Time(0);
    for wish in clients {
        now = now.max(wish.at);
        let Some(start) = server.first_start(now, wish.deadline(), wish.cost) else {
            continue;
        };
        if server.start(
            start,
            wish.cost,
            (start + wish.served.whole).min(wish.aborts_at),
        ) {
            now = start;
            possible.waits.add(start.since(wish.at));
            possible.starts.push(start);
        }
    }
    possible
}

/// A provider, and when what runs there ends.
#[derive(Debug)]
pub(crate) struct Server {
    provider: Provider,
    ends: BinaryHeap<Reverse<Time>>,
}

impl Server {
    /// With calls that run, until these times.
    pub(crate) fn new(provider: Provider, ends: impl IntoIterator<Item = Time>) -> Server {
        let ends = ends.into_iter().map(Reverse).collect();
        Server { provider, ends }
    }

    /// The first moment from `from` on at which a call may start; `None` if it is after `deadline`.
    pub(crate) fn first_start(&mut self, from: Time, deadline: Time, cost: f64) -> Option<Time> {
        let mut at = from;
        loop {
            // First: the next call may come before what ends after this one's patience.
            if at > deadline {
                return None;
            }
            let next = self.ends.peek().map(|end| end.0);
            if next.is_some_and(|end| end <= at) {
                self.ends.pop();
                self.provider.end();
                continue;
            }
            at = match self.provider.next_acceptable(since_start(at), cost) {
                Some(found) if Time(0) + found == at => return Some(at),
                // Whatever ends before may let it start sooner, or matters for what comes after.
                Some(found) => next.map_or(Time(0) + found, |end| end.min(Time(0) + found)),
                None => next?,
            };
        }
    }

    /// Starts a call, unless the provider refuses it.
    pub(crate) fn start(&mut self, at: Time, cost: f64, end: Time) -> bool {
        let is_accepted = self.provider.start(since_start(at), cost).is_ok();
        if is_accepted {
            self.ends.push(Reverse(end));
        }
        is_accepted
    }
}

fn since_start(at: Time) -> Duration {
    at.since(Time(0))
}
