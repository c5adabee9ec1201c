//! Envoy's own means against refusals, each as its documentation configures it, with the numbers
//! of the provider.

use serde_json::{Value, json};

use super::super::path::{Known, Path};

const FILTERS: &str = "type.googleapis.com/envoy.extensions.filters.http";

/// The filters of `path` in front of the router.
pub(super) fn filters(path: Path) -> Vec<Value> {
    match path {
        Path::LocalRateLimit(known) => vec![local_ratelimit(known)],
        Path::AdaptiveConcurrency(known) => vec![adaptive_concurrency(known)],
        Path::AllNative(known) => vec![local_ratelimit(known), adaptive_concurrency(known)],
        Path::Unprotected | Path::EnvoyRetry | Path::Weir => vec![],
    }
}

/// The retry policy of `path`'s route.
pub(super) fn retry(path: Path) -> Option<Value> {
    matches!(path, Path::EnvoyRetry | Path::AllNative(_)).then(retry_policy)
}

/// The best that Envoy's documentation offers: refusals and lost connections are retried, a
/// `retry-after` is kept to, and every wait is jittered and grows. The breakers that would stop
/// the retries are wide open.
pub(crate) fn retry_policy() -> Value {
    json!({
        "retry_on": "retriable-status-codes,connect-failure,refused-stream,reset",
        "retriable_status_codes": [429, 503, 529],
        "num_retries": 5,
        "retry_back_off": {"base_interval": "1s", "max_interval": "10s"},
        "rate_limited_retry_back_off": {
            "reset_headers": [{"name": "retry-after", "format": "SECONDS"}],
            "max_interval": "300s"},
    })
}

/// The provider's own rate. By default the filter does nothing, so it is told to, for every call.
fn local_ratelimit(known: Known) -> Value {
    let always = json!({"default_value": {"numerator": 100, "denominator": "HUNDRED"}});
    json!({"name": "envoy.filters.http.local_ratelimit", "typed_config": {
        "@type": format!("{FILTERS}.local_ratelimit.v3.LocalRateLimit"),
        "stat_prefix": "local",
        "token_bucket": {
            "max_tokens": known.per_second, "tokens_per_fill": known.per_second,
            "fill_interval": "1s"},
        "filter_enabled": always,
        "filter_enforced": always}})
}

/// The example of the documentation; while it measures the least latency it would allow 3 calls,
/// and is given as many as the provider runs.
fn adaptive_concurrency(known: Known) -> Value {
    json!({"name": "envoy.filters.http.adaptive_concurrency", "typed_config": {
        "@type": format!("{FILTERS}.adaptive_concurrency.v3.AdaptiveConcurrency"),
        "gradient_controller_config": {
            "sample_aggregate_percentile": {"value": 90},
            "concurrency_limit_params": {"concurrency_update_interval": "0.1s"},
            "min_rtt_calc_params": {
                "jitter": {"value": 10}, "interval": "60s", "request_count": 50,
                "min_concurrency": known.at_once}}}})
}
