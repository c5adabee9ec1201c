//! The simulator itself: its models, its yardstick, its files, and that a seed says everything.
#![allow(clippy::expect_used, reason = "a failed helper is a failed test")]

#[path = "support/sim/mod.rs"]
mod sim;

use std::rc::Rc;
use std::time::Duration;

use weir::core::config::Config;
use weir::core::time::Time;

use sim::cell::{PeerName, Scene, Surroundings};
use sim::clients::Habits;
use sim::crowd::Crowd;
use sim::load::Load;
use sim::models::{Model, parse};
use sim::options;
use sim::provider::Provider;
use sim::timeline::Bucket;

const FILE: &str = include_str!("../examples/sim/models.json");

fn shipped() -> Vec<Model> {
    parse("models.json", FILE).expect("the shipped file is right")
}

fn named(name: &str) -> Model {
    let mut models = shipped().into_iter();
    models.find(|model| model.name == name).expect("a model")
}

fn surroundings(json: &str) -> Surroundings {
    Surroundings {
        config: Rc::new(Config::parse(json.as_bytes()).expect("a configuration")),
        envoys: 2,
        workers: 3,
        habits: Habits::default(),
        crowd: Crowd::default(),
        timeline: None,
    }
}

fn lines(scene: &Scene<'_>) -> Vec<String> {
    let possible = scene.clairvoyant();
    [PeerName::Weir, PeerName::None]
        .into_iter()
        .map(|peer| {
            let tally = scene.run(peer, None).expect("nothing is written");
            serde_json::to_string(&scene.line(peer, &tally, &possible)).expect("a line")
        })
        .collect()
}

#[test]
fn the_next_acceptable_moment_is_the_first() {
    for model in shipped() {
        let mut provider = Provider::new(model.limits.clone());
        let mut now = Duration::from_millis(3);
        for _ in 0..300 {
            let cost = 700.0;
            let Some(next) = provider.next_acceptable(now, cost) else {
                provider.end();
                continue;
            };
            let name = &model.name;
            assert!(next >= now, "{name}");
            assert_eq!(provider.would_accept(next, cost), Ok(()), "{name}");
            // Nothing before it, as far as a look every so often tells.
            let step = (next - now) / 50;
            for before in (0..50).map(|n| now + step * n).filter(|at| *at < next) {
                assert!(provider.would_accept(before, cost).is_err(), "{name}");
            }
            provider.start(next, cost).expect("it is acceptable");
            now = next;
        }
    }
}

#[test]
fn asking_a_provider_changes_nothing() {
    for model in shipped() {
        let mut asked = Provider::new(model.limits.clone());
        let mut left_alone = asked.clone();
        for n in 0..2000 {
            let now = Duration::from_millis(7 * n);
            for ahead in [0, 900, 70_000] {
                let _ = asked.would_accept(now + Duration::from_millis(ahead), 50.0);
                let _ = asked.next_acceptable(now + Duration::from_millis(ahead), 50.0);
            }
            let same = asked.start(now, 50.0) == left_alone.start(now, 50.0);
            assert!(same, "{} at {now:?}", model.name);
            if n % 3 == 0 {
                asked.end();
                left_alone.end();
            }
        }
    }
}

#[test]
fn the_clairvoyant_queue_is_never_refused_and_wastes_nothing() {
    let surroundings = surroundings("{}");
    let peak = Load::named("peak").expect("a load");
    let scene = |model| Scene {
        model,
        load: &peak,
        seed: 3,
        surroundings: &surroundings,
    };
    // 40 a second for 24 s and then for the patience of the last.
    let window = named("window-1s");
    let waits = scene(&window).clairvoyant().waits;
    let offered = peak.arrivals(3).count();
    assert_eq!(waits.len(), offered, "all fit within patience");
    let p95 = waits.percentile_ms(95).expect("waits");
    assert!((8_000.0..12_000.0).contains(&p95), "{p95}");
    // 1,000 within the first minute, and the second comes too late for those who are left.
    let minute = named("window-60s");
    assert_eq!(scene(&minute).clairvoyant().waits.len(), 1000);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let surroundings = surroundings(r#"{"policies":[{"name":"p","max_concurrent_calls":9}]}"#);
    let load = Load::named("constant:40:6").expect("a load");
    for model in [named("mix"), named("bucket")] {
        let scene = |seed| Scene {
            model: &model,
            load: &load,
            seed,
            surroundings: &surroundings,
        };
        assert_eq!(lines(&scene(1)), lines(&scene(1)));
        assert_ne!(lines(&scene(1)), lines(&scene(2)));
    }
}

#[test]
fn a_timeline_adds_up_and_no_bucket_takes_more_than_its_envelope() {
    let mut surroundings = surroundings(r#"{"policies":[{"name":"p"}]}"#);
    surroundings.timeline = Some(Duration::from_millis(500));
    let load = Load::named("saw").expect("a load");
    for model in ["recent-rate", "percent", "window-10s", "tpm"].map(named) {
        for peer in [PeerName::Weir, PeerName::None] {
            let scene = Scene {
                model: &model,
                load: &load,
                seed: 4,
                surroundings: &surroundings,
            };
            let tally = scene.run(peer, None).expect("nothing is written");
            let line = scene.line(peer, &tally, &scene.clairvoyant());
            let timeline = line.timeline.expect("it was asked for");
            let sum = |of: fn(&Bucket) -> u64| timeline.buckets.iter().map(of).sum::<u64>();
            let name = &model.name;
            assert_eq!(sum(|b| b.offered), line.offered, "{name}");
            assert_eq!(sum(|b| b.attempts), line.attempts, "{name}");
            assert_eq!(sum(|b| b.refused), line.refused, "{name}");
            assert_eq!(sum(|b| b.possible), line.possible, "{name}");
            assert_eq!(sum(|b| b.ended), line.offered, "{name}");
            assert_eq!(sum(|b| b.accepted + b.refused), line.attempts, "{name}");
            assert_eq!(
                timeline.buckets.last().map(|b| b.waiting),
                Some(0),
                "{name}"
            );
            // Calls differ in cost, the envelope's do not.
            for bucket in timeline.buckets.iter().filter(|_| model.cost.is_none()) {
                let envelope = bucket.envelope.unwrap_or(u64::MAX);
                assert!(bucket.accepted <= envelope, "{name} {bucket:?}");
            }
        }
    }
    // An empty bucket of 30, and 15 more in half a second.
    let bucket = named("bucket");
    let scene = Scene {
        model: &bucket,
        load: &load,
        seed: 4,
        surroundings: &surroundings,
    };
    let tally = scene.run(PeerName::None, None).expect("nothing is written");
    let first = tally.timeline.map(|timeline| timeline.buckets[0].envelope);
    assert_eq!(first, Some(Some(44)));
}

#[test]
fn every_call_is_accounted_for() {
    let mut surroundings = surroundings(r#"{"policies":[{"name":"p","max_concurrent_calls":9}]}"#);
    surroundings.habits.aborts = 0.2;
    let load = Load::named("saw").expect("a load");
    for model in shipped() {
        for peer in [PeerName::Weir, PeerName::None] {
            let scene = Scene {
                model: &model,
                load: &load,
                seed: 5,
                surroundings: &surroundings,
            };
            let tally = scene.run(peer, None).expect("nothing is written");
            let ended = tally.served() + tally.lost + tally.failed + tally.left;
            assert_eq!(ended, tally.offered, "{} {peer:?}", model.name);
            let accepted = tally.attempts - tally.refused;
            assert_eq!(accepted, tally.served() + tally.lost, "{}", model.name);
            assert!(tally.refused_after <= tally.refused);
            assert!(tally.attempts_after <= tally.attempts);
        }
    }
}

/// L1, L7: Envoys that know nothing of each other stay within the account's limits together.
#[test]
fn envoys_that_share_an_account_keep_its_limits_together() {
    let limits = r#""policies":[{"name":"p","max_concurrent_calls":20,
        "rate":{"requests_per_second":30,"burst":8}}]"#;
    let models = r#"[{"name":"cap","kind":"concurrency","limit":20},
        {"name":"rate","kind":"token_bucket","per_second":30,"burst":8}]"#;
    let load = Load::named("constant:60:8").expect("a load");
    for model in parse("m.json", models).expect("models") {
        let refused = |share: &str| {
            let mut surroundings = surroundings(&format!("{{{share}{limits}}}"));
            surroundings.envoys = 4;
            let scene = Scene {
                model: &model,
                load: &load,
                seed: 8,
                surroundings: &surroundings,
            };
            let tally = scene.run(PeerName::Weir, None).expect("nothing is written");
            assert!(tally.served() > 200, "{} {}", model.name, tally.served());
            tally.refused
        };
        assert_eq!(refused(r#""share":{"of":4},"#), 0, "{}", model.name);
        assert!(refused("") > 0, "{}", model.name);
    }
}

/// L9: a provider that says what is left is refused less often than one that does not, and serves as
/// many.
#[test]
fn what_a_provider_says_is_left_saves_refusals() {
    let load = Load::named("constant:14:20").expect("a load");
    let mut surroundings = surroundings(r#"{"policies":[{"name":"p"}]}"#);
    surroundings.envoys = 1;
    let total = |tells: &str| {
        let json = format!(
            r#"[{{"name":"m","kind":"fixed_window","limit":100,"window_ms":10000,
                "tells":["retry_after_ms"{tells}]}}]"#
        );
        let models = parse("m.json", &json).expect("models");
        let seeds = (1..=5).map(|seed| {
            let scene = Scene {
                model: &models[0],
                load: &load,
                seed,
                surroundings: &surroundings,
            };
            let tally = scene.run(PeerName::Weir, None).expect("nothing is written");
            (tally.refused, tally.served())
        });
        seeds.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let (silent, served_silent) = total("");
    let (told, served_told) = total(r#","remaining""#);
    println!("refused {silent} of silent, {told} of told; served {served_silent}, {served_told}");
    assert!(
        told * 4 <= silent,
        "{told} refusals, {silent} without a word"
    );
    assert!(
        served_told * 100 >= served_silent * 97,
        "{served_told}, {served_silent}"
    );
}

#[test]
fn loads_have_the_calls_that_their_shapes_promise() {
    let calls = |name: &str| {
        let load = Load::named(name).expect("a load");
        let all: Vec<Time> = (0..50)
            .flat_map(|seed| load.arrivals(seed))
            .map(|a| a.at)
            .collect();
        all.len() as f64 / 50.0
    };
    for (name, expected) in [
        ("peak", 1380.0),
        ("saw", 720.0),
        ("steps", 1360.0),
        ("constant:7.5:20", 150.0),
    ] {
        let found = calls(name);
        // Four standard errors of the mean of 50 Poisson numbers.
        let spread = 4.0 * (expected / 50.0_f64).sqrt();
        assert!((found - expected).abs() < spread, "{name}: {found}");
    }
    let saw = Load::named("saw").expect("a load");
    let in_gap = |at: &Time| (8..20).contains(&(at.0 / 1_000_000_000 % 20));
    assert_eq!(saw.arrivals(1).map(|a| a.at).filter(in_gap).count(), 0);
    assert!(saw.arrivals(1).map(|a| a.at).is_sorted());
}

#[test]
fn what_is_wrong_in_a_models_file_is_named() {
    let error = |json: &str| parse("m.json", json).expect_err("wrong").to_string();
    for (json, expected) in [
        ("{}", "m.json: the file is not a list of models"),
        (
            r#"[{"name":"a","kind":"slope"}]"#,
            r#"m.json[0].kind: "slope" is not one of: recent_rate, step,"#,
        ),
        (
            r#"[{"name":"a","kind":"recent_rate","floor_per_s":0.5,"growth":1,"past_ms":1000}]"#,
            "m.json[0].floor_per_s: 0.5 is not a number of at least 1",
        ),
        (
            r#"[{"name":"a","kind":"concurrency"}]"#,
            "m.json[0].limit: a missing field is not a whole number from 1",
        ),
        (
            r#"[{"name":"a","kind":"concurrency","limit":3,"burst":1}]"#,
            r#"m.json[0]: field "burst" is not one of: kind, limit, name,"#,
        ),
        (
            r#"[{"name":"a","kind":"mix","limits":[{"kind":"step","floor":1,"step":-1}]}]"#,
            "m.json[0].limits[0].step: -1 is not a whole number from 0",
        ),
        (
            r#"[{"name":"a","kind":"mix"},{"name":"a","kind":"mix"}]"#,
            r#"m.json[1].name: "a" is the name of another model"#,
        ),
    ] {
        let error = error(json);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn what_is_wrong_on_the_command_line_is_named() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sim/models.json");
    let parse = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        options::parse(&args)
    };
    let error = |args: &[&str]| parse(args).expect_err("wrong").to_string();
    assert!(error(&["--loads", "hill"]).starts_with("--loads: hill is not one of: peak, saw,"));
    assert!(error(&["--seeds", "5..1"]).starts_with("--seeds: 5..1 is empty"));
    assert!(error(&["--peers", "wier"]).starts_with("--peers: wier is not one of: weir, none"));
    assert!(error(&["--workers", "0"]).starts_with("--workers: 0 is not a whole number from 1"));
    assert!(error(&["--seeds", "1"]).starts_with("--models: nothing is not a file"));
    let all = ["--models", models, "--only", "mix", "--seeds", "2..4"];
    let options = parse(&all).expect("right").expect("no usage");
    assert_eq!(options.models.len(), 1);
    assert_eq!(options.seeds, [2, 3, 4]);
    assert!(parse(&["--help"]).expect("right").is_none());
}
