//! Any answer, its body above all.

#![no_main]

use libfuzzer_sys::fuzz_target;

use weir::core::classify::{Answer, classify, is_refusal_status};
use weir_fuzz::answer::Told;

fuzz_target!(|data: &[u8]| {
    let told = Told::read(data);
    let answer = Answer {
        status: told.status,
        headers: &told.headers,
        body: told.body,
        provider: told.provider,
    };
    let verdict = classify(&answer);
    assert_eq!(
        verdict,
        classify(&answer),
        "the same answer, the same verdict"
    );
    assert!(verdict.refusal.is_some() || !is_refusal_status(told.status));
    assert!(!verdict.retryable || verdict.refusal.is_some_and(|class| class.is_retryable()));
});
