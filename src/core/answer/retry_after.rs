use std::time::Duration;

use crate::core::time::millis_up;

/// A client that is told to come back later than this should not retry by itself.
pub(super) const LONGEST_TO_RETRY: Duration = Duration::from_secs(120);

/// The two headers that tell a client when to come back: whole seconds, rounded up and at least
/// one, and exact milliseconds, also at least one, since a zero would invite a hot loop.
pub(super) fn headers(wait: Duration) -> [(&'static str, String); 2] {
    let millis = millis_up(wait).max(1);
    [
        ("retry-after", millis.div_ceil(1000).to_string()),
        ("retry-after-ms", millis.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn seconds_round_up_and_milliseconds_are_exact() {
        for (wait, seconds, millis) in [
            (Duration::ZERO, "1", "1"),
            (Duration::from_nanos(1), "1", "1"),
            (Duration::from_millis(1000), "1", "1000"),
            (Duration::from_millis(1001), "2", "1001"),
            (Duration::from_micros(7_999_001), "8", "8000"),
            (Duration::MAX, "18446744073709552", "18446744073709551615"),
        ] {
            let [(_, s), (_, ms)] = headers(wait);
            assert_eq!((s.as_str(), ms.as_str()), (seconds, millis));
        }
    }
}
