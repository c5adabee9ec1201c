//! Any answer, its body above all.

#![no_main]

use libfuzzer_sys::fuzz_target;

use weir::core::classify::{Answer, classify, is_refusal_status, judge_event, next_event};
use weir_fuzz::answer::Told;

fuzz_target!(|data: &[u8]| {
    let told = Told::read(data);
    let answer = Answer {
        headers: &told.headers,
        body: told.body,
        provider: told.provider,
        host: Some(b"api.example.com"),
        now_ms: 1_790_000_000_000,
        ..Answer::of_status(told.status)
    };
    let verdict = classify(&answer);
    assert_eq!(verdict, classify(&answer), "one answer, one verdict");
    assert!(verdict.refusal || !is_refusal_status(told.status));
    assert!(!verdict.refusal || verdict.refused().is_some());
    assert_ne!(verdict.wait_ms, Some(0), "no wait of nothing");
    // As far as Envoy reads into a success, event by event.
    let mut rest = told.body;
    while let Some((event, after)) = next_event(rest) {
        assert!(!event.is_empty());
        let _ = judge_event(&Answer {
            body: event,
            ..answer
        });
        rest = after;
    }
    let _ = judge_event(&answer);
});
