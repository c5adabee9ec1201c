//! The world of one run: what happens to it, and what must hold in it.

use std::rc::Rc;

use super::memhost::call::{Attempt, ms};
use super::memhost::calls::Failing;
use super::memhost::memory::Random;
use super::memhost::sim::{config, policy};
use super::memhost::vm::Plugin;
use super::memhost::{Ask, Reply, Sim, State};
use super::ops::Op;

const CLUSTERS: [&str; 2] = ["a", "b"];
pub(crate) const WORKERS: usize = 3;
const MAX_WAIT_MS: u64 = 2000;
const BASE_MS: u64 = 100;
const TICK_MS: u64 = 4;

fn settings() -> [Rc<Plugin>; 4] {
    [(2, 3), (1, 100), (4, 100), (3, 0)].map(|(cap, max_waiting)| {
        config(&policy(&format!(
            r#""max_concurrent_calls":{cap},"patience_header":"x-patience",
            "queue":{{"max_waiting":{max_waiting},"max_wait_ms":{MAX_WAIT_MS}}},
            "retry":{{"retry_base_delay_ms":{BASE_MS},"retry_cap_delay_ms":800,
            "burst_retry_base_delay_ms":300,"burst_retry_cap_delay_ms":900,"budget_ms":5000}}"#
        )))
    })
}

const MOST: u64 = 4;

fn headers(ask: Ask, which: usize) -> Ask {
    match which {
        0 => ask.header("x-weir-no-wait", "1"),
        1 => ask.header("x-patience", "150"),
        2 => ask.header("x-patience", "\u{fffd}"),
        _ => ask,
    }
}

fn reply(which: usize) -> Reply {
    let replies = [
        Reply::ok(),
        Reply::rate(),
        Reply::burst(),
        Reply::new(429),
        Reply::rate().header("retry-after-ms", "700"),
        Reply::ok().header("ratelimit", r#""few";r=1;t=2"#),
        Reply::ok().header("ratelimit", r#""none";r=0;t=1"#),
        Reply::new(503).header("retry-after", "99999999999"),
        Reply::new(529).body("overloaded"),
        Reply::new(500).body(r#"{"error":{"type":"overloaded_error"}}"#),
        Reply::new(400).body("{\"error\":{"),
        Reply::new(402),
        Reply::new(200).header("x-weir-retry", "1"),
        Reply::new(404).body("\u{0}"),
        Reply::new(0),
    ];
    replies[which % replies.len()].clone()
}

/// The world of one run.
pub(crate) struct World {
    sim: Sim,
    settings: [Rc<Plugin>; 4],
    /// Shared data refused calls, so some have no slot.
    was_dark: bool,
    /// Host calls fail: of laws, only what the host itself sees to is left while they do.
    fails: bool,
}

impl World {
    pub(crate) fn new(random: u64) -> World {
        let settings = settings();
        let mut sim = Sim::policy(WORKERS, "");
        sim.busy = ms(TICK_MS);
        sim.memory.state().random = Random::Stream(random);
        for worker in 0..WORKERS {
            sim.configure(worker, &settings[0]);
        }
        // Every worker has its slot and every key its gate: those are made once.
        for (worker, cluster) in [(0, "a"), (1, "b"), (2, "a")] {
            let id = sim.arrive(Ask::on(worker).cluster(cluster));
            sim.answer(id, Reply::ok());
        }
        World {
            sim,
            settings,
            was_dark: false,
            fails: false,
        }
    }

    /// The n-th call that is in this state, on a thread that runs.
    fn pick(&self, n: usize, test: impl Fn(&State) -> bool) -> Option<usize> {
        let fits = |id: &usize| {
            let call = &self.sim.calls[*id];
            !call.is_over && !self.sim.seats[call.worker].is_blocked && test(&call.state())
        };
        let all: Vec<_> = (0..self.sim.calls.len()).filter(fits).collect();
        (!all.is_empty()).then(|| all[n % all.len()])
    }

    /// The n-th attempt whose answer has begun, or has not, and has not ended.
    fn pick_attempt(&self, n: usize, has_head: bool) -> Option<(usize, u32)> {
        let mut all = Vec::new();
        for (id, call) in self.sim.calls.iter().enumerate() {
            if self.sim.seats[call.worker].is_blocked {
                continue;
            }
            let fits = |a: &Attempt| a.head.is_some() == has_head && !a.is_whole;
            let attempts = call.attempts.iter().filter(|(_, a)| fits(a));
            all.extend(attempts.map(|(stream, _)| (id, *stream)));
        }
        (!all.is_empty()).then(|| all[n % all.len()])
    }

    fn is_unanswered(state: &State) -> bool {
        !matches!(state, State::Answered(_))
    }

    fn has_attempt(state: &State) -> bool {
        matches!(state, State::Running(_) | State::Held(_))
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        match *op {
            Op::Arrive {
                worker,
                cluster,
                header,
                uploading,
            } => {
                let mut ask = headers(Ask::on(worker).cluster(CLUSTERS[cluster]), header);
                ask.uploading = uploading;
                if !self.sim.seats[worker].is_blocked {
                    self.sim.arrive(ask);
                }
            }
            Op::ArriveLate(n) => {
                let (worker, config) = (n % WORKERS, Rc::clone(&self.settings[n % 4]));
                let ask = Ask {
                    config: Some(config),
                    ..Ask::on(worker).cluster(CLUSTERS[n % 2]).connection(1)
                };
                if !self.sim.seats[worker].is_blocked {
                    self.sim.arrive(ask);
                }
            }
            Op::CompleteRequest(n) => {
                if let Some(id) = self.pick(n, World::has_attempt) {
                    self.sim.complete_request(id);
                }
            }
            Op::Answer(n, which) => {
                if let Some((id, stream)) = self.pick_attempt(n, false) {
                    self.sim.answer_on(id, stream, reply(which));
                }
            }
            Op::Head(n, which) => {
                if let Some((id, stream)) = self.pick_attempt(n, false) {
                    self.sim.head_on(id, stream, &reply(which), false);
                }
            }
            Op::Part(n, size, is_end) => {
                if let Some((id, stream)) = self.pick_attempt(n, true) {
                    self.sim.part_on(id, stream, &vec![b'{'; size], is_end);
                }
            }
            Op::Trailers(n) => {
                if let Some((id, stream)) = self.pick_attempt(n, true) {
                    self.sim.part_on(id, stream, b"", true);
                }
            }
            Op::Abort(n, attempts_first) => {
                if let Some(id) = self.pick(n, |_| true) {
                    self.sim.abort_in_order(id, attempts_first);
                }
            }
            Op::Hedge(n) => {
                if let Some(id) = self.pick(n, World::has_attempt) {
                    self.sim.hedge(id);
                }
            }
            Op::TryAgain(n) => {
                if let Some(id) = self.pick(n, World::has_attempt) {
                    self.sim.try_again(id);
                }
            }
            Op::LocalReply(n) => {
                if let Some(id) = self.pick(n, World::is_unanswered) {
                    self.sim.local_reply(id, 504);
                }
            }
            Op::Run(millis) => self.sim.run(ms(millis)),
            Op::Jump(millis) => self.sim.jump(ms(millis)),
            Op::Reload(which) => {
                let config = Rc::clone(&self.settings[which]);
                for worker in 0..WORKERS {
                    self.sim.configure(worker, &config);
                }
            }
            Op::BackOff(millis) => self.sim.route.back_off = ms(millis),
            Op::Break(is_broken) => self.sim.route.is_broken = is_broken,
            Op::Block(worker, is_blocked) => {
                self.sim.seats[worker].is_blocked = is_blocked;
                self.sim.settle();
            }
            Op::Conflicts(every) => self.sim.memory.state().faults.conflict_every = every,
            Op::LoseWakes(lost) => self.sim.memory.state().faults.lost_wakes = lost,
            Op::Fail(one_in, seed) => {
                self.fails = true;
                self.sim.memory.state().calls.failing = match one_in {
                    0 => Failing::None,
                    _ => Failing::OneIn(one_in, Random::Stream(seed)),
                };
            }
            Op::Dark(is_dark) => {
                self.sim.memory.state().faults.no_data = is_dark;
                self.was_dark |= is_dark;
            }
        }
    }

    /// What holds after every step, whatever goes wrong with wake-ups and writes.
    pub(crate) fn check_always(&mut self) {
        if self.fails {
            return;
        }
        for (id, wait) in self.sim.holds.drain(..) {
            assert!(wait >= ms(BASE_MS), "L9: call {id} after {wait:?}");
        }
        if self.was_dark || self.sim.unplanned {
            return;
        }
        for cluster in CLUSTERS {
            let of = self.sim.calls.iter().filter(|c| c.cluster == cluster);
            let slots = of.map(|call| {
                let attempts = call.attempts.values().filter(|a| a.has_slot).count();
                (attempts + usize::from(call.has_grant)) as u64
            });
            assert!(slots.sum::<u64>() <= MOST, "L1");
        }
    }

    /// What holds after every step while nothing goes wrong.
    pub(crate) fn check_calm(&mut self, op: &Op) {
        self.sim.check();
        self.sim.check_no_idle_slot();
        for id in std::mem::take(&mut self.sim.started) {
            let started = &self.sim.calls[id];
            for other in self.sim.calls.iter().filter(|c| c.is_paused) {
                let is_behind = other.arrived >= started.arrived;
                assert!(is_behind || other.cluster != started.cluster, "L2");
            }
        }
        if let Op::Run(_) = op {
            for call in self.sim.calls.iter().filter(|c| c.is_paused) {
                let waited = self.sim.now.since(call.arrived);
                assert!(waited <= ms(MAX_WAIT_MS + TICK_MS), "{waited:?}");
            }
        }
    }

    /// Everything works again, and what is still there is served, or goes.
    pub(crate) fn let_go(&mut self, serve: bool) {
        self.sim.memory.state().faults = Default::default();
        self.sim.memory.state().calls.failing = Failing::None;
        self.sim.route = Default::default();
        for worker in 0..WORKERS {
            self.sim.seats[worker].is_blocked = false;
        }
        self.sim.run(ms(200));
        // Budget and stay are over by then, whoever waits.
        for _ in 0..8 {
            if serve {
                while let Some((id, stream)) = self.pick_attempt(0, false) {
                    self.sim.answer_on(id, stream, Reply::ok());
                }
                while let Some((id, stream)) = self.pick_attempt(0, true) {
                    self.sim.part_on(id, stream, b"", true);
                }
            } else {
                while let Some(id) = self.pick(0, |_| true) {
                    self.sim.abort(id);
                }
            }
            if self.sim.calls.iter().all(|call| call.is_over) {
                break;
            }
            self.sim.run(ms(1000));
        }
        if self.fails {
            // A call whose resume failed waits for its client.
            while let Some(id) = self.pick(0, |_| true) {
                self.sim.abort(id);
            }
        }
        assert!(self.sim.calls.iter().all(|call| call.is_over), "L3");
        self.sim.check_empty();
    }
}
