//! What Envoy does with the streams of a call.

use std::time::Duration;

use weir::core::answer::{Edit, Reply};
use weir::core::call::answer::Origin;
use weir::core::call::arrive::{Arrived, Marked, Request};
use weir::core::call::attempt::{AnswerHead, Begin, Next};
use weir::core::call::read::Part;
use weir::core::call::{Action, Headers, StreamId};

use super::super::memhost::call::edit;
use super::super::peer::{Arrival, Orders, Slot};
use super::super::words::Answer;
use super::Weir;
use super::vm::{Timer, VmId};

/// From a marked answer to the next attempt of the router.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(6), Duration::from_millis(25));

/// A call in an Envoy.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) vm: VmId,
    pub(crate) number: u64,
    pub(crate) cluster: u16,
    pub(crate) stage: Stage,
    gate: StreamId,
    attempt: Option<StreamId>,
    connection: u64,
    attempts: u32,
    retries_left: u32,
    reference: Option<[u8; 16]>,
    /// Its attempt counts as in flight.
    pub(super) is_in_flight: bool,
    /// The router is about to make another.
    pub(super) is_between: bool,
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its request headers are paused.
    Waiting,
    /// Its attempt is at the provider.
    Going,
    /// A refusal is kept back, with these headers.
    Held(Headers),
    /// The router is about to make another attempt.
    Retrying,
    /// The client is being answered.
    Answered,
    /// Its VM died under it. What was paused hangs; what was not fails at the next callback.
    Orphaned,
}

impl Weir {
    /// A request reaches the gate half.
    pub(crate) fn enter(
        &mut self,
        Arrival { slot, number }: Arrival,
        vm: VmId,
        cluster: u16,
        orders: &mut Orders<Timer>,
    ) {
        let gate = self.take_stream(vm, slot);
        let envoy = &mut self.envoys[vm.envoy];
        envoy.next_connection += 1;
        let seat = Seat {
            vm,
            number,
            cluster,
            stage: Stage::Going,
            gate,
            attempt: None,
            connection: envoy.next_connection,
            attempts: 0,
            retries_left: 0,
            reference: None,
            is_in_flight: false,
            is_between: false,
        };
        if self.seats.len() <= slot as usize {
            self.seats.resize_with(slot as usize + 1, || None);
        }
        let connection = seat.connection;
        self.seats[slot as usize] = Some(seat);
        let headers = self.request(number);
        let config = self.vm(vm).config.clone();
        let name = cluster_name(cluster);
        let arrived = self.ask(vm, orders, |worker, host, now| {
            let request = Request {
                cluster: name.as_bytes(),
                connection,
                headers: &headers,
            };
            worker.arrive(host, now, gate, &request, &config)
        });
        match arrived {
            None => self.lose(slot, orders),
            Some(Arrived::Untouched) => self.begin_attempt(slot, orders),
            Some(Arrived::Refuse(reply)) => self.refuse(slot, reply, orders),
            Some(Arrived::Start(marked)) => {
                self.mark(slot, marked, Stage::Going);
                self.begin_attempt(slot, orders);
            }
            Some(Arrived::Wait(marked)) => self.mark(slot, marked, Stage::Waiting),
        }
    }

    fn mark(&mut self, slot: Slot, marked: Marked, stage: Stage) {
        if let Some(seat) = self.seat(slot) {
            seat.reference = Some(marked.reference);
            seat.retries_left = retries(&marked.edits);
            seat.stage = stage;
        }
    }

    /// Carries out what a VM decided about a stream that is paused. What is not paused, or gone, an
    /// Envoy may die of; here it fails the run.
    pub(crate) fn carry_out(&mut self, id: VmId, action: Action, orders: &mut Orders<Timer>) {
        let (stream, what) = match &action {
            Action::Start { gate } => (*gate, "started"),
            Action::Refuse { gate, .. } => (*gate, "refused"),
            Action::Answer { attempt, .. } => (*attempt, "resumed"),
        };
        let slot = self.envoys[id.envoy].streams.get(&stream).copied();
        let slot = slot.unwrap_or_else(|| panic!("a stream that is gone is {what}"));
        let seat = self.seat(slot).expect("a call with a stream");
        let stage = std::mem::replace(&mut seat.stage, Stage::Going);
        match (action, stage) {
            (Action::Start { .. }, Stage::Waiting) => self.begin_attempt(slot, orders),
            (Action::Refuse { reply, .. }, Stage::Waiting) => self.refuse(slot, reply, orders),
            (Action::Answer { edits, .. }, Stage::Held(headers)) => {
                self.route(slot, headers, &edits, orders);
            }
            (_, stage) => panic!("a call is {what} while {stage:?}"),
        }
    }

    /// An attempt goes out.
    fn begin_attempt(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        let Some(vm) = self.seat(slot).map(|seat| seat.vm) else {
            return;
        };
        let stream = self.take_stream(vm, slot);
        let Some(seat) = self.seat(slot) else {
            return;
        };
        seat.stage = Stage::Going;
        seat.attempts += 1;
        seat.attempt = Some(stream);
        let (call, number, reference) = (seat.number, seat.attempts, seat.reference);
        let (connection, name) = (seat.connection, cluster_name(seat.cluster));
        let headers = self.request(call);
        let config = self.vm(vm).config.clone();
        let begun = self.ask(vm, orders, |worker, host, now| {
            let begin = Begin {
                number,
                reference: reference.as_ref().map(<[u8; 16]>::as_slice),
                route_timeout: None,
                request_complete: true,
            };
            let request = Request {
                cluster: name.as_bytes(),
                connection,
                headers: &headers,
            };
            worker.begin_attempt(host, now, stream, begin, &request, &config)
        });
        let Some(left) = begun else {
            return self.lose(slot, orders);
        };
        if let Some(seat) = self.seat(slot) {
            seat.reference = left.or(seat.reference);
        }
        self.fly(slot);
        orders.attempt(slot);
    }

    /// The provider's answer begins; a refusal is all there.
    pub(crate) fn begin_answer(&mut self, slot: Slot, answer: &Answer, orders: &mut Orders<Timer>) {
        if answer.is_refusal() {
            self.land(slot);
        }
        let Some((vm, stream)) = self.attempt_of(slot) else {
            return self.lose(slot, orders);
        };
        let headers = answer.headers.clone();
        let next = self.ask(vm, orders, |worker, host, now| {
            let head = AnswerHead {
                status: answer.status,
                headers,
                is_whole: false,
            };
            worker.begin_answer(host, now, stream, head)
        });
        let next = match next {
            Some(Next::Pause) => self.read(slot, answer.body, orders),
            next => next,
        };
        match next {
            None => self.lose(slot, orders),
            Some(Next::Pause) => {
                if let Some(seat) = self.seat(slot) {
                    seat.stage = Stage::Held(answer.headers.clone());
                }
            }
            Some(Next::Pass(edits)) => self.route(slot, answer.headers.clone(), &edits, orders),
        }
    }

    /// The end of the answer's body.
    fn read(&mut self, slot: Slot, body: &[u8], orders: &mut Orders<Timer>) -> Option<Next> {
        let (vm, stream) = self.attempt_of(slot)?;
        self.ask(vm, orders, |worker, host, now| {
            let part = Part {
                size: body.len(),
                is_end: true,
                read: |from: usize, most: usize| {
                    let end = body.len().min(from + most);
                    body.get(from..end).unwrap_or_default().to_vec()
                },
            };
            worker.read_answer(host, now, stream, part)
        })
    }

    /// The router sees an answer's head.
    fn route(
        &mut self,
        slot: Slot,
        mut headers: Headers,
        edits: &[Edit],
        orders: &mut Orders<Timer>,
    ) {
        let Some((vm, stream)) = self.attempt_of(slot) else {
            return self.lose(slot, orders);
        };
        edit(&mut headers, edits);
        let has = |name: &[u8]| headers.iter().any(|(n, _)| n == name);
        let is_marked = has(b"x-weir-retry") && !has(b"x-envoy-ratelimited");
        let status = status(&headers);
        let Some(seat) = self.seat(slot) else {
            return;
        };
        if is_marked && seat.retries_left > 0 {
            seat.retries_left -= 1;
            seat.stage = Stage::Retrying;
            seat.attempt = None;
            seat.is_between = true;
            let (number, cluster) = (seat.number, seat.cluster);
            let count = self.in_flight(vm, cluster);
            count.between += 1;
            count.peak = count.peak.max(count.taken());
            self.end_attempt(vm, stream, orders);
            let span = self.network.between(BACK_OFF.0, BACK_OFF.1);
            return orders.after(span, Timer::Retry(slot, number));
        }
        seat.stage = Stage::Answered;
        let gate = seat.gate;
        let passed = self.ask(vm, orders, |worker, host, now| {
            worker.answer(host, now, gate, status, &headers, said("via_upstream"));
        });
        if passed.is_none() {
            self.lose(slot, orders);
        } else if status != 200 {
            self.finish(slot, orders);
            orders.refuse(slot, headers);
        }
    }

    /// The router's next attempt, unless the call went on without it.
    pub(crate) fn try_again(&mut self, slot: Slot, number: u64, orders: &mut Orders<Timer>) {
        let Some(seat) = self.seat(slot).filter(|seat| seat.number == number) else {
            return;
        };
        match seat.stage {
            Stage::Retrying => self.begin_attempt(slot, orders),
            Stage::Orphaned => self.lose(slot, orders),
            _ => {}
        }
    }

    /// The last byte of a success.
    pub(crate) fn end_answer(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.land(slot);
        match self.read(slot, b"!", orders) {
            Some(_) => self.finish(slot, orders),
            None => self.lose(slot, orders),
        }
    }

    /// Weir's own answer passes the gate half like any other.
    fn refuse(&mut self, slot: Slot, reply: Reply, orders: &mut Orders<Timer>) {
        let status = reply.status.to_string().into_bytes();
        let mut headers: Headers = vec![(b":status".to_vec(), status)];
        for (name, value) in reply.headers {
            headers.push((name.as_bytes().to_vec(), value.into_bytes()));
        }
        if let Some((vm, gate)) = self.seat(slot).map(|seat| (seat.vm, seat.gate)) {
            self.ask(vm, orders, |worker, host, now| {
                worker.answer(host, now, gate, reply.status, &headers, said(""));
            });
        }
        self.finish(slot, orders);
        orders.refuse(slot, headers);
    }

    /// The client has its answer to the end.
    fn finish(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        if let Some((vm, gate)) = self.seat(slot).map(|seat| (seat.vm, seat.gate)) {
            self.ask(vm, orders, |worker, host, now| {
                worker.end_answer(host, now, gate);
            });
        }
        self.abort(slot, orders);
    }

    /// Both halves' streams end, the gate's first.
    pub(crate) fn abort(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.land(slot);
        let Some(seat) = self.seats.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        let is_orphan = seat.stage == Stage::Orphaned;
        self.envoys[seat.vm.envoy].streams.remove(&seat.gate);
        if !is_orphan {
            self.ask(seat.vm, orders, |worker, host, now| {
                worker.end(host, now, seat.gate);
            });
        }
        if let Some(stream) = seat.attempt {
            match is_orphan {
                true => drop(self.envoys[seat.vm.envoy].streams.remove(&stream)),
                false => self.end_attempt(seat.vm, stream, orders),
            }
        }
    }

    fn end_attempt(&mut self, vm: VmId, stream: StreamId, orders: &mut Orders<Timer>) {
        self.envoys[vm.envoy].streams.remove(&stream);
        self.ask(vm, orders, |worker, host, now| {
            worker.end_attempt(host, now, stream);
        });
    }

    /// Envoy answers 503 in the place of a VM that is dead.
    fn lose(&mut self, slot: Slot, orders: &mut Orders<Timer>) {
        self.abort(slot, orders);
        orders.fail(slot);
    }

    /// The VM of a call died.
    pub(crate) fn orphan(&mut self, slot: Slot, died: VmId) {
        let is_its = self.seat(slot).is_some_and(|seat| seat.vm == died);
        if is_its {
            self.land(slot);
            if let Some(seat) = self.seat(slot) {
                seat.stage = Stage::Orphaned;
            }
        }
    }

    /// The call's attempt, unless its VM has died since.
    fn attempt_of(&mut self, slot: Slot) -> Option<(VmId, StreamId)> {
        let seat = self.seat(slot)?;
        match seat.stage {
            Stage::Orphaned => None,
            _ => Some((seat.vm, seat.attempt?)),
        }
    }

    fn take_stream(&mut self, vm: VmId, slot: Slot) -> StreamId {
        let envoy = &mut self.envoys[vm.envoy];
        envoy.next_stream += 1;
        envoy.streams.insert(envoy.next_stream, slot);
        envoy.next_stream
    }
}

/// The name of a cluster.
pub(crate) fn cluster_name(cluster: u16) -> String {
    format!("provider-{cluster}")
}

/// How often the router may retry by Weir's mark.
fn retries(edits: &[Edit]) -> u32 {
    let most = edits.iter().find_map(|edit| match edit {
        Edit::Set(name, value) if name == "x-envoy-max-retries" => std::str::from_utf8(value).ok(),
        _ => None,
    });
    most.and_then(|most| most.parse().ok()).unwrap_or(0)
}

fn status(headers: &Headers) -> u16 {
    let status = headers.iter().find(|(name, _)| name == b":status");
    let status = status.and_then(|(_, value)| std::str::from_utf8(value).ok());
    status.and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// Where Envoy says an answer comes from.
fn said(details: &str) -> Origin<'_, impl FnOnce() -> u64> {
    Origin {
        details: details.as_bytes(),
        flags: || 0,
    }
}
