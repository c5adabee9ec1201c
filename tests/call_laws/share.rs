//! L1, L7: an Envoy of several keeps its part of the limits.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use weir::port::Level;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim};

fn shared(of: u32, fields: &str) -> String {
    format!(r#"{{"share":{{"of":{of}}},"policies":[{{"name":"p",{fields}}}]}}"#)
}

const CAP: &str = r#""max_concurrent_calls":9"#;

#[test]
fn l1_an_envoy_of_four_runs_a_quarter_of_the_cap() {
    let mut sim = Sim::new(2, &shared(4, CAP));
    let calls: Vec<_> = (0..6).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    assert_eq!(sim.in_flight(), 2);
    sim.answer(calls[0], Reply::ok());
    assert_eq!(sim.in_flight(), 2);
    sim.run(ms(300));
    assert_eq!(sim.gauge("limit"), Some(2));
}

#[test]
fn l7_an_envoy_of_four_starts_a_quarter_of_the_rate() {
    let rate = r#""rate":{"requests_per_second":8,"burst":8}"#;
    let mut sim = Sim::new(1, &shared(4, rate));
    for _ in 0..10 {
        sim.arrive(Ask::on(0));
    }
    assert_eq!(sim.in_flight(), 2);
    for started in [3, 4, 5] {
        sim.run(ms(500));
        assert_eq!(sim.in_flight(), started);
    }
}

#[test]
fn l6_with_fewer_envoys_each_has_more_at_once() {
    let mut sim = Sim::new(2, &shared(4, CAP));
    for n in 0..6 {
        sim.arrive(Ask::on(n % 2));
    }
    sim.reload(&shared(2, CAP));
    assert_eq!(sim.in_flight(), 4);
    sim.check();
}

#[test]
fn a_cap_that_cannot_be_divided_is_said_to_be_exceeded() {
    for (of, told) in [(9, false), (10, true)] {
        let sim = Sim::new(1, &shared(of, CAP));
        let lines = sim.memory.state().lines.clone();
        let line = "weir: policy p: max_concurrent_calls is below share.of, and each Envoy keeps 1: \
                    up to 10 calls at one time in all";
        let expected = [(Level::Warn, line.to_owned())];
        assert_eq!(lines, expected[..usize::from(told)], "{of}");
    }
}
