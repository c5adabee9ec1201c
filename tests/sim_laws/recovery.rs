//! What is learned of the shipped models: nearly all is served that could be, and little is refused.
//! `make recovery` has all seeds, and models drawn at random.

use std::rc::Rc;

use weir::core::config::Config;

use crate::sim::cell::{Line, PeerName, Scene, Surroundings};
use crate::sim::clients::Habits;
use crate::sim::crowd::Crowd;
use crate::sim::load::Load;
use crate::sim::models::parse;

const MODELS: &str = include_str!("../../examples/sim/models.json");

#[test]
fn l12_what_refusals_teach_serves_nearly_all_with_few_refusals() {
    let config = Config::parse(br#"{"policies":[{"name":"sim"}]}"#).expect("a configuration");
    let surroundings = Surroundings {
        config: Rc::new(config),
        envoys: 1,
        workers: 2,
        habits: Habits::default(),
        crowd: Crowd::default(),
        timeline: None,
    };
    let mut lines = Vec::new();
    for model in parse("models.json", MODELS).expect("the shipped file is right") {
        for load in ["peak", "saw", "steps"] {
            for seed in 1..=2 {
                let scene = Scene {
                    model: &model,
                    load: &Load::named(load).expect("a load"),
                    seed,
                    surroundings: &surroundings,
                };
                let tally = scene.run(PeerName::Weir, None).expect("nothing is written");
                lines.push(scene.line(PeerName::Weir, &tally, &scene.clairvoyant()));
            }
        }
    }
    let median = |part: fn(&Line) -> f64| {
        let mut all: Vec<f64> = lines.iter().map(part).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    assert!(median(|line| line.efficiency) >= 0.97);
    assert!(median(|line| line.refused_share) <= 0.02);
    for line in &lines {
        let is_fine = line.efficiency >= 0.5 && line.refused_share <= 0.06;
        assert!(is_fine, "{line:?}");
    }
    let below = lines.iter().filter(|line| line.efficiency < 0.92).count();
    assert!(below * 12 <= lines.len(), "{below} of {}", lines.len());
}
