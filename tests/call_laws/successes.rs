//! Refusals under a 200: the first words of an answer are read before its headers go on, and no
//! more than that.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::memhost::call::ms;
use crate::memhost::{Ask, Reply, Sim, State};

const OVERLOADED: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
const TEXT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\n";
const BURST: &str = r#"{"base_resp":{"status_code":2045,"status_msg":"rate growth limit"}}"#;

fn sim(provider: &str, more: &str) -> Sim {
    let fields = format!(r#""provider":"{provider}","max_concurrent_calls":1{more}"#);
    Sim::policy(1, &fields)
}

fn stream() -> Reply {
    Reply::new(200).header("content-type", "text/event-stream; charset=utf-8")
}

fn json() -> Reply {
    Reply::new(200).header("content-type", "application/json")
}

/// A call that was answered with the head of a stream.
fn streaming() -> (Sim, usize) {
    let mut sim = sim("anthropic", "");
    let id = sim.arrive(Ask::on(0));
    sim.head(id, stream());
    (sim, id)
}

/// Has a body seen while headers are kept back, so that Envoy is known to show it.
fn with_clear_sight(mut sim: Sim) -> Sim {
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, json().body("{}"));
    assert_eq!(sim.state(id), State::Answered(200));
    sim
}

#[test]
fn a_provider_that_does_not_refuse_under_a_200_is_not_kept_waiting() {
    let mut sim = sim("groq", "");
    let id = sim.arrive(Ask::on(0));
    sim.head(id, stream());
    assert_eq!(sim.state(id), State::Answered(200));
    sim.part(id, OVERLOADED.as_bytes(), true);
    sim.check_empty();
    assert_eq!(sim.count("refusals.class.overloaded"), 0);
}

#[test]
fn l9_a_refusal_in_the_first_event_is_retried_like_any_other() {
    let (mut sim, id) = streaming();
    sim.part(id, START.as_bytes(), false);
    assert_eq!(sim.state(id), State::Held(1), "a prelude says nothing");
    sim.part(id, OVERLOADED.as_bytes(), false);
    assert_eq!(sim.sums().running, 0, "its slot is free");
    assert_eq!(sim.sums().held, 1);
    sim.part(id, b"", true);
    sim.run(ms(999));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(2001));
    assert_eq!(sim.state(id), State::Running(2));
    assert_eq!(sim.count("retries.class.overloaded"), 1);
    sim.head(id, stream());
    sim.part(id, TEXT.as_bytes(), true);
    assert_eq!(sim.received(id).body, TEXT.as_bytes());
    assert_eq!(sim.got(id, "x-weir-class"), None);
    assert_eq!(sim.got(id, "x-weir-attempts").as_deref(), Some("2"));
    sim.check_empty();
}

#[test]
fn l11_a_refusal_under_a_200_that_stands_reaches_the_client_as_it_was() {
    for (map, status) in [("false", 200), ("true", 503)] {
        let fields =
            format!(r#","retry":{{"retry_max_attempts":1}},"classify":{{"map_200":{map}}}"#);
        let mut sim = sim("anthropic", &fields);
        let id = sim.arrive(Ask::on(0));
        sim.head(id, stream().header("x-request-id", "7"));
        sim.part(id, OVERLOADED.as_bytes(), false);
        assert_eq!(sim.state(id), State::Answered(status));
        sim.part(id, b": more\n\n", true);
        let body = format!("{OVERLOADED}: more\n\n");
        assert_eq!(sim.received(id).body, body.as_bytes());
        assert_eq!(sim.got(id, "x-weir-class").as_deref(), Some("overloaded"));
        assert_eq!(sim.got(id, "x-request-id").as_deref(), Some("7"));
        let (_, routed, _) = &sim.routed[0];
        assert_eq!(*routed, 200, "the router counts no failure");
        sim.check_empty();
    }
}

#[test]
fn a_dropped_retry_leaves_the_mapped_status() {
    let mut sim = sim("minimax", r#","classify":{"map_200":true}"#);
    sim.route.is_broken = true;
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, json().body(BURST));
    sim.run(ms(15_000));
    assert_eq!(sim.state(id), State::Answered(429));
    assert_eq!(sim.received(id).body, BURST.as_bytes());
}

#[test]
fn an_envelope_in_pieces_is_judged_at_its_end() {
    let mut sim = sim("minimax", "");
    let id = sim.arrive(Ask::on(0));
    sim.head(id, json());
    for byte in BURST.as_bytes() {
        sim.part(id, &[*byte], false);
        assert_eq!(sim.sums().held, 0);
    }
    sim.part(id, b"", true);
    assert_eq!(sim.sums().held, 1);
    sim.run(ms(15_000));
    assert_eq!(sim.state(id), State::Running(2));
    assert_eq!(sim.count("retries.class.burst_rate"), 1);
}

#[test]
fn a_failure_that_is_no_refusal_goes_on() {
    let mut sim = sim("minimax", "");
    let id = sim.arrive(Ask::on(0));
    let body = r#"{"base_resp":{"status_code":1004,"status_msg":"login fail"}}"#;
    sim.answer(id, json().body(body));
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.got(id, "x-weir-class"), None);
    sim.check_empty();
}

#[test]
fn the_first_event_that_says_anything_ends_the_look() {
    let (mut sim, id) = streaming();
    sim.part(id, b": hi\n\n", false);
    sim.part(id, START.as_bytes(), false);
    let (half, rest) = TEXT.split_at(30);
    sim.part(id, half.as_bytes(), false);
    assert_eq!(sim.state(id), State::Held(1), "half an event says nothing");
    sim.part(id, rest.as_bytes(), false);
    assert_eq!(sim.state(id), State::Answered(200));
    sim.part(id, OVERLOADED.as_bytes(), true);
    let body = format!(": hi\n\n{START}{TEXT}{OVERLOADED}");
    assert_eq!(sim.received(id).body, body.as_bytes());
    assert_eq!(sim.count("refusals.class.overloaded"), 0, "read no further");
    sim.check_empty();
}

#[test]
fn half_a_second_after_the_first_byte_the_look_ends() {
    let mut sim = with_clear_sight(sim("anthropic", ""));
    let id = sim.arrive(Ask::on(0));
    sim.head(id, stream());
    sim.run(ms(20_000));
    assert_eq!(
        sim.state(id),
        State::Held(1),
        "the first byte is waited for"
    );
    sim.part(id, b": a\n\n", false);
    sim.run(ms(499));
    sim.part(id, b": b\n\n", false);
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.received(id).body, b": a\n\n: b\n\n");
    sim.part(id, OVERLOADED.as_bytes(), true);
    assert_eq!(sim.got(id, "x-weir-class"), None);
    sim.check_empty();
}

#[test]
fn at_16_kib_the_look_ends() {
    let (mut sim, id) = streaming();
    let comment = format!(":{}\n\n", " ".repeat(1021));
    for _ in 0..16 {
        sim.part(id, comment.as_bytes(), false);
        assert_eq!(sim.state(id), State::Held(1));
    }
    sim.part(id, b":", false);
    assert_eq!(sim.state(id), State::Answered(200));
    assert_eq!(sim.received(id).body.len(), 16 * 1024 + 1);
    sim.part(id, b"\n\n", true);
    sim.check_empty();
}

#[test]
fn what_cannot_be_a_small_refusal_is_not_looked_at() {
    let packed = stream().header("content-encoding", "gzip");
    let large = json().header("content-length", "16385");
    let picture = Reply::new(200).header("content-type", "image/png");
    let untyped = Reply::new(200);
    for reply in [packed, large, picture, untyped] {
        let mut sim = sim("anthropic", "");
        let id = sim.arrive(Ask::on(0));
        sim.head(id, reply);
        assert_eq!(sim.state(id), State::Answered(200));
    }
    let mut sim = sim("anthropic", "");
    let id = sim.arrive(Ask::on(0).uploading());
    sim.head(id, stream());
    assert_eq!(sim.state(id), State::Answered(200), "it could not be held");
}

#[test]
fn a_stream_that_ends_in_its_look_gives_its_slot_back() {
    for end in [b"".as_slice(), b": bye\n\n", TEXT.as_bytes(), b"data: {}"] {
        let (mut sim, id) = streaming();
        sim.part(id, START.as_bytes(), false);
        sim.part(id, end, true);
        let body = [START.as_bytes(), end].concat();
        assert_eq!(
            (sim.state(id), &sim.received(id).body),
            (State::Answered(200), &body)
        );
        sim.check_empty();
    }
}

#[test]
fn an_empty_answer_gives_its_slot_back() {
    let mut sim = sim("anthropic", "");
    let id = sim.arrive(Ask::on(0));
    sim.answer(id, json());
    assert_eq!(sim.state(id), State::Answered(200));
    sim.check_empty();
}

#[test]
fn a_client_that_leaves_in_the_look_leaves_nothing() {
    let (mut sim, id) = streaming();
    sim.part(id, START.as_bytes(), false);
    sim.abort(id);
    sim.check_empty();
}

#[test]
fn where_bodies_may_be_unseen_the_headers_go_on_after_a_second() {
    let (mut sim, id) = streaming();
    sim.run(ms(999));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Answered(200));
    // A silent provider is no fault of Envoy's.
    sim.run(ms(1000));
    sim.part(id, TEXT.as_bytes(), true);
    sim.run(ms(300));
    assert_eq!(sim.plugin("avoided.no_stop_iteration"), 0);
    sim.check_empty();
}

#[test]
fn where_bodies_are_unseen_it_is_said_and_no_call_waits_for_a_minute() {
    let (mut sim, id) = streaming();
    sim.run(ms(1000));
    assert_eq!(sim.state(id), State::Answered(200));
    // Envoy had it all the time.
    sim.part(id, TEXT.as_bytes(), true);
    for _ in 0..3 {
        sim.run(ms(19_000));
        let next = sim.arrive(Ask::on(0));
        sim.head(next, stream());
        assert_eq!(sim.state(next), State::Answered(200));
        sim.part(next, TEXT.as_bytes(), true);
    }
    assert_eq!(sim.plugin("avoided.no_stop_iteration"), 1);
    sim.run(ms(4000));
    let next = sim.arrive(Ask::on(0));
    sim.head(next, stream());
    assert_eq!(sim.state(next), State::Held(1), "it may have been set");
}

#[test]
fn a_rule_for_a_200_makes_any_provider_worth_a_look() {
    let rules = r#","classify":{"rules":[{"status":200,"phrase":"come back","class":"rate"}]}"#;
    let chunk = "data: {\"note\":\"Come back later\"}\n\n";
    let body = r#"{"note":"Come back later"}"#;
    for (head, body) in [(json(), body), (stream(), chunk)] {
        let mut sim = sim("groq", rules);
        let id = sim.arrive(Ask::on(0));
        sim.head(id, head);
        assert_eq!(sim.state(id), State::Held(1));
        sim.part(id, body.as_bytes(), true);
        sim.run(ms(8000));
        assert_eq!(sim.state(id), State::Running(2), "{body}");
        sim.head(id, json());
        sim.part(id, b"{}", true);
        assert_eq!(sim.state(id), State::Answered(200));
        assert_eq!(sim.count("retries.class.rate"), 1);
        sim.check_empty();
    }
}

#[test]
fn a_rule_for_any_status_reads_errors_only() {
    let rules = r#","classify":{"rules":[{"phrase":"come back","class":"concurrency"}]}"#;
    for (status, expected) in [(200, State::Answered(200)), (418, State::Held(1))] {
        let mut sim = sim("groq", rules);
        let id = sim.arrive(Ask::on(0));
        sim.answer(id, Reply::new(status).body("come back"));
        assert_eq!(sim.state(id), expected);
    }
}

#[test]
fn auto_goes_by_the_host_that_the_attempt_is_sent_to() {
    for (host, looks) in [("api.anthropic.com:443", true), ("api.groq.com", false)] {
        let mut sim = Sim::policy(1, "");
        let id = sim.arrive(Ask::on(0).host(host));
        sim.head(id, stream());
        let held = sim.state(id) == State::Held(1);
        assert_eq!(held, looks, "{host}");
    }
}

#[test]
fn the_first_byte_is_not_waited_for_for_ever() {
    let mut sim = with_clear_sight(sim("anthropic", ""));
    let id = sim.arrive(Ask::on(0));
    sim.head(id, stream());
    sim.run(ms(59_999));
    assert_eq!(sim.state(id), State::Held(1));
    sim.run(ms(1));
    assert_eq!(sim.state(id), State::Answered(200));
}

#[test]
fn in_shadow_a_refusal_is_counted_and_nothing_is_kept_back() {
    let mut sim = Sim::policy(1, r#""provider":"anthropic","mode":"shadow""#);
    let id = sim.arrive(Ask::on(0));
    sim.head(id, stream());
    assert_eq!(sim.state(id), State::Answered(200));
    sim.part(id, START.as_bytes(), false);
    assert_eq!(sim.received(id).body, START.as_bytes());
    sim.part(id, OVERLOADED.as_bytes(), true);
    let silent = sim.arrive(Ask::on(0));
    sim.head(silent, stream());
    sim.run(ms(70_000));
    sim.part(silent, OVERLOADED.as_bytes(), true);
    sim.run(ms(300));
    assert_eq!(sim.count("retries.class.overloaded"), 1);
    assert_eq!(sim.plugin("avoided.no_stop_iteration"), 0);
    sim.check_empty();
}

#[test]
fn every_chunking_of_a_stream_reaches_the_client_as_it_was() {
    let whole = format!(": hi\r\n\r\n{START}{TEXT}{OVERLOADED}{TEXT}");
    for size in 1..whole.len() {
        let (mut sim, id) = streaming();
        for chunk in whole.as_bytes().chunks(size) {
            sim.part(id, chunk, false);
        }
        sim.part(id, b"", true);
        assert_eq!(
            sim.received(id).body,
            whole.as_bytes(),
            "in pieces of {size}"
        );
        sim.check_empty();
    }
}
