//! L9, L10, L12: one refusal slows everybody, one probe goes first, and who cannot wait is told.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use weir::core::classify::Class;
use weir::core::gate::recovery::{Recovery, Stage};

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

/// Refused calls are not held, so that none of them is the probe.
const ONCE: &str =
    r#""ramp":{"mode":"off"},"retry":{"retry_max_attempts":1,"burst_max_attempts":1}"#;

fn asks(reply: Reply, millis: &'static str) -> Reply {
    reply.header("retry-after-ms", millis)
}

/// Calls on `workers` in turn, all running, the first of which is refused.
fn refused(workers: usize, calls: usize, reply: Reply) -> (Sim, Vec<usize>) {
    let mut sim = Sim::policy(workers, ONCE);
    let ids: Vec<_> = (0..calls)
        .map(|n| sim.arrive(Ask::on(n % workers)))
        .collect();
    sim.answer(ids[0], reply);
    (sim, ids)
}

fn recovery(sim: &Sim) -> Recovery {
    let mut records = sim.records();
    *records.remove(0).recovery.expect("a refusal came")
}

fn running(sim: &Sim, ids: &[usize]) -> Vec<usize> {
    let runs = |id: &usize| sim.state(*id) == State::Running(1);
    ids.iter().copied().filter(runs).collect()
}

#[test]
fn l9_a_refusal_on_one_worker_shuts_the_gate_on_all() {
    let (mut sim, _) = refused(3, 1, asks(Reply::rate(), "700"));
    let waits = [1, 2, 1].map(|w| {
        sim.run(ms(1));
        sim.arrive(Ask::on(w))
    });
    sim.run(ms(696));
    assert_eq!(running(&sim, &waits), [0usize; 0]);
    sim.run(ms(1));
    assert_eq!(running(&sim, &waits), waits[..1], "the first in line");
    sim.run(ms(150));
    assert_eq!(running(&sim, &waits), waits[..1]);
    sim.head(waits[0], Reply::new(200));
    assert_eq!(running(&sim, &waits), waits[1..]);
}

#[test]
fn l12_of_a_thousand_that_wait_one_goes_first_and_none_before_its_time() {
    const CALLS: usize = 1000;
    let mut sim = Sim::policy(4, ONCE);
    let first = sim.arrive(Ask::on(0));
    sim.answer(first, Reply::rate().header("retry-after", "5"));
    sim.run(ms(1));
    let waits: Vec<_> = (0..CALLS).map(|n| sim.arrive(Ask::on(n % 4))).collect();
    sim.run(ms(4998));
    assert_eq!(running(&sim, &waits), [0usize; 0]);
    sim.run(ms(1));
    assert_eq!(running(&sim, &waits), waits[..1]);
    sim.head(waits[0], Reply::new(200));
    sim.run(ms(500));
    assert_eq!(running(&sim, &waits).len(), CALLS - 1);
}

#[test]
fn l12_refusals_of_one_burst_are_one_episode() {
    let (mut sim, ids) = refused(2, 10, Reply::rate());
    let until = recovery(&sim).until;
    for id in &ids[1..9] {
        sim.run(ms(20));
        sim.answer(*id, Reply::rate());
    }
    let after = recovery(&sim);
    assert_eq!((after.epoch, after.misses, after.refusals), (1, 0, 9));
    assert_eq!(after.until, until, "they name no wait");
}

#[test]
fn l9_the_pause_only_moves_away() {
    let (mut sim, ids) = refused(2, 4, asks(Reply::rate(), "1000"));
    let began = sim.now;
    sim.answer(ids[1], asks(Reply::rate(), "400"));
    assert_eq!(recovery(&sim).until, began + ms(1000));
    sim.run(ms(500));
    sim.answer(ids[2], asks(Reply::rate(), "2000"));
    assert_eq!(recovery(&sim).until, began + ms(2500));
    let waits = sim.arrive(Ask::on(1));
    sim.run(ms(1999));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Running(1));
}

#[test]
fn l12_the_probe_waits_until_all_that_is_older_is_decided() {
    // Refusals take 400 ms, so the grace is 1.6 s.
    let mut sim = Sim::policy(2, ONCE);
    let [refused, other, long] = [0, 0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(400));
    sim.answer(refused, Reply::rate());
    let waits = sim.arrive(Ask::on(1));
    sim.run(ms(300));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.head(long, Reply::new(200));
    sim.run(ms(100));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.answer(other, Reply::rate());
    assert_eq!(sim.state(waits), State::Running(1));
}

#[test]
fn l12_what_stays_without_headers_for_the_grace_delays_the_probe_no_longer() {
    let mut sim = Sim::policy(1, ONCE);
    let [refused, _long] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(400));
    sim.answer(refused, Reply::rate());
    let waits = sim.arrive(Ask::on(0));
    sim.run(ms(1599));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Running(1));
}

#[test]
fn l12_a_long_answer_does_not_shut_the_gate() {
    for owner_waits in [true, false] {
        let (mut sim, _) = refused(2, 1, Reply::rate());
        sim.run(ms(50));
        let probe = sim.arrive(Ask::on(0));
        let waits = sim.arrive(Ask::on(usize::from(!owner_waits)));
        sim.run(ms(30));
        assert_eq!(sim.state(probe), State::Running(1));
        sim.run(ms(199));
        assert_eq!(sim.state(waits), State::Waiting);
        sim.run(ms(1));
        assert_eq!(sim.state(waits), State::Running(1), "200 ms of grace");
        assert_eq!(recovery(&sim).stage, Stage::Open);
    }
}

#[test]
fn l12_a_probe_without_a_verdict_makes_the_next_waiter_the_probe_at_once() {
    let (mut sim, _) = refused(2, 1, Reply::rate());
    let waits = [0, 1, 1, 0, 0].map(|w| {
        sim.run(ms(1));
        sim.arrive(Ask::on(w))
    });
    sim.run(ms(75));
    assert_eq!(running(&sim, &waits), waits[..1]);
    sim.abort(waits[0]);
    assert_eq!(running(&sim, &waits), waits[1..2], "its client left");
    let stream = sim.latest(waits[1]);
    sim.end_attempt(waits[1], stream);
    sim.settle();
    assert_eq!(sim.state(waits[2]), State::Running(1), "it was reset");
    sim.local_reply(waits[2], 503);
    assert_eq!(sim.state(waits[3]), State::Running(1), "Envoy answered");
    assert_eq!(sim.state(waits[4]), State::Waiting);
}

#[test]
fn l12_a_probe_whose_worker_dies_makes_way() {
    let mut sim = Sim::policy(3, r#""queue":{"max_wait_ms":600000}"#);
    let id = sim.arrive(Ask::on(1));
    sim.answer(id, asks(Reply::rate(), "500"));
    let waits = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.run(ms(500));
    assert_eq!(running(&sim, &waits), waits[..1]);
    sim.kill(0);
    sim.run(ms(3000));
    assert_eq!(sim.state(waits[1]), State::Running(1));
}

#[test]
fn l12_if_nobody_waits_the_next_to_come_is_the_probe() {
    let (mut sim, _) = refused(2, 1, asks(Reply::rate(), "20000"));
    sim.run(ms(25_000));
    let [probe, next] = [1, 0].map(|w| sim.arrive(Ask::on(w)));
    assert_eq!(sim.state(probe), State::Running(1));
    assert_eq!(sim.state(next), State::Waiting);
    sim.answer(probe, Reply::ok());
    assert_eq!(sim.state(next), State::Running(1));
}

#[test]
fn l9_refused_probes_double_the_pause_and_an_accepted_one_ends_that() {
    let (mut sim, _) = refused(1, 1, Reply::rate());
    for pause in [80, 160, 320] {
        let probe = sim.arrive(Ask::on(0));
        sim.run(ms(pause - 1));
        assert_eq!(sim.state(probe), State::Waiting, "{pause}");
        sim.run(ms(1));
        assert_eq!(sim.state(probe), State::Running(1), "{pause}");
        sim.answer(probe, Reply::rate());
    }
    let probe = sim.arrive(Ask::on(0));
    sim.run(ms(640));
    sim.answer(probe, Reply::ok());
    assert_eq!(recovery(&sim).misses, 0);
    let next = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(next), State::Running(1));
    sim.answer(next, Reply::rate());
    assert_eq!(recovery(&sim).until, sim.now + ms(80));
    assert_eq!(recovery(&sim).epoch, 5);
}

#[test]
fn l12_a_late_refusal_begins_no_episode_and_its_word_still_counts() {
    let (mut sim, ids) = refused(1, 3, Reply::rate());
    sim.run(ms(300));
    let probe = sim.arrive(Ask::on(0));
    sim.run(ms(200));
    sim.answer(probe, Reply::ok());
    assert_eq!(recovery(&sim).stage, Stage::Open);
    sim.answer(ids[1], Reply::rate());
    assert_eq!(recovery(&sim).stage, Stage::Open, "it names no wait");
    sim.answer(ids[2], asks(Reply::rate(), "800"));
    assert_eq!(recovery(&sim).epoch, 1);
    let waits = sim.arrive(Ask::on(0));
    sim.run(ms(799));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Running(1));
}

#[test]
fn l9_a_body_prolongs_the_pause_that_the_headers_began() {
    let mut sim = Sim::policy(1, "");
    let [refused, _other] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    let began = sim.now;
    sim.head(refused, Reply::new(429));
    assert_eq!(recovery(&sim).until, began + ms(80));
    sim.run(ms(50));
    let body = br#"{"error":{"code":"rate_limit_exceeded","message":"Please try again in 4s."}}"#;
    sim.part(refused, body, true);
    assert_eq!(recovery(&sim).until, began + ms(4000));
    assert_eq!((recovery(&sim).epoch, recovery(&sim).refusals), (1, 1));
}

#[test]
fn l9_a_body_that_is_no_refusal_takes_back_the_pause() {
    let mut sim = Sim::policy(1, ONCE);
    let [refused, other] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.head(refused, Reply::new(429));
    let waits = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(waits), State::Waiting);
    // An exact code of another kind of trouble.
    let body = br#"{"error":{"code":"1311","message":"no package for this model"}}"#;
    sim.part(refused, body, true);
    assert_eq!(sim.state(waits), State::Running(1));
    sim.answer(other, Reply::ok());
    // Beside another refusal it takes back nothing.
    let [refused, another] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.head(refused, Reply::new(429));
    sim.answer(another, Reply::rate());
    sim.part(refused, body, true);
    assert_eq!(recovery(&sim).stage, Stage::Shut);
}

#[test]
fn a_refusal_of_one_request_alone_pauses_nothing() {
    let mut sim = Sim::policy(1, "");
    let refused = sim.arrive(Ask::on(0));
    sim.answer(refused, Reply::new(413).body(r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large: Limit 30000, Requested 40000"}}"#));
    let next = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(next), State::Running(1));
}

#[test]
fn l9_every_class_pauses() {
    for (reply, class) in [
        (Reply::rate(), Class::Rate),
        (Reply::burst(), Class::BurstRate),
        (Reply::new(529), Class::Overloaded),
        (
            Reply::new(429).body(r#"{"error":{"message":"Too many concurrent requests"}}"#),
            Class::Concurrency,
        ),
        (Reply::new(402), Class::QuotaExhausted),
    ] {
        let (sim, _) = refused(1, 2, reply);
        let recovery = recovery(&sim);
        assert_eq!((recovery.stage, recovery.class), (Stage::Shut, class));
    }
}

#[test]
fn l10_who_cannot_wait_for_the_pause_is_told_at_once() {
    for worker in [0, 1] {
        let mut sim = Sim::policy(2, &format!(r#""patience_header":"x-patience",{ONCE}"#));
        let [refused, other] = [0, 0].map(|w| sim.arrive(Ask::on(w)));
        sim.answer(refused, asks(Reply::rate(), "1000"));
        let hasty = |millis| Ask::on(worker).header("x-patience", millis);
        let [fits, late] = ["3000", "2999"].map(|patience| sim.arrive(hasty(patience)));
        let early = sim.arrive(hasty("999"));
        assert_eq!(sim.state(early), State::Refused("paused".into()), "arrival");
        assert_eq!(sim.got(early, "retry-after-ms").as_deref(), Some("1000"));
        assert_eq!(sim.got(early, "retry-after").as_deref(), Some("1"));
        assert_eq!(sim.state(late), State::Waiting);
        sim.run(ms(500));
        sim.answer(other, asks(Reply::rate(), "2500"));
        assert_eq!(sim.state(late), State::Refused("paused".into()), "later");
        let body = String::from_utf8(sim.received(late).body.clone()).unwrap();
        assert!(body.contains(r#""class":"rate""#), "{body}");
        assert!(body.contains(r#""retry_after_ms":2500"#), "{body}");
        assert_eq!(sim.state(fits), State::Waiting);
        sim.run(ms(2500));
        assert_eq!(sim.state(fits), State::Running(1));
        sim.run(ms(300));
        assert_eq!(sim.count("refused.reason.paused"), 2);
    }
}

#[test]
fn l10_a_thousand_that_cannot_wait_are_told_a_few_in_each_callback() {
    let mut sim = Sim::policy(2, r#""queue":{"max_wait_ms":2000}"#);
    let [first, second] = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(first, asks(Reply::rate(), "1500"));
    let waits: Vec<_> = (0..1000).map(|n| sim.arrive(Ask::on(n % 2))).collect();
    sim.answer(second, asks(Reply::rate(), "2001"));
    for id in waits {
        assert_eq!(sim.state(id), State::Refused("paused".into()));
    }
}

#[test]
fn l11_held_calls_that_cannot_wait_get_the_providers_word() {
    let mut sim = Sim::policy(2, r#""retry":{"budget_ms":5000}"#);
    let [held, ready, last] = [0, 1, 0].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(held, asks(Reply::rate(), "4000").body("mine"));
    sim.answer(ready, asks(Reply::rate(), "600").body("mine too"));
    sim.run(ms(1000));
    assert_eq!(sim.state(held), State::Held(1));
    assert_eq!(sim.state(ready), State::Held(1));
    sim.answer(last, asks(Reply::rate(), "4500").body("none"));
    for (id, body) in [(held, "mine"), (ready, "mine too"), (last, "none")] {
        assert_eq!(sim.state(id), State::Answered(429), "{body}");
        assert_eq!(sim.received(id).body, body.as_bytes());
    }
    sim.check_empty();
}

fn no_quota() -> Reply {
    Reply::new(429).body(r#"{"error":{"code":"insufficient_quota"}}"#)
}

#[test]
fn an_exhausted_quota_holds_the_key_and_says_so() {
    let mut sim = Sim::policy(2, r#""queue":{"max_wait_ms":3600000}"#);
    let [refused, other] = [0, 1].map(|w| sim.arrive(Ask::on(w)));
    sim.answer(other, Reply::rate());
    let waits = sim.arrive(Ask::on(1));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.answer(refused, no_quota());
    assert_eq!(sim.state(refused), State::Answered(429));
    assert_eq!(sim.received(refused).body, no_quota().body.as_bytes());
    assert_eq!(sim.state(waits), State::Refused("quota".into()));
    sim.run(ms(899_000));
    let late = sim.arrive(Ask::on(1));
    assert_eq!(sim.state(late), State::Refused("quota".into()));
    assert_eq!(sim.got(late, "retry-after").as_deref(), Some("1"));
    let body = String::from_utf8(sim.received(late).body.clone()).unwrap();
    assert!(body.contains(r#""class":"quota_exhausted""#), "{body}");
    sim.run(ms(1000));
    let probe = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(probe), State::Running(1), "a quarter of an hour");
    sim.answer(probe, no_quota());
    assert_eq!(sim.state(probe), State::Answered(429));
    let late = sim.arrive(Ask::on(1));
    assert_eq!(sim.state(late), State::Refused("quota".into()));
}

#[test]
fn a_quota_whose_reset_fits_is_waited_for() {
    let mut sim = Sim::policy(1, "");
    let refused = sim.arrive(Ask::on(0));
    sim.answer(refused, asks(no_quota(), "30000"));
    assert_eq!(sim.state(refused), State::Answered(429));
    let fits = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(fits), State::Waiting);
    sim.run(ms(29_999));
    assert_eq!(sim.state(fits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(fits), State::Running(1));
}

#[test]
fn l9_a_wait_above_the_cap_pauses_for_the_cap() {
    let mut sim = Sim::policy(1, r#""retry":{"retry_after_cap_ms":2000}"#);
    let refused = sim.arrive(Ask::on(0));
    sim.answer(refused, asks(Reply::rate(), "50000"));
    assert_eq!(sim.state(refused), State::Answered(429));
    let probe = sim.arrive(Ask::on(0));
    sim.run(ms(1999));
    assert_eq!(sim.state(probe), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(probe), State::Running(1));
}

#[test]
fn l6_a_reload_keeps_the_pause() {
    let (mut sim, _) = refused(2, 1, asks(Reply::rate(), "1000"));
    sim.reload(&crate::memhost::sim::policy(r#""max_concurrent_calls":9"#));
    let waits = sim.arrive(Ask::on(1));
    sim.run(ms(999));
    assert_eq!(sim.state(waits), State::Waiting);
    sim.run(ms(1));
    assert_eq!(sim.state(waits), State::Running(1));
}

#[test]
fn l9_attempts_that_envoy_starts_on_its_own_begin_no_episode_while_the_gate_is_shut() {
    let (mut sim, ids) = refused(1, 4, asks(Reply::rate(), "1000"));
    for id in &ids[1..] {
        let hedge = sim.hedge(*id);
        sim.answer_on(*id, hedge, Reply::rate());
    }
    assert_eq!(recovery(&sim).epoch, 1);
}

#[test]
fn a_shadow_pauses_its_phantoms_alone() {
    let mut sim = Sim::policy(1, r#""mode":"shadow""#);
    let refused = sim.arrive(Ask::on(0));
    sim.answer(refused, asks(Reply::rate(), "1000"));
    let real = sim.arrive(Ask::on(0));
    assert_eq!(sim.state(real), State::Running(1));
    assert_eq!(sim.sums().waiting, 1);
    sim.run(ms(1000));
    assert_eq!(sim.sums().waiting, 0);
    assert_eq!(recovery(&sim).stage, Stage::Open);
    sim.answer(real, Reply::ok());
    sim.check_empty();
}

#[test]
fn a_stated_limit_is_used_exactly() {
    let body = |text: &str| text.as_bytes().to_vec();
    let rate = body(
        r#"{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached on requests per min (RPM): Limit 120, Used 120, Requested 1."}}"#,
    );
    let at_once = body(
        r#"{"error":{"code":"x","message":"Current concurrency is 8, above your concurrency limit of 7."}}"#,
    );
    let said = |body: &[u8]| {
        let mut sim = Sim::policy(1, r#""retry":{"retry_max_attempts":1}"#);
        let ids: Vec<_> = (0..40).map(|_| sim.arrive(Ask::on(0))).collect();
        sim.head(ids[0], Reply::new(429));
        sim.part(ids[0], body, true);
        sim.records().remove(0)
    };
    assert_eq!(said(&rate).learned_rate(), Some(2_000_000_000));
    assert_eq!(said(&at_once).limit(), 7);
}
