//! What a seed makes happen.

use std::rc::Rc;
use std::time::Duration;

use weir::core::config::Config;

use crate::sim::clients::{Clients, Habits};
use crate::sim::draw::{Draw, For};
use crate::sim::load::Load;
use crate::sim::model::{Concurrency, FixedWindow, TokenBucket};
use crate::sim::models::Model;
use crate::sim::provider::Limit;
use crate::sim::service::{Service, Spread};
use crate::sim::weir::{Setup, Weir};
use crate::sim::words::Tells;
use crate::sim::world::World;

/// What may go wrong around Weir.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// Wake-ups are lost, now and then or always.
    pub(crate) lost_wakes: bool,
    /// Writes are beaten.
    pub(crate) conflicts: bool,
    /// VMs die at any host call.
    pub(crate) crashes: bool,
}

impl Faults {
    pub(crate) fn are_none(&self) -> bool {
        *self == Faults::default()
    }
}

/// One run, as its seed draws it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) envoys: usize,
    pub(crate) workers: usize,
    pub(crate) clusters: u16,
    pub(crate) cap: u32,
    /// Another cap, which comes into force in the middle of the load.
    pub(crate) then_cap: Option<u32>,
    pub(crate) max_waiting: u32,
    pub(crate) max_wait_ms: u64,
    pub(crate) base_ms: u64,
    /// Starts a second and burst.
    pub(crate) rate: Option<(u32, u32)>,
    pub(crate) calls_per_second: f64,
    pub(crate) seconds: f64,
    pub(crate) service: Service,
    pub(crate) limits: Vec<Limit>,
    pub(crate) tells: Tells,
    pub(crate) habits: Habits,
    pub(crate) faults: Faults,
}

impl Scenario {
    /// Anything but faults: caps above and below what is needed, queues too short, providers that
    /// refuse, clients that go away.
    pub(crate) fn new(seed: u64) -> Scenario {
        let draw = &mut Draw::new(seed, For::Test);
        let workers = pick(draw, &[1, 2, 2, 3, 4, 4, 8, 16, 64]);
        let clusters = pick(draw, &[1, 1, 1, 2, 3]);
        let cap = pick(draw, &[1, 2, 3, 7, 20, 50]);
        let mean_ms = pick(draw, &[5, 20, 60]);
        // From half of what the cap lets through to four times as much.
        let load = 0.5 + 3.5 * draw.unit();
        let per_second = f64::from(cap) / (mean_ms as f64 / 1000.0) * f64::from(clusters) * load;
        let calls = 60.0 + 500.0 * draw.unit();
        let seconds = (calls / per_second).clamp(0.05, 3.0);
        Scenario {
            seed,
            envoys: pick(draw, &[1, 1, 1, 2]),
            workers,
            clusters,
            cap,
            then_cap: pick(draw, &[None, None, None, Some(1), Some(5), Some(30)]),
            max_waiting: pick(draw, &[0, 3, 50, 10_000, 10_000]),
            max_wait_ms: pick(draw, &[40, 400, 5000, 60_000]),
            base_ms: pick(draw, &[10, 40, 200]),
            rate: None,
            calls_per_second: per_second,
            seconds,
            service: Service {
                spread: pick(
                    draw,
                    &[Spread::Fixed, Spread::Exponential, Spread::LogNormal(1.0)],
                ),
                mean: Duration::from_millis(mean_ms),
                max: Duration::from_secs(2),
                first_byte: 0.3,
            },
            limits: match draw.below(6) {
                0 => vec![Limit::Concurrency(Concurrency(1.max(cap as usize / 2)))],
                1 => vec![Limit::Requests(TokenBucket::new(
                    per_second / 2.0 + 1.0,
                    5.0,
                ))],
                2 => vec![Limit::Window(FixedWindow::new(
                    20,
                    Duration::from_millis(500),
                ))],
                _ => Vec::new(),
            },
            tells: Tells {
                millis: draw.is_true(0.5),
                ..Tells::default()
            },
            habits: Habits {
                patience: Duration::from_millis(pick(draw, &[100, 1000, 30_000])),
                aborts: pick(draw, &[0.0, 0.0, 0.3]),
                ..Habits::default()
            },
            faults: Faults::default(),
        }
    }

    /// Wake-ups that are lost and writes that are beaten, one of them or both.
    pub(crate) fn rough(seed: u64) -> Scenario {
        let draw = &mut Draw::new(seed, For::Faults);
        let (lost_wakes, conflicts) = pick(draw, &[(true, false), (false, true), (true, true)]);
        Scenario {
            faults: Faults {
                lost_wakes,
                conflicts,
                crashes: false,
            },
            ..Scenario::new(seed)
        }
    }

    /// VMs die.
    pub(crate) fn deadly(seed: u64) -> Scenario {
        let faults = Faults {
            crashes: true,
            ..Faults::default()
        };
        Scenario {
            faults,
            then_cap: None,
            // What hangs under a dead VM hangs no longer than this.
            habits: Habits {
                patience: Duration::from_secs(4),
                aborts: 0.0,
                ..Habits::default()
            },
            ..Scenario::new(seed)
        }
    }

    /// A rate is what limits, and nothing takes a start back.
    pub(crate) fn paced(seed: u64) -> Scenario {
        let draw = &mut Draw::new(seed, For::Faults);
        let all = Scenario::new(seed);
        let per_second = (all.calls_per_second / 2.0).clamp(1.0, 1000.0);
        Scenario {
            rate: Some((per_second as u32, pick(draw, &[1, 2, 10]))),
            then_cap: None,
            max_waiting: 10_000,
            max_wait_ms: 60_000,
            limits: Vec::new(),
            habits: Habits {
                patience: Duration::from_secs(60),
                aborts: 0.0,
                ..Habits::default()
            },
            ..all
        }
    }

    /// More workers than there are worker slots, or just as many.
    pub(crate) fn many_workers(seed: u64, workers: usize) -> Scenario {
        Scenario {
            envoys: 1,
            workers,
            clusters: 1,
            cap: 50,
            then_cap: None,
            max_waiting: 10_000,
            max_wait_ms: 60_000,
            calls_per_second: 2000.0,
            seconds: 1.0,
            service: Service {
                mean: Duration::from_millis(60),
                ..Service::default()
            },
            limits: Vec::new(),
            habits: Habits::default(),
            ..Scenario::new(seed)
        }
    }

    /// 10,000 calls come within a tenth of a second.
    pub(crate) fn crowd(seed: u64) -> Scenario {
        Scenario {
            envoys: 1,
            workers: 64,
            clusters: 1,
            cap: 200,
            then_cap: None,
            max_waiting: 20_000,
            max_wait_ms: 60_000,
            calls_per_second: 110_000.0,
            seconds: 0.1,
            service: Service {
                mean: Duration::from_millis(60),
                ..Service::default()
            },
            limits: Vec::new(),
            habits: Habits {
                patience: Duration::from_secs(60),
                aborts: 0.0,
                ..Habits::default()
            },
            ..Scenario::new(seed)
        }
    }

    pub(crate) fn config(&self, cap: u32) -> Rc<Config> {
        let rate = match self.rate {
            Some((per_second, burst)) => {
                format!(r#""rate":{{"requests_per_second":{per_second},"burst":{burst}}},"#)
            }
            None => String::new(),
        };
        let (max_waiting, max_wait) = (self.max_waiting, self.max_wait_ms);
        let (base, most) = (self.base_ms, self.base_ms * 4);
        let json = format!(
            r#"{{"policies":[{{"name":"p",{rate}"max_concurrent_calls":{cap},"ramp":{{"mode":"off"}},
            "queue":{{"max_waiting":{max_waiting},"max_wait_ms":{max_wait}}},
            "retry":{{"retry_base_delay_ms":{base},"retry_cap_delay_ms":{most},
            "burst_retry_base_delay_ms":{base},"burst_retry_cap_delay_ms":{most}}}}}]}}"#
        );
        Rc::new(Config::parse(json.as_bytes()).expect("a valid configuration"))
    }

    pub(crate) fn world(&self) -> World<Weir> {
        let weir = Weir::new(&Setup {
            envoys: self.envoys,
            workers: self.workers,
            config: self.config(self.cap),
            clusters: self.clusters,
            seed: self.seed,
        });
        for envoy in &weir.envoys {
            envoy.memory.state().is_tracing = true;
        }
        let model = Model {
            name: String::new(),
            limits: self.limits.clone(),
            cost: None,
            tells: self.tells,
            refusal: Duration::from_millis(5),
            service: self.service,
        };
        let rate = self.calls_per_second;
        let load = Load::of(&[(rate, rate, self.seconds)]);
        let clients = Clients::new(&load, &model, self.habits, self.seed);
        let mut world = World::new(weir, clients, &model);
        world.watch();
        world
    }
}

pub(crate) fn pick<T: Copy>(draw: &mut Draw, from: &[T]) -> T {
    from[draw.below(from.len() as u64) as usize]
}
