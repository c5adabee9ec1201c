//! Worker threads that really race on shared data: each has a VM, clients and a router of its own,
//! and all have one provider.
//!
//! A round is a stretch of random events on all threads at once, until nothing is left to deliver.
//! Then the laws are looked at, and time passes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::process::{Clock, Meeting, Provider};
use crate::memhost::call::ms;
use crate::memhost::memory::Random;
use crate::memhost::sim::policy;
use crate::memhost::{Ask, Memory, Reply, Sim, State};

/// Events of a thread in one round.
const EVENTS: usize = 12;

/// Rounds in which calls still arrive.
const BUSY_ROUNDS: usize = 10;

/// Everything is served long before this many.
const MOST_ROUNDS: usize = 400;

/// What passes between two events.
const STEP_NANOS: u64 = 20_000;

/// What passes between two rounds: longer than the shortest hold.
const ROUND_MS: u64 = 60;

struct Race {
    memory: Memory,
    workers: usize,
    cap: u64,
    clock: Clock,
    provider: Provider,
    meeting: Meeting,
    /// Calls that are not over, over all threads.
    open: AtomicUsize,
    /// Calls whose request headers are paused.
    waiting: AtomicUsize,
}

struct Driver<'a> {
    race: &'a Race,
    sim: Sim,
    random: Random,
    /// Of this thread's slots, those that the provider knows of.
    counted: u64,
    waiting: usize,
}

#[test]
fn l1_l4_one_worker_keeps_the_cap_and_leaves_nothing() {
    race(1, 3, 1);
}

#[test]
fn l1_l4_four_racing_workers_keep_the_cap_and_leave_nothing() {
    for seed in 1..=3 {
        race(4, 3, seed);
    }
}

#[test]
fn l1_l4_four_racing_workers_hand_one_slot_around() {
    race(4, 1, 9);
}

fn race(workers: usize, cap: u64, seed: u64) {
    let json = policy(&format!(
        r#""max_concurrent_calls":{cap},"ramp":{{"mode":"off"}},"retry":{{"retry_base_delay_ms":50,"retry_cap_delay_ms":100}}"#
    ));
    let memory = Memory::default();
    memory.state().random = Random::Stream(seed);
    let sum = Sim::part_of(&memory, workers..workers, &json);
    let race = Race {
        memory,
        workers,
        cap,
        clock: Clock::new(sum.now),
        provider: Provider::default(),
        meeting: Meeting::of(workers),
        open: AtomicUsize::new(0),
        waiting: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        let drivers: Vec<_> = (0..workers)
            .map(|vm| {
                let (race, json) = (&race, &json);
                scope.spawn(move || Driver::new(race, vm, seed, json).drive())
            })
            .collect();
        for driver in drivers {
            if let Err(why) = driver.join() {
                std::panic::resume_unwind(why);
            }
        }
    });
    assert_eq!(race.provider.peak(), cap, "L1: the peak equals the cap");
    assert_eq!(sum.sums(), Default::default(), "L4");
    for record in sum.records() {
        assert!(record.entries.is_empty(), "L4: {record:?}");
    }
    for name in ["slots", "waiting", "held"] {
        assert_eq!(sum.gauge(name), Some(0), "L4: {name}");
    }
}

impl Driver<'_> {
    fn new<'a>(race: &'a Race, vm: usize, seed: u64, json: &str) -> Driver<'a> {
        Driver {
            race,
            sim: Sim::part_of(&race.memory, vm..vm + 1, json),
            random: Random::Stream(seed.wrapping_mul(1000).wrapping_add(vm as u64)),
            counted: 0,
            waiting: 0,
        }
    }

    fn drive(mut self) {
        let race = self.race;
        let _member = race.meeting.member();
        self.saturate();
        for round in 0.. {
            assert!(round < MOST_ROUNDS, "L3: {:?}", self.sim.states());
            for _ in 0..EVENTS {
                self.event(round < BUSY_ROUNDS);
            }
            self.deliver_all();
            self.look();
            race.meeting.meet();
            race.clock
                .advance(ROUND_MS * 1_000_000 / race.workers as u64);
            race.meeting.meet();
            self.sim.now = race.clock.now();
            self.sim.tick(0);
            self.account();
            race.meeting.meet();
            if race.open.load(Ordering::SeqCst) == 0 && round >= BUSY_ROUNDS {
                break;
            }
            race.meeting.meet();
        }
        self.sim.run(ms(1000));
        race.meeting.meet();
        // Each shows the gauges once more, now that all others are done too.
        self.sim.run(ms(1000));
        self.check_order();
    }

    /// More calls than slots on every thread before anything is answered.
    fn saturate(&mut self) {
        for _ in 0..5 {
            self.arrive();
        }
        self.deliver_all();
        assert_eq!(self.race.provider.running(), self.race.cap);
        self.look();
        self.race.meeting.meet();
    }

    fn draw(&mut self, below: usize) -> usize {
        (self.random.draw() % below as u64) as usize
    }

    fn event(&mut self, arrivals: bool) {
        self.sim.now = self.race.clock.advance(STEP_NANOS);
        self.sim.settle();
        self.account();
        match self.draw(100) {
            0..35 if arrivals => self.arrive(),
            0..60 => self.answer(Reply::ok()),
            60..75 if arrivals => self.answer(Reply::rate()),
            75..80 if arrivals => self.answer(Reply::new(503).header("retry-after-ms", "70")),
            80..88 => self.begin_stream(),
            88..93 => self.abort(),
            _ => self.sim.tick(0),
        }
        self.account();
    }

    fn arrive(&mut self) {
        self.sim.arrive(Ask::on(0));
        self.account();
    }

    /// One of this thread's calls in such a state.
    fn pick(&mut self, fits: impl Fn(&State) -> bool) -> Option<usize> {
        let all: Vec<_> = (0..self.sim.calls.len())
            .filter(|id| !self.sim.calls[*id].is_over && fits(&self.sim.state(*id)))
            .collect();
        (!all.is_empty()).then(|| all[self.draw(all.len())])
    }

    fn answer(&mut self, reply: Reply) {
        let runs = |state: &State| matches!(state, State::Running(_) | State::Answered(_));
        let Some(id) = self.pick(runs) else {
            return;
        };
        self.let_go_of(id);
        match self.sim.state(id) {
            State::Running(_) => self.sim.answer(id, reply),
            // It streams.
            _ => self.sim.part(id, b"end", true),
        }
    }

    fn begin_stream(&mut self) {
        if let Some(id) = self.pick(|state| matches!(state, State::Running(_))) {
            self.sim.head(id, Reply::new(200));
        }
    }

    fn abort(&mut self) {
        if let Some(id) = self.pick(|_| true) {
            self.let_go_of(id);
            self.sim.abort(id);
        }
    }

    /// The provider is done with a call, before Weir hears of it.
    fn let_go_of(&mut self, id: usize) {
        let slots = self.sim.slots_of(id);
        self.counted -= slots;
        self.race.provider.finish(slots);
    }

    /// Tells the others what has begun and ended here.
    fn account(&mut self) {
        let slots = self.sim.in_flight();
        assert!(slots >= self.counted, "a slot went without a word");
        self.race.provider.begin(slots - self.counted);
        self.counted = slots;
        assert!(self.race.provider.peak() <= self.race.cap, "L1");
        let waiting = self.sim.waiting();
        let before = std::mem::replace(&mut self.waiting, waiting);
        self.race.waiting.fetch_add(waiting, Ordering::SeqCst);
        self.race.waiting.fetch_sub(before, Ordering::SeqCst);
    }

    /// Delivers wake-ups on all threads until there are none.
    fn deliver_all(&mut self) {
        loop {
            self.sim.now = self.race.clock.advance(STEP_NANOS);
            self.sim.settle();
            self.account();
            self.race.meeting.meet();
            let is_quiet = self.race.memory.woken(|_| true).is_none();
            self.race.meeting.meet();
            if is_quiet {
                return;
            }
        }
    }

    /// The laws while all threads stand still.
    fn look(&mut self) {
        let running = self.race.provider.running();
        let sums = self.sim.sums();
        assert_eq!((sums.running, sums.granted), (running, 0), "{sums:?}");
        assert!(running <= self.race.cap, "L1");
        let is_full = running == self.race.cap;
        let waiting = self.race.waiting.load(Ordering::SeqCst);
        assert!(
            waiting == 0 || is_full || self.sim.is_kept(),
            "L3: {waiting} wait for nothing"
        );
        self.sim.check_no_idle_slot();
        let over = self.sim.calls.iter().filter(|call| call.is_over).count();
        let open = self.sim.calls.len() - over;
        self.race.meeting.meet();
        // Each thread's part, anew.
        self.race.open.store(0, Ordering::SeqCst);
        self.race.meeting.meet();
        self.race.open.fetch_add(open, Ordering::SeqCst);
    }

    /// L2: on one worker, who came first started first.
    fn check_order(&self) {
        assert!(self.sim.started.is_sorted(), "L2: {:?}", self.sim.started);
    }
}
