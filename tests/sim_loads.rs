//! Loads of the simulator: agents that wait for their answers, a day, calls from a file.
#![allow(clippy::expect_used, reason = "a failed helper is a failed test")]

#[path = "support/sim/mod.rs"]
mod sim;

use std::rc::Rc;
use std::time::Duration;

use weir::core::config::Config;
use weir::core::time::Time;

use sim::cell::{PeerName, Scene, Surroundings};
use sim::clients::{Clients, Habits};
use sim::crowd::{Crowd, jain, max_min};
use sim::load::Load;
use sim::models::{Model, parse};
use sim::trace;
use sim::weir::{Setup, Weir};
use sim::world::World;

fn model(json: &str) -> Model {
    let models = parse("m.json", &format!("[{json}]"));
    models.expect("a model").pop().expect("one")
}

fn surroundings() -> Surroundings {
    Surroundings {
        config: Rc::new(Config::parse(br#"{"policies":[{"name":"p"}]}"#).expect("a configuration")),
        envoys: 1,
        workers: 2,
        habits: Habits::default(),
        crowd: Crowd::default(),
        timeline: None,
    }
}

const TWENTY: &str = r#"{"name":"m","kind":"token_bucket","per_second":20,"burst":5}"#;
const FEW: &str = r#"{"name":"m","kind":"concurrency","limit":3,
    "service":{"spread":"fixed","mean_ms":500}}"#;
const GROWING: &str =
    r#"{"name":"m","kind":"recent_rate","floor_per_s":4,"growth":1.25,"past_ms":4000}"#;

#[test]
fn agents_make_every_call_of_a_task_until_one_fails_for_good() {
    let surroundings = surroundings();
    for (name, tries) in [("agents:40:5", 1), ("agents:40:5:4", 4)] {
        let load = Load::named(name).expect("a load");
        for model in [TWENTY, FEW, GROWING].map(model) {
            for peer in [PeerName::Weir, PeerName::None] {
                let scene = Scene {
                    model: &model,
                    load: &load,
                    seed: 6,
                    surroundings: &surroundings,
                };
                let tally = scene.run(peer, None).expect("nothing is written");
                let say = format!("{name} {:?} {peer:?} {tally:?}", model.limits);
                assert_eq!(tally.tasks_done + tally.tasks_lost, 40, "{say}");
                let ended = tally.served() + tally.lost + tally.failed + tally.left;
                assert_eq!(ended, tally.offered, "{say}");
                // Of a lost task's calls the last failed as often as it was tried.
                let failed = tally.failed + tally.left + tally.lost;
                assert!(failed >= tally.tasks_lost * tries, "{say}");
                assert!(tally.served() >= tally.tasks_done * 5, "{say}");
                assert!(tally.offered <= 40 * 5 * tries, "{say}");
                if tries == 1 {
                    assert_eq!(failed, tally.tasks_lost, "{say}");
                }
                if tally.tasks_lost == 0 {
                    assert_eq!(tally.served(), 200, "{say}");
                }
            }
        }
    }
}

#[test]
fn no_peer_gets_more_done_than_the_clairvoyant_queue_does() {
    let surroundings = surroundings();
    for name in ["agents:60:4", "agents:30:5:3", "diurnal:50:40"] {
        let load = Load::named(name).expect("a load");
        for model in [TWENTY, FEW, GROWING].map(model) {
            for seed in 1..=3 {
                let scene = Scene {
                    model: &model,
                    load: &load,
                    seed,
                    surroundings: &surroundings,
                };
                let possible = scene.clairvoyant();
                for peer in [PeerName::Weir, PeerName::None] {
                    let tally = scene.run(peer, None).expect("nothing is written");
                    let line = scene.line(peer, &tally, &possible);
                    assert!(line.efficiency <= 1.0, "{line:?}");
                    assert_eq!(line, scene.line(peer, &tally, &scene.clairvoyant()));
                }
            }
        }
    }
}

/// Three at once, half a second each, and thinking in between: 30 tasks of 4 calls take 20 s at
/// least.
#[test]
fn the_clairvoyant_queue_keeps_agents_going() {
    let (surroundings, few) = (surroundings(), model(FEW));
    let load = Load::named("agents:30:4").expect("a load");
    let scene = Scene {
        model: &few,
        load: &load,
        seed: 2,
        surroundings: &surroundings,
    };
    let possible = scene.clairvoyant();
    assert_eq!((possible.starts.len(), possible.tasks_done), (120, 30));
    let last = possible.starts.last().expect("starts").since(Time(0));
    assert!((19_500..24_000).contains(&last.as_millis()), "{last:?}");
    assert!(possible.starts.is_sorted());
}

#[test]
fn the_same_agents_ask_the_same_in_every_run() {
    let surroundings = surroundings();
    let load = Load::named("agents:20:3:2").expect("a load");
    let model = model(GROWING);
    let line = |seed| {
        let scene = Scene {
            model: &model,
            load: &load,
            seed,
            surroundings: &surroundings,
        };
        let tally = scene.run(PeerName::Weir, None).expect("nothing is written");
        scene.line(PeerName::Weir, &tally, &scene.clairvoyant())
    };
    assert_eq!(line(1), line(1));
    assert_ne!(line(1), line(2));
}

#[test]
fn jains_index_and_max_min_parts_are_the_published_ones() {
    // One of four has all; two of four share it; all alike. Jain's own example: 1, 2, ... 5.
    assert_eq!(jain([8.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
    assert_eq!(jain([8.0, 8.0, 0.0, 0.0].into_iter()), 0.5);
    assert_eq!(jain([3.0; 7].into_iter()), 1.0);
    assert!((jain([1.0, 2.0, 3.0, 4.0, 5.0].into_iter()) - 225.0 / 275.0).abs() < 1e-12);
    assert_eq!(jain(std::iter::empty()), 1.0);
    // Keshav's example: 2, 2.6, 4 and 5 ask for 10 together.
    let parts = max_min(&[2.0, 2.6, 4.0, 5.0], &[1.0; 4], 10.0);
    let expected = [2.0, 2.6, 2.7, 2.7];
    let is_near = |(part, expected): (&f64, f64)| (part - expected).abs() < 1e-9;
    assert!(parts.iter().zip(expected).all(is_near), "{parts:?}");
    // By weight, and no more than is asked for.
    assert_eq!(max_min(&[9.0, 9.0], &[1.0, 2.0], 9.0), [3.0, 6.0]);
    assert_eq!(max_min(&[9.0, 4.0], &[1.0, 2.0], 9.0), [5.0, 4.0]);
}

/// L2: tenants take turns, however many calls each sends.
#[test]
fn tenants_are_served_alike_where_weir_is_told_who_they_are() {
    let model = model(TWENTY);
    let load = Load::named("constant:60:20").expect("a load");
    let parts = |queue: &str| {
        let json = format!(
            r#"{{"policies":[{{"name":"p","rate":{{"requests_per_second":20,"burst":5}},
                "queue":{{"max_waiting":100000{queue}}}}}]}}"#
        );
        let surroundings = Surroundings {
            config: Rc::new(Config::parse(json.as_bytes()).expect("a configuration")),
            habits: Habits {
                patience: Duration::from_secs(10),
                ..Habits::default()
            },
            crowd: Crowd {
                tenants: vec![8.0, 1.0, 1.0],
                ..Crowd::default()
            },
            ..surroundings()
        };
        let scene = Scene {
            model: &model,
            load: &load,
            seed: 3,
            surroundings: &surroundings,
        };
        let tally = scene.run(PeerName::Weir, None).expect("nothing is written");
        let line = scene.line(PeerName::Weir, &tally, &scene.clairvoyant());
        let parts = line.parts.expect("there are tenants");
        let sum: f64 = parts.tenants.iter().map(|part| part.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{parts:?}");
        let served: u64 = parts.tenants.iter().map(|part| part.served).sum();
        let offered: u64 = parts.tenants.iter().map(|part| part.offered).sum();
        assert_eq!((served, offered), (line.served, line.offered));
        parts
    };
    let (plain, fair) = (parts(""), parts(r#","fair_by":{"header":"x-tenant"}"#));
    // Small tenants ask for 6 a second each, less than their third of 20.
    assert!(plain.tenants[0].share > 0.75, "{plain:?}");
    assert!(plain.fairness < 0.85, "{plain:?}");
    assert!(fair.fairness > 0.98, "{fair:?}");
}

/// L2: the urgent go first.
#[test]
fn classes_of_priority_are_told_apart() {
    let model = model(TWENTY);
    let load = Load::named("constant:30:20").expect("a load");
    let json = br#"{"policies":[{"name":"p","rate":{"requests_per_second":20,"burst":5},
        "queue":{"priority_header":"x-priority"}}]}"#;
    let surroundings = Surroundings {
        config: Rc::new(Config::parse(json).expect("a configuration")),
        crowd: Crowd {
            priorities: vec![1.0, 2.0, 1.0],
            ..Crowd::default()
        },
        ..surroundings()
    };
    let scene = Scene {
        model: &model,
        load: &load,
        seed: 3,
        surroundings: &surroundings,
    };
    let tally = scene.run(PeerName::Weir, None).expect("nothing is written");
    let line = scene.line(PeerName::Weir, &tally, &scene.clairvoyant());
    let parts = line.parts.expect("there are classes");
    let names: Vec<_> = parts
        .priorities
        .iter()
        .map(|part| part.name.as_str())
        .collect();
    assert_eq!(names, ["high", "normal", "low"]);
    let waits: Vec<_> = parts
        .priorities
        .iter()
        .map(|part| part.wait_p95_ms)
        .collect();
    assert!(waits.is_sorted() && waits[0] < Some(500.0), "{waits:?}");
}

/// Where limits are known, ticks that are left out would have found nothing.
#[test]
fn an_envoy_that_is_ticked_only_when_something_is_due_does_the_same() {
    let load = Load::named("constant:30:10").expect("a load");
    let json = br#"{"share":{"of":3},"policies":[{"name":"p","rate":{"requests_per_second":18,"burst":3}}]}"#;
    let setup = Setup {
        envoys: 3,
        workers: 1,
        config: Rc::new(Config::parse(json).expect("a configuration")),
        clusters: 1,
        seed: 4,
    };
    for model in [TWENTY].map(model) {
        let [quiet, ticked] = [Weir::new(&setup).sparing(), Weir::new(&setup)].map(|weir| {
            let clients = Clients::new(&load, &model, Habits::default(), 4);
            let mut world = World::new(weir, clients, &model);
            world.run();
            world.tally
        });
        assert_eq!(quiet.served(), ticked.served());
        assert_eq!(quiet.offered, ticked.offered);
        let p95 = [&quiet, &ticked].map(|tally| tally.waits.percentile_ms(95).expect("waits"));
        assert!((p95[0] / p95[1] - 1.0).abs() < 0.02, "{p95:?}");
    }
}

#[test]
fn a_day_has_a_night_and_a_noon() {
    let day = Load::named("diurnal:100:240").expect("a load");
    let hours = |from: u64, to: u64| {
        let within = |at: &Time| (from * 10..to * 10).contains(&(at.0 / 1_000_000_000));
        let calls = (0..20).map(|seed| day.arrivals(seed).map(|a| a.at).filter(within).count());
        calls.sum::<usize>() as f64 / 20.0
    };
    // The mean is half of the peak. An hour is 10 s; cos(pi / 12) is 0.966.
    assert!((hours(0, 24) - 12_000.0).abs() < 100.0, "{}", hours(0, 24));
    assert!((hours(11, 13) - 1_977.0).abs() < 45.0, "{}", hours(11, 13));
    assert!(hours(0, 1) < 15.0, "{}", hours(0, 1));
}

#[test]
fn a_trace_is_played_as_it_is_written() {
    let trace = trace::parse("t.csv", "# a comment\n0.5\n0.5,300\n\n2.25, 20\n").expect("a trace");
    let load = Load::traced("trace:t.csv", trace);
    let calls: Vec<_> = load.arrivals(7).collect();
    let ms = |ms| Time(0) + Duration::from_millis(ms);
    let expected = [
        (ms(500), None),
        (ms(500), Some(300.0)),
        (ms(2250), Some(20.0)),
    ];
    let found: Vec<_> = calls.iter().map(|call| (call.at, call.tokens)).collect();
    assert_eq!(found, expected);
    for (text, expected) in [
        ("1\nx\n", "t.csv:2: x is not SECONDS or SECONDS,TOKENS"),
        ("-1\n", "t.csv:1: -1 is not SECONDS"),
        ("1,\n", "t.csv:1: 1, is not SECONDS"),
        ("2\n1\n", "t.csv:2: 1 is before the line above"),
    ] {
        let error = trace::parse("t.csv", text).expect_err("wrong").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// A provider that counts tokens counts those of the file.
#[test]
fn a_trace_says_what_calls_cost() {
    let surroundings = surroundings();
    // 1,000 tokens at first and 1,000 a minute.
    let tpm = model(r#"{"name":"m","kind":"tpm","tokens_per_minute":1000,"mean_tokens":1}"#);
    let possible = |text: &str| {
        let trace = trace::parse("t.csv", text).expect("a trace");
        let load = Load::traced("t", trace);
        let scene = Scene {
            model: &tpm,
            load: &load,
            seed: 1,
            surroundings: &surroundings,
        };
        scene.clairvoyant().starts
    };
    let starts = possible("0,600\n0,600\n0,600\n");
    // 200 are missing, for 12 s; then 600, which come after the patience of 30 s.
    assert_eq!(starts.len(), 2);
    let second = starts[1].since(Time(0)).as_secs_f64();
    assert!((second - 12.0).abs() < 1e-3, "{second}");
}
