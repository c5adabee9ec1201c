//! The limit of the possible: a queue that knows the model. First come, first served, each call
//! started at the first moment at which the model takes it, never refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use weir::core::time::Time;

use super::clients::{Clients, Wish};
use super::provider::Provider;
use super::tally::Waits;

/// How long those waited who were started before they went away.
pub(crate) fn run(clients: Clients, mut provider: Provider) -> Waits {
    let mut waits = Waits::default();
    let mut ends: BinaryHeap<Reverse<Time>> = BinaryHeap::new();
    let mut now = Time(0);
    for wish in clients {
        now = now.max(wish.at);
        let Some(start) = first_start(&mut provider, &mut ends, now, &wish) else {
            continue;
        };
        if provider.start(since_start(start), wish.cost).is_err() {
            continue;
        }
        now = start;
        waits.add(start.since(wish.at));
        ends.push(Reverse((start + wish.served.whole).min(wish.aborts_at)));
    }
    waits
}

/// When the call starts; `None` if its client goes away before.
fn first_start(
    provider: &mut Provider,
    ends: &mut BinaryHeap<Reverse<Time>>,
    from: Time,
    wish: &Wish,
) -> Option<Time> {
    let mut at = from;
    loop {
        // First: the next call may come before what ends after this one's patience.
        if at > wish.deadline() {
            return None;
        }
        let next = ends.peek().map(|end| end.0);
        if next.is_some_and(|end| end <= at) {
            ends.pop();
            provider.end();
            continue;
        }
        at = match provider.next_acceptable(since_start(at), wish.cost) {
            Some(found) if Time(0) + found == at => return Some(at),
            // Whatever ends before may let it start sooner, or matters for what comes after.
            Some(found) => next.map_or(Time(0) + found, |end| end.min(Time(0) + found)),
            None => next?,
        };
    }
}

fn since_start(at: Time) -> Duration {
    at.since(Time(0))
}
