//! The waits that a refusal's headers ask for, as clients read them.

use weir::core::call::Headers;

/// The number in a header; `None` if it is absent or no number.
pub(crate) fn number(headers: &Headers, name: &str) -> Option<f64> {
    let (_, value) = headers.iter().find(|(key, _)| key == name.as_bytes())?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// `retry-after-ms`, else `retry-after` in seconds: a finite number of seconds.
pub(crate) fn retry_after(headers: &Headers) -> Option<f64> {
    let millis = number(headers, "retry-after-ms").map(|ms| ms / 1e3);
    let seconds = millis.or_else(|| number(headers, "retry-after"));
    seconds.filter(|seconds| seconds.is_finite())
}
