//! Any text in the place of a hint: in every header that may hold one, and in what a body says.

#![no_main]

use libfuzzer_sys::fuzz_target;

use weir::core::classify::{Answer, PROVIDER_NAMES, Provider, classify};
use weir_fuzz::answer::pair;

/// The latest time of day that is tried, in the year 10889.
const LATEST_MS: u64 = 1 << 48;

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, clock], hint)) = data.split_first_chunk() else {
        return;
    };
    let headers: Vec<_> = hint
        .split(|byte| *byte == b'\n')
        .take(8)
        .map(pair)
        .collect();
    let said = String::from_utf8_lossy(hint);
    let body = serde_json::json!({"error": {"message": said}}).to_string();
    let name = PROVIDER_NAMES.get(usize::from(choice) % PROVIDER_NAMES.len());
    let answer = Answer {
        headers: &headers,
        body: body.as_bytes(),
        provider: name
            .and_then(|name| Provider::named(name))
            .unwrap_or(Provider::AUTO),
        now_ms: match clock {
            0 => 1_790_000_000_000,
            255 => u64::MAX,
            _ => LATEST_MS / 255 * u64::from(clock),
        },
        ..Answer::of_status(429)
    };
    let verdict = classify(&answer);
    assert_ne!(verdict.wait_ms, Some(0), "no wait of nothing");
    assert_eq!(verdict, classify(&answer), "one answer, one verdict");
});
