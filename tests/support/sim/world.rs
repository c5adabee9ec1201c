//! One run: clients, a peer and a provider on the virtual clock.

use std::collections::BTreeMap;
use std::time::Duration;

use weir::core::time::Time;

use super::agenda::Agenda;
use super::agents::After;
use super::clients::{Clients, Wish};
use super::crowd::{Counted, Whose};
use super::models::Model;
use super::peer::{Arrival, Order, Orders, Peer, Slot};
use super::provider::Provider;
use super::tally::Tally;
use super::timeline::{Bucket, Mean, Timeline};
use super::words::{self, Answer, Tells};

/// The world of one run.
#[derive(Debug)]
pub(crate) struct World<P: Peer> {
    pub(crate) now: Time,
    pub(crate) peer: P,
    pub(crate) tally: Tally,
    /// What happened since somebody looked; kept if [`World::watch`] was called.
    pub(crate) seen: Option<Vec<Seen>>,
    agenda: Agenda<Event<P::Timer>>,
    clients: Clients,
    coming: Option<Wish>,
    /// Calls that follow on others, by number.
    following: BTreeMap<u64, Wish>,
    provider: Provider,
    tells: Tells,
    refusal: Duration,
    mean: Mean,
    calls: Vec<Option<Call>>,
    free: Vec<Slot>,
    live: usize,
    /// Live calls that are not accepted yet.
    waiting: u64,
    /// The last stamp given to an attempt.
    stamp: u64,
    /// Emptied and filled again and again.
    orders: Vec<Order<P::Timer>>,
}

#[derive(Debug)]
struct Call {
    wish: Wish,
    /// Tells what is planned for its attempt from what was for others; 0 before the first.
    stamp: u64,
    attempts: u32,
    at_provider: AtProvider,
    /// When the provider is through with it, once it is accepted.
    ends_at: Time,
}

#[derive(Debug)]
enum AtProvider {
    Nothing,
    /// The refusal is on its way back.
    Refused(Box<Answer>),
    /// Accepted; the head is on its way back.
    Accepted,
    Streaming,
    /// Its last byte is sent.
    Through,
}

#[derive(Clone, Copy, Debug)]
enum Event<T> {
    Arrive,
    /// The call of this number, which follows on another.
    Follow(u64),
    /// Of the attempt with this stamp.
    Head(Slot, u64),
    End(Slot, u64),
    /// The client's patience is over, or it aborts: by the call's number.
    Leave(Slot, u64),
    Peer(T),
}

/// Something that happened to a call, by its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) at: Time,
    pub(crate) slot: Slot,
    pub(crate) number: u64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Arrived,
    /// The attempt of this number goes out, and the provider takes it or not.
    Attempt {
        attempt: u32,
        is_accepted: bool,
    },
    /// A refusal came back, with the least wait it asks for.
    Refusal {
        min: Option<Duration>,
    },
    /// A success came to its end.
    Ended,
    Failed,
    Left,
}

impl<P: Peer> World<P> {
    pub(crate) fn new(peer: P, clients: Clients, model: &Model) -> World<P> {
        let mut world = World {
            now: Time(0),
            peer,
            tally: Tally::default(),
            seen: None,
            agenda: Agenda::default(),
            clients,
            coming: None,
            following: BTreeMap::new(),
            provider: Provider::new(model.limits.clone()),
            tells: model.tells,
            refusal: model.refusal,
            mean: Mean {
                service: model.service.mean.min(model.service.max),
                cost: model.cost.map_or(1.0, |cost| cost.mean),
            },
            calls: Vec::new(),
            free: Vec::new(),
            live: 0,
            waiting: 0,
            stamp: 0,
            orders: Vec::new(),
        };
        world.expect_next();
        world.tell(|peer, orders| peer.begin(orders));
        world
    }

    /// Keeps what happens in [`World::seen`].
    pub(crate) fn watch(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Counts by buckets too: [`Tally::timeline`].
    pub(crate) fn count_by(&mut self, bucket: Duration) {
        self.tally.timeline = Some(Timeline::new(bucket));
        self.begin_buckets(self.now);
    }

    /// Whether every call that will come has come and is over.
    pub(crate) fn is_over(&self) -> bool {
        self.coming.is_none() && self.following.is_empty() && self.live == 0
    }

    /// Calls that are not over.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Runs until every call is over.
    pub(crate) fn run(&mut self) {
        while !self.is_over() && self.step() {}
    }

    /// Runs until nothing happens before `end`.
    pub(crate) fn run_until(&mut self, end: Time) {
        while self.agenda.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// The next thing happens. False if nothing is left.
    pub(crate) fn step(&mut self) -> bool {
        let Some((at, event)) = self.agenda.take() else {
            return false;
        };
        self.begin_buckets(at);
        self.now = at;
        match event {
            Event::Arrive => self.arrive_next(),
            Event::Follow(number) => {
                if let Some(wish) = self.following.remove(&number) {
                    self.arrive(wish);
                }
            }
            Event::Head(slot, stamp) => self.head(slot, stamp),
            Event::End(slot, stamp) => self.end(slot, stamp),
            Event::Leave(slot, number) => self.leave(slot, number),
            Event::Peer(timer) => self.tell(|peer, orders| peer.timer(timer, orders)),
        }
        true
    }

    /// Has the peer do something out of its turn: a fault, a reload.
    pub(crate) fn tell(&mut self, what: impl FnOnce(&mut P, &mut Orders<P::Timer>)) {
        let mut orders = Orders {
            now: self.now,
            list: std::mem::take(&mut self.orders),
        };
        what(&mut self.peer, &mut orders);
        for order in orders.list.drain(..) {
            match order {
                Order::Attempt(slot) => self.attempt(slot),
                Order::Fail(slot) | Order::Refuse(slot, _) => self.fail(slot),
                Order::At(at, timer) => self.agenda.plan(at, Event::Peer(timer)),
            }
        }
        self.orders = orders.list;
    }

    fn expect_next(&mut self) {
        self.coming = self.clients.next();
        if let Some(wish) = &self.coming {
            self.agenda.plan(wish.at, Event::Arrive);
        }
    }

    fn arrive_next(&mut self) {
        if let Some(wish) = self.coming.take() {
            self.expect_next();
            self.arrive(wish);
        }
    }

    fn arrive(&mut self, wish: Wish) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.calls.push(None);
            (self.calls.len() - 1) as Slot
        });
        let number = wish.number;
        self.agenda
            .plan_in_order(wish.deadline(), Event::Leave(slot, number));
        self.calls[slot as usize] = Some(Call {
            wish,
            stamp: 0,
            attempts: 0,
            at_provider: AtProvider::Nothing,
            ends_at: Time::NEVER,
        });
        self.live += 1;
        self.waiting += 1;
        self.tally.offered += 1;
        self.count(|bucket| bucket.offered += 1);
        self.count_for(wish.whose, |counted| counted.offered += 1);
        self.note(slot, number, What::Arrived);
        self.tell(|peer, orders| peer.arrive(Arrival { slot, number }, orders));
    }

    fn attempt(&mut self, slot: Slot) {
        let now = self.now;
        let call = self.calls[slot as usize].as_mut().expect("a call");
        assert!(
            matches!(call.at_provider, AtProvider::Nothing),
            "one attempt at a time"
        );
        self.stamp += 1;
        call.attempts += 1;
        call.stamp = self.stamp;
        let (attempt, stamp, wish) = (call.attempts, call.stamp, call.wish);
        let at = now.since(Time(0));
        let decided = self.provider.start(at, wish.cost);
        let is_accepted = decided.is_ok();
        match decided {
            Ok(()) => {
                call.at_provider = AtProvider::Accepted;
                self.tally.waits.add(now.since(wish.at));
                if self.clients.is_closed_loop() {
                    self.tally.starts.push(now);
                }
                let (first, whole) = (now + wish.served.first_byte, now + wish.served.whole);
                call.ends_at = whole.min(wish.aborts_at);
                self.waiting -= 1;
                self.agenda.plan(first, Event::Head(slot, stamp));
                self.agenda.plan(whole, Event::End(slot, stamp));
            }
            Err(refusal) => {
                let answer = words::refused(self.tells, &refusal, self.provider.window(at));
                call.at_provider = AtProvider::Refused(Box::new(answer));
                self.agenda
                    .plan(now + self.refusal, Event::Head(slot, stamp));
            }
        }
        let number = wish.number;
        self.tally.attempt(now, !is_accepted);
        if is_accepted {
            let wait = now.since(wish.at);
            self.count_for(wish.whose, |counted| counted.waits.add(wait));
        }
        self.count(|bucket| {
            bucket.attempts += 1;
            bucket.accepted += u64::from(is_accepted);
            bucket.refused += u64::from(!is_accepted);
        });
        self.note(
            slot,
            number,
            What::Attempt {
                attempt,
                is_accepted,
            },
        );
    }

    fn head(&mut self, slot: Slot, stamp: u64) {
        let Some(call) = self.calls[slot as usize].as_mut() else {
            return;
        };
        if call.stamp != stamp {
            return;
        }
        let number = call.wish.number;
        let answer = match std::mem::replace(&mut call.at_provider, AtProvider::Nothing) {
            AtProvider::Refused(answer) => {
                self.tally.first_refusal_seen.get_or_insert(self.now);
                self.note(slot, number, What::Refusal { min: answer.min });
                *answer
            }
            _ => {
                call.at_provider = AtProvider::Streaming;
                let window = match self.tells.remaining {
                    true => self.provider.window(self.now.since(Time(0))),
                    false => None,
                };
                words::accepted(self.tells, window)
            }
        };
        self.tell(|peer, orders| peer.head(slot, &answer, orders));
    }

    fn end(&mut self, slot: Slot, stamp: u64) {
        let call = self.calls[slot as usize].as_mut();
        if let Some(call) = call.filter(|call| call.stamp == stamp) {
            let number = call.wish.number;
            // The provider is through with it before the peer has its last byte.
            call.at_provider = AtProvider::Through;
            self.provider.end();
            self.tell(|peer, orders| peer.end(slot, orders));
            // A peer may have lost it on the last byte.
            if self.calls[slot as usize].is_some() {
                self.note(slot, number, What::Ended);
                self.close(slot, true);
            }
        }
    }

    fn leave(&mut self, slot: Slot, number: u64) {
        let Some(call) = self.calls[slot as usize].as_ref() else {
            return;
        };
        let (wish, is_accepted) = (call.wish, call.is_accepted());
        // The client of an accepted call only leaves to abort.
        if wish.number != number || is_accepted && self.now < wish.aborts_at {
            return;
        }
        self.tally.left += u64::from(!is_accepted);
        self.note(slot, number, What::Left);
        self.close(slot, false);
        self.tell(|peer, orders| peer.leave(slot, orders));
    }

    fn fail(&mut self, slot: Slot) {
        let Some(call) = self.calls[slot as usize].as_ref() else {
            return;
        };
        let (wish, is_accepted) = (call.wish, call.is_accepted());
        match is_accepted {
            true => self.tally.lost += 1,
            false => self.tally.failed += 1,
        }
        self.count_for(wish.whose, |counted| counted.lost += u64::from(is_accepted));
        self.note(slot, wish.number, What::Failed);
        self.close(slot, false);
    }

    /// The call is over, and so is what it has at the provider.
    fn close(&mut self, slot: Slot, is_answered: bool) {
        if let Some(call) = self.calls[slot as usize].take() {
            if call.runs() {
                self.provider.end();
            }
            self.free.push(slot);
            self.live -= 1;
            self.waiting -= u64::from(!call.is_accepted());
            self.count(|bucket| bucket.ended += 1);
            match self.clients.after(call.wish.number, self.now, is_answered) {
                After::Nothing => {}
                After::Call(next) => {
                    self.agenda.plan(next.at, Event::Follow(next.number));
                    self.following.insert(next.number, next);
                }
                After::TaskDone => self.tally.tasks_done += 1,
                After::TaskLost => self.tally.tasks_lost += 1,
            }
        }
    }

    /// Begins the buckets of the timeline that begin until `at`.
    fn begin_buckets(&mut self, at: Time) {
        let Some(timeline) = &mut self.tally.timeline else {
            return;
        };
        while timeline.end() <= at {
            let running = self.calls.iter().flatten().filter(|call| call.runs());
            let ends = running.map(|call| call.ends_at).collect();
            timeline.begin(&self.provider, ends, self.waiting, self.mean);
        }
    }

    fn count(&mut self, what: impl FnOnce(&mut Bucket)) {
        if let Some(bucket) = self.tally.timeline.as_mut().and_then(Timeline::now) {
            what(bucket);
        }
    }

    fn count_for(&mut self, whose: Whose, what: impl FnMut(&mut Counted)) {
        if self.clients.are_told_apart() {
            self.tally.for_each(whose, what);
        }
    }

    fn note(&mut self, slot: Slot, number: u64, what: What) {
        if let Some(seen) = &mut self.seen {
            let at = self.now;
            seen.push(Seen {
                at,
                slot,
                number,
                what,
            });
        }
    }
}

impl Call {
    fn is_accepted(&self) -> bool {
        self.runs() || matches!(self.at_provider, AtProvider::Through)
    }

    fn runs(&self) -> bool {
        matches!(
            self.at_provider,
            AtProvider::Accepted | AtProvider::Streaming
        )
    }
}
