//! The limit of the possible: a queue that knows the model. First come, first served, each call
//! started at the first moment at which the model takes it, never refused.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;

use weir::core::time::Time;

use super::agents::After;
use super::clients::{Clients, Wish};
use super::provider::Provider;
use super::tally::Waits;

/// What could be made of the calls of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Possible {
    /// Of those who were started before they went away.
    pub(crate) waits: Waits,
    /// When they were started, in order.
    pub(crate) starts: Vec<Time>,
    /// Tasks whose last call was answered.
    pub(crate) tasks_done: u64,
}

/// Serves all calls as well as can be. Calls that follow on others come with the end of those.
pub(crate) fn run(mut clients: Clients, provider: Provider) -> Possible {
    let mut possible = Possible::default();
    let mut server = Server::new(provider, []);
    let mut following: BinaryHeap<Reverse<Following>> = BinaryHeap::new();
    let mut coming = clients.next();
    let mut now = Time(0);
    loop {
        let is_following = match (following.peek(), &coming) {
            (Some(Reverse(Following(next))), Some(wish)) => next.at < wish.at,
            (next, _) => next.is_some(),
        };
        let wish = match is_following {
            true => following.pop().map(|Reverse(Following(wish))| wish),
            false => std::mem::replace(&mut coming, clients.next()),
        };
        let Some(wish) = wish else {
            return possible;
        };
        now = now.max(wish.at);
        let start = server.first_start(now, wish.deadline(), wish.cost);
        let ends = start.map(|start| start + wish.served.whole);
        let (over, is_answered) = match ends {
            Some(ends) if ends <= wish.aborts_at => (ends, true),
            Some(_) => (wish.aborts_at, false),
            None => (wish.deadline(), false),
        };
        if let Some(start) = start {
            assert!(server.start(start, wish.cost, over), "it may start");
            now = start;
            possible.waits.add(start.since(wish.at));
            possible.starts.push(start);
        }
        match clients.after(wish.number, over, is_answered) {
            After::Call(next) => following.push(Reverse(Following(next))),
            After::TaskDone => possible.tasks_done += 1,
            After::TaskLost | After::Nothing => {}
        }
    }
}

/// A call that follows on another, in the order in which they come.
#[derive(Debug)]
struct Following(Wish);

impl Following {
    fn order(&self) -> (Time, u64) {
        (self.0.at, self.0.number)
    }
}

impl PartialEq for Following {
    fn eq(&self, other: &Following) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Following {}

impl PartialOrd for Following {
    fn partial_cmp(&self, other: &Following) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Following {
    fn cmp(&self, other: &Following) -> Ordering {
        self.order().cmp(&other.order())
    }
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
