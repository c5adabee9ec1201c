//! Every peer in front of every shipped model: the books balance, and a seed says everything.

use std::rc::Rc;

use weir::core::config::Config;

use crate::sim::cell::{PeerName, Scene, Surroundings};
use crate::sim::clients::Habits;
use crate::sim::crowd::Crowd;
use crate::sim::load::Load;
use crate::sim::models::{Model, parse};
use crate::sim::tally::Tally;

fn shipped() -> Vec<Model> {
    let file = include_str!("../../examples/sim/models.json");
    parse("models.json", file).expect("the shipped file is right")
}

fn surroundings(envoys: usize, retries: bool, aborts: f64) -> Surroundings {
    let config = br#"{"policies":[{"name":"p"}]}"#;
    Surroundings {
        config: Rc::new(Config::parse(config).expect("a configuration")),
        envoys,
        workers: 2,
        habits: Habits {
            aborts,
            retries,
            ..Habits::default()
        },
        timeline: None,
        crowd: Crowd::default(),
    }
}

fn run(model: &Model, peer: PeerName, surroundings: &Surroundings) -> Tally {
    let load = Load::named("saw").expect("a load");
    let scene = Scene {
        model,
        load: &load,
        seed: 5,
        surroundings,
    };
    scene.run(peer, None).expect("nothing is written")
}

#[test]
fn every_peer_accounts_for_every_call_of_every_model() {
    for (envoys, retries, aborts) in [(1, false, 0.0), (1, true, 0.2), (7, false, 0.2)] {
        let surroundings = surroundings(envoys, retries, aborts);
        for model in shipped() {
            for (name, peer) in PeerName::ALL {
                let tally = run(&model, peer, &surroundings);
                let which = format!("{name} {} {envoys} {retries}", model.name);
                let ended = tally.served() + tally.lost + tally.failed + tally.left;
                assert_eq!(ended, tally.offered, "{which}");
                let accepted = tally.attempts - tally.refused;
                assert_eq!(accepted, tally.served() + tally.lost, "{which}");
                assert!(tally.served() > 0, "{which}");
                assert_eq!(tally, run(&model, peer, &surroundings), "{which}");
            }
        }
    }
}

#[test]
fn an_sdk_without_a_proxy_is_a_client_that_retries() {
    for model in shipped() {
        let plain = run(&model, PeerName::Sdk, &surroundings(1, false, 0.0));
        let retries = run(&model, PeerName::None, &surroundings(1, true, 0.0));
        assert_eq!(plain, retries, "{}", model.name);
        let none = run(&model, PeerName::None, &surroundings(1, false, 0.0));
        assert!(plain.served() >= none.served(), "{}", model.name);
    }
}

#[test]
fn retries_come_on_top_of_what_a_proxy_refuses() {
    let shipped = shipped();
    let mut models = shipped.iter();
    let model = models.find(|model| model.name == "bucket-exact");
    let served = |retries| {
        let surroundings = surroundings(1, retries, 0.0);
        let tally = run(model.expect("it"), PeerName::LocalRatelimit, &surroundings);
        assert_eq!(tally.refused, 0, "what it is tuned to is not refused");
        tally.served()
    };
    assert!(served(true) > served(false) * 11 / 10);
}
