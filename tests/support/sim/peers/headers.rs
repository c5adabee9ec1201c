//! The waits that a refusal's headers ask for, as clients read them.

use weir::core::call::Headers;

/// What a header says; `None` if it is absent or no text.
pub(crate) fn text<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    let (_, value) = headers.iter().find(|(key, _)| key == name.as_bytes())?;
    std::str::from_utf8(value).ok().map(str::trim)
}

/// The number in a header; `None` if it is absent or no number.
pub(crate) fn number(headers: &Headers, name: &str) -> Option<f64> {
    text(headers, name)?.parse().ok()
}

/// `retry-after-ms`, else `retry-after` in seconds: a finite number of seconds.
pub(crate) fn retry_after(headers: &Headers) -> Option<f64> {
    let millis = number(headers, "retry-after-ms").map(|ms| ms / 1e3);
    let seconds = millis.or_else(|| number(headers, "retry-after"));
    seconds.filter(|seconds| seconds.is_finite())
}
