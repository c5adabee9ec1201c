//! Any text in the place of a hint: in every header that may hold one, and in what a body says.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;

use weir::core::classify::{Answer, classify};
use weir_fuzz::answer::pair;

/// Statuses that are refusals, and whose headers are read.
const STATUSES: [u16; 3] = [429, 503, 529];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, hint)) = data.split_first() else {
        return;
    };
    let headers: Vec<_> = hint
        .split(|byte| *byte == b'\n')
        .take(8)
        .map(pair)
        .collect();
    let said = String::from_utf8_lossy(hint);
    let body = serde_json::json!({"error": {"message": said}}).to_string();
    let status = STATUSES.get(usize::from(choice) % STATUSES.len());
    let verdict = classify(&Answer {
        status: status.copied().unwrap_or(429),
        headers: &headers,
        body: body.as_bytes(),
        provider: "auto",
    });
    // Nothing, or a wait: never none at all that looks like one.
    assert_ne!(verdict.server_min, Some(Duration::ZERO));
});
