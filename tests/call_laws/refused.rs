//! L11, L13: the client gets the provider's own word, the router sees no failure.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::{header, ms};
use crate::memhost::{Ask, Reply, Sim, State};

fn unavailable() -> Reply {
    Reply::new(503)
        .header("retry-after", "3")
        .header("x-ratelimit-reset-requests", "1s")
        .header("anthropic-ratelimit-tokens-reset", "2s")
        .header("x-request-id", "7")
        .body("busy")
}

fn given_up(reply: Reply) -> Sim {
    let mut sim = Sim::policy(1, r#""retry":{"retry_max_attempts":1}"#);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, reply);
    sim
}

#[test]
fn l11_a_refusal_that_is_given_up_reaches_the_client_as_it_was() {
    let sim = given_up(unavailable());
    let received = sim.received(0);
    assert_eq!((received.status, &*received.body), (503, &b"busy"[..]));
    for (name, value) in [
        ("retry-after", "3"),
        ("x-ratelimit-reset-requests", "1s"),
        ("anthropic-ratelimit-tokens-reset", "2s"),
        ("x-request-id", "7"),
        ("x-weir-class", "overloaded"),
        ("x-weir-attempts", "1"),
        ("x-weir-queued-ms", "0"),
    ] {
        assert_eq!(sim.got(0, name).as_deref(), Some(value), "{name}");
    }
    for name in ["x-envoy-ratelimited", "x-weir-retry", "x-weir-refused"] {
        assert_eq!(sim.got(0, name), None, "{name}");
    }
    assert_eq!(received.headers[0].0, b":status");
}

#[test]
fn l13_the_router_sees_429_and_ratelimited_where_the_provider_said_5xx() {
    for status in [503, 529, 429] {
        let sim = given_up(Reply::new(status));
        let (_, code, headers) = &sim.routed[0];
        assert_eq!(*code, 429);
        assert_eq!(
            header(headers, "x-envoy-ratelimited").as_deref(),
            Some("true")
        );
        assert_eq!(sim.state(0), State::Answered(status));
    }
}

#[test]
fn l13_the_router_sees_a_granted_retry_as_429_without_any_wait() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, unavailable().header("x-envoy-ratelimited", "true"));
    sim.run(ms(3000));
    let (_, code, headers) = &sim.routed[0];
    assert_eq!(*code, 429);
    assert_eq!(header(headers, "x-weir-retry").as_deref(), Some("1"));
    for name in [
        "retry-after",
        "x-ratelimit-reset-requests",
        "anthropic-ratelimit-tokens-reset",
        "x-envoy-ratelimited",
    ] {
        assert_eq!(header(headers, name), None, "{name}");
    }
    assert_eq!(sim.state(id), State::Running(2));
}

#[test]
fn l11_a_success_after_a_retry_shows_nothing_of_the_refusal() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, unavailable());
    sim.run(ms(3000));
    sim.answer(id, Reply::ok().header("x-request-id", "8"));
    let names: Vec<_> = sim.received(id).headers.iter().map(|(n, _)| n).collect();
    let expected = [
        ":status",
        "x-request-id",
        "x-weir-attempts",
        "x-weir-queued-ms",
    ];
    assert_eq!(names, expected.map(str::as_bytes));
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.got(id, "x-weir-attempts").as_deref(), Some("2"));
}

#[test]
fn l11_a_retry_that_the_router_drops_leaves_the_providers_word_and_gives_the_slot_back() {
    for back_off in [false, true] {
        let mut sim = Sim::policy(2, r#""max_concurrent_calls":1"#);
        let id = sim.arrive(Ask::on(0));
        if back_off {
            // The route's own bound is lower.
            sim.calls[id].retries = 9;
        } else {
            sim.route.is_broken = true;
        }
        sim.answer(id, unavailable());
        let next = sim.arrive(Ask::on(1));
        let third = sim.arrive(Ask::on(1));
        sim.run(ms(3000));
        sim.answer(next, Reply::ok());
        assert_eq!(sim.state(id), State::Answered(503));
        assert_eq!(sim.got(id, "retry-after").as_deref(), Some("3"));
        assert_eq!(
            sim.got(id, "x-ratelimit-reset-requests").as_deref(),
            Some("1s")
        );
        assert_eq!(sim.got(id, "x-weir-retry"), None);
        assert_eq!(sim.got(id, "x-weir-class").as_deref(), Some("overloaded"));
        assert_eq!(sim.received(id).body, b"busy");
        assert_eq!(sim.state(third), State::Running(1));
        sim.run(ms(300));
        assert_eq!(sim.count("retry_dropped"), 1);
        sim.check();
    }
}

#[test]
fn l11_an_answer_of_envoys_own_is_not_dressed_as_the_providers() {
    let mut sim = Sim::policy(1, "");
    sim.route.back_off = ms(25);
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, unavailable());
    sim.run(ms(3010));
    assert_eq!(sim.state(id), State::Retrying);
    sim.local_reply(id, 504);
    assert_eq!(sim.state(id), State::Answered(504));
    assert_eq!(sim.got(id, "x-ratelimit-reset-requests"), None);
    sim.check_empty();
}

#[test]
fn l11_a_hedged_success_is_not_dressed_as_the_refusal_beside_it() {
    let mut sim = Sim::policy(1, "");
    sim.route.back_off = ms(25);
    let id = sim.arrive(Ask::on(0));
    let first = sim.latest(id);
    let hedge = sim.hedge(id);
    sim.answer_on(id, first, unavailable());
    sim.run(ms(3010));
    sim.answer_on(id, hedge, Reply::ok());
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.got(id, "x-weir-class"), None);
    assert_eq!(sim.got(id, "retry-after"), None);
    sim.check_empty();
}

#[test]
fn marks_of_the_provider_reach_neither_router_nor_client() {
    for status in [200, 404, 400, 429, 503] {
        let mut sim = Sim::policy(1, r#""retry":{"retry_max_attempts":1}"#);
        let id = sim.arrive(Ask::on(0));
        let reply = Reply::new(status)
            .header("x-weir-retry", "1")
            .header("x-weir-refused", "no_wait")
            .body("{}");
        sim.answer(id, reply);
        assert_eq!(sim.began(id).len(), 1, "{status}");
        assert_eq!(sim.state(id), State::Answered(status));
        assert_eq!(sim.got(id, "x-weir-retry"), None);
    }
}

#[test]
fn marks_of_the_client_reach_nobody_and_its_retry_headers_are_kept() {
    let mut sim = Sim::policy(1, "");
    let ask = Ask::on(0)
        .header("x-weir-retry", "1")
        .header("x-weir-no-wait", "0")
        .header("x-envoy-retry-on", "5xx");
    let id = sim.arrive(ask);
    let headers = &sim.calls[id].headers;
    assert_eq!(header(headers, "x-weir-retry"), None);
    assert_eq!(header(headers, "x-weir-no-wait"), None);
    for (name, value) in [
        ("x-envoy-retry-on", "5xx,retriable-headers"),
        ("x-envoy-retriable-header-names", "x-weir-retry"),
        ("x-envoy-max-retries", "2"),
    ] {
        assert_eq!(header(headers, name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn a_known_wait_is_told_where_the_provider_was_silent_only() {
    let sim = given_up(Reply::rate().header("retry-after-ms", "1500"));
    assert_eq!(sim.got(0, "retry-after-ms").as_deref(), Some("1500"));
    assert_eq!(sim.got(0, "retry-after"), None);
    let sim = given_up(Reply::rate());
    assert_eq!(sim.got(0, "retry-after"), None);
}

#[test]
fn a_refusal_by_body_alone_is_held_and_its_status_comes_back() {
    let overloaded = r#"{"error":{"type":"overloaded_error"}}"#;
    for status in [400, 500] {
        let mut sim = Sim::policy(1, r#""max_concurrent_calls":1"#);
        let id = sim.arrive(Ask::on(0));
        for _ in 0..2 {
            sim.answer(id, Reply::new(status).body(overloaded));
            assert!(matches!(sim.state(id), State::Held(_)));
            sim.run(ms(1000));
        }
        sim.answer(id, Reply::new(status).body(overloaded));
        assert_eq!(sim.state(id), State::Answered(status));
        assert_eq!(sim.received(id).body, overloaded.as_bytes());
        assert!(sim.routed.iter().all(|(_, code, _)| *code < 500));
        sim.check_empty();
    }
}

#[test]
fn a_success_passes_untouched_and_unbuffered() {
    let mut sim = Sim::policy(1, "");
    let id = sim.arrive(Ask::on(0));
    sim.head(id, Reply::new(200));
    assert_eq!(sim.state(id), State::Answered(200));
    for n in 1..=40 {
        sim.part(id, &[b'x'; 1024], false);
        assert_eq!(sim.received(id).body.len(), n * 1024);
    }
    sim.part(id, b"", true);
    sim.check_empty();
}
