use std::time::Duration;

/// A uniform draw from [0, span] in nanoseconds, out of one uniform number.
///
/// By multiply and shift: the bias is below span / 2^64 of a nanosecond's share. A span above 584
/// years counts as 584 years.
pub fn uniform(span: Duration, random: u64) -> Duration {
    let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let scaled = (u128::from(span) + 1) * u128::from(random);
    Duration::from_nanos((scaled >> 64) as u64)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn both_ends_are_reached_and_never_passed() {
        for span in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_secs(3),
        ] {
            assert_eq!(uniform(span, 0), Duration::ZERO);
            assert_eq!(uniform(span, u64::MAX), span);
        }
        assert_eq!(
            uniform(Duration::from_nanos(1), 1 << 63),
            Duration::from_nanos(1)
        );
        assert_eq!(
            uniform(Duration::from_nanos(1), (1 << 63) - 1),
            Duration::ZERO
        );
        assert_eq!(
            uniform(Duration::MAX, u64::MAX),
            Duration::from_nanos(u64::MAX)
        );
    }
}
