//! Every message an operator can get about a configuration, in one place; and the defaults.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use weir::core::config::{
    Attempts, Config, ConfigError, Facts, FairBy, Growth, HeaderName, KeyPart, Mode, Percent,
    Policy, Ramp, Rate, Step, Window,
};

/// (configuration, the whole message).
const WHOLE: &[(&str, &str)] = &[
    (
        "{\n \"max_keys\": 1,,\n}",
        "the configuration is not valid JSON: key must be a string at line 2, column 16",
    ),
    (
        "{\"max_keys\": 1",
        "the configuration is not valid JSON: EOF while parsing an object at line 1, column 14",
    ),
    (
        "\n\n{} {}",
        "the configuration is not valid JSON: trailing characters at line 3, column 4",
    ),
    (
        r#"{"max_keys": NaN}"#,
        "the configuration is not valid JSON: expected value at line 1, column 14",
    ),
    (
        r#"{"max_keys": 1e999}"#,
        "the configuration is not valid JSON: number out of range at line 1, column 18",
    ),
    ("[]", "the configuration: must be an object, not []"),
    ("null", "the configuration: must be an object, not null"),
    (
        r#"{"version": 2}"#,
        "version: must be 1, the only version there is, not 2",
    ),
    (
        r#"{"version": "1"}"#,
        "version: must be 1, the only version there is, not \"1\"",
    ),
    (
        r#"{"max_keys": 0}"#,
        "max_keys: must be a whole number from 1 to 4096, not 0",
    ),
    (
        r#"{"max_keys": 4097}"#,
        "max_keys: must be a whole number from 1 to 4096, not 4097",
    ),
    (r#"{"share": 3}"#, "share: must be an object, not 3"),
    (
        r#"{"policies": [{"name": "a", "provider": "dashscope", "server_queue_ms": 2999}]}"#,
        "policies[0].server_queue_ms: must be a whole number from 3000 to 120000, not 2999",
    ),
    (
        r#"{"policies": [{"name": "a", "server_queue_ms": 3000}]}"#,
        "policies[0].server_queue_ms: must be left out unless \"provider\" is \"dashscope\", which \
         alone can be asked to queue, not 3000",
    ),
    (
        r#"{"policies": [{"name": "a", "failover": {"header": "x", "value": "b"}}]}"#,
        "policies[0].failover.cluster: missing, but required; must be the name of a cluster (not empty)",
    ),
    (
        r#"{"policies": [{"name": "a", "failover": {"header": "X-Weir-B", "value": "b", "cluster": "b"}}]}"#,
        "policies[0].failover.header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not \
         empty) that does not begin with \"x-weir-\", not \"X-Weir-B\"",
    ),
    (
        r#"{"policies": [{"name": "a", "failover": {"header": "x", "value": "a b", "cluster": "b"}}]}"#,
        "policies[0].failover.value: must be visible ASCII characters without spaces, at least one, \
         not \"a b\"",
    ),
    (
        r#"{"share": {}}"#,
        "share.of: missing, but required; must be a whole number from 1 to 100000",
    ),
    (
        r#"{"share": {"of": 0}}"#,
        "share.of: must be a whole number from 1 to 100000, not 0",
    ),
    (
        r#"{"share": {"of": 100001}}"#,
        "share.of: must be a whole number from 1 to 100000, not 100001",
    ),
    (
        r#"{"share": {"on": 2}}"#,
        "share.on: unknown field, given as 2; known are of",
    ),
    (
        r#"{"max_keys": null}"#,
        "max_keys: must be a whole number from 1 to 4096, not null",
    ),
    (
        r#"{"max_keys": 18446744073709551617}"#,
        "max_keys: must be a whole number from 1 to 4096, not 18446744073709551617",
    ),
    (
        r#"{"max_keys": 4294967297}"#,
        "max_keys: must be a whole number from 1 to 4096, not 4294967297",
    ),
    (
        r#"{"policy": []}"#,
        "policy: unknown field, given as []; did you mean \"policies\"?",
    ),
    (
        r#"{"x y": 1}"#,
        r#"["x y"]: unknown field, given as 1; known are version, max_keys, share, policies"#,
    ),
    (
        r#"{"max_keys": 1, "max_keys": 2}"#,
        "max_keys: given more than once, the second time as 2; must be given once",
    ),
    (
        r#"{"policies": {"name": "a"}}"#,
        r#"policies: must be a list, not {"name":"a"}"#,
    ),
    (
        r#"{"policies": null}"#,
        "policies: must be a list, not null",
    ),
    (
        r#"{"policies": ["ark"]}"#,
        r#"policies[0]: must be an object, not "ark""#,
    ),
    (
        r#"{"policies": [{}]}"#,
        r#"policies[0].name: missing, but required; must be 1 to 40 characters of a-z, 0-9, "_" and "-""#,
    ),
    (
        r#"{"policies": [{"name": "a"}, {"name": "A.b"}]}"#,
        r#"policies[1].name: must be 1 to 40 characters of a-z, 0-9, "_" and "-", not "A.b""#,
    ),
    (
        r#"{"policies": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}"#,
        r#"policies[2].name: must be a name of its own (policies[0] has this one), not "a""#,
    ),
    (
        r#"{"policies": [{"name": "a", "name": "b"}]}"#,
        r#"policies[0].name: given more than once, the second time as "b"; must be given once"#,
    ),
    (
        r#"{"policies": [{"name": 7}]}"#,
        r#"policies[0].name: must be 1 to 40 characters of a-z, 0-9, "_" and "-", not 7"#,
    ),
    (
        r#"{"policies": [{"name": "0123456789012345678901234567890123456789012345678901234567890123456789"}]}"#,
        r#"policies[0].name: must be 1 to 40 characters of a-z, 0-9, "_" and "-", not "0123456789012345678901234567890123456789012345678901234567…"#,
    ),
];

/// (fields of a policy, the message after `policies[0].`).
const IN_POLICY: &[(&str, &str)] = &[
    // Unknown fields, at each level.
    (
        r#""max_concurent_calls": 8"#,
        r#"max_concurent_calls: unknown field, given as 8; did you mean "max_concurrent_calls"?"#,
    ),
    (
        r#""match": {"cluster": ["a"]}"#,
        r#"match.cluster: unknown field, given as ["a"]; did you mean "clusters"?"#,
    ),
    (
        r#""queue": {"max_wait": 5}"#,
        r#"queue.max_wait: unknown field, given as 5; did you mean "max_wait_ms"?"#,
    ),
    (
        r#""retry": {"max_attempts": 5}"#,
        r#"retry.max_attempts: unknown field, given as 5; did you mean "retry_max_attempts"?"#,
    ),
    (
        r#""queue": {"max_waiting": 1, "max_waiting": 2}"#,
        "queue.max_waiting: given more than once, the second time as 2; must be given once",
    ),
    // match
    (r#""match": []"#, "match: must be an object, not []"),
    (
        r#""match": {"clusters": "a"}"#,
        r#"match.clusters: must be a list, not "a""#,
    ),
    (
        r#""match": {"clusters": []}"#,
        "match.clusters: must be a list of at least one, or left out, not []",
    ),
    (
        r#""match": {"clusters": ["a", ""]}"#,
        r#"match.clusters[1]: must be the name of a cluster (not empty), not """#,
    ),
    (
        r#""match": {"hosts": ["https://a.b"]}"#,
        r#"match.hosts[0]: must be a host or a pattern with "*", without scheme, port or path (letters, digits, ".", "-", "_"; ":" in IPv6 addresses), not "https://a.b""#,
    ),
    (
        r#""match": {"hosts": ["a.b", "a.b:443"]}"#,
        r#"match.hosts[1]: must be a host or a pattern with "*", without scheme, port or path (letters, digits, ".", "-", "_"; ":" in IPv6 addresses), not "a.b:443""#,
    ),
    (
        r#""match": {"path_prefixes": ["api"]}"#,
        r#"match.path_prefixes[0]: must be the beginning of a path: "/" first, and no "?", not "api""#,
    ),
    (
        r#""match": {"path_prefixes": ["/api?x"]}"#,
        r#"match.path_prefixes[0]: must be the beginning of a path: "/" first, and no "?", not "/api?x""#,
    ),
    // provider
    (
        r#""provider": "olama""#,
        r#"provider: "olama" is not a known provider; did you mean "ollama"?"#,
    ),
    (
        r#""provider": "ark""#,
        r#"provider: "ark" is not a known provider; did you mean "volcano-ark"?"#,
    ),
    (
        r#""provider": null"#,
        "provider: null is not a known provider; known are aimlapi, anthropic, auto, aws-bedrock, \
         azure-openai, baidu-qianfan, byteplus-modelark, cerebras, cloudflare, cohere, crusoe, \
         dashscope, databricks, deepseek, dify, digitalocean, elevenlabs, envoy, fireworks, \
         gemini, generic, github-copilot, github-models, groq, huawei-maas, huggingface, ibm-watsonx, \
         iflytek-spark, kling, kong, litellm, llama-cpp, minimax, mistral, moonshot, nebius, \
         neuralwatt, new-api, nginx, nvidia-nim, oci, ollama, ollama-cloud, openai, openai-codex, opengateway, \
         openrouter, perplexity, replicate, siliconflow, snowflake, tencent, tgi, together, vertex, vllm, volcano-ark, \
         wandb-inference, whisperx, xai, zhipu",
    ),
    // key
    (
        r#""key": "cluster""#,
        r#"key: must be a list, not "cluster""#,
    ),
    (
        r#""key": []"#,
        "key: must be a list of at least one, or left out, not []",
    ),
    (
        r#""key": ["host", "cluster", "host"]"#,
        r#"key[2]: must be a part that is not in the list already, not "host""#,
    ),
    (
        r#""key": ["hosts"]"#,
        r#"key[0]: "hosts" is not a known key part; did you mean "host"?"#,
    ),
    (
        r#""key": [{"cookie": "x"}]"#,
        r#"key[0].cookie: unknown field, given as "x"; known are header, credential"#,
    ),
    (
        r#""key": [7]"#,
        r#"key[0]: 7 is not a known key part; known are cluster, host, path_prefix, credential, {"header": NAME}, {"credential": NAME}"#,
    ),
    // max_concurrent_calls
    (
        r#""max_concurrent_calls": 65536"#,
        "max_concurrent_calls: must be a whole number from 0 to 65535, not 65536",
    ),
    (
        r#""max_concurrent_calls": -1"#,
        "max_concurrent_calls: must be a whole number from 0 to 65535, not -1",
    ),
    (
        r#""max_concurrent_calls": 1.5"#,
        "max_concurrent_calls: must be a whole number from 0 to 65535, not 1.5",
    ),
    (
        r#""max_concurrent_calls": "8""#,
        r#"max_concurrent_calls: must be a whole number from 0 to 65535, not "8""#,
    ),
    (
        r#""max_concurrent_calls": true"#,
        "max_concurrent_calls: must be a whole number from 0 to 65535, not true",
    ),
    (
        r#""max_concurrent_calls": null"#,
        "max_concurrent_calls: must be a whole number from 0 to 65535, not null",
    ),
    // queue
    (r#""queue": 5"#, "queue: must be an object, not 5"),
    (
        r#""queue": {"max_waiting": 100001}"#,
        "queue.max_waiting: must be a whole number from 0 to 100000, not 100001",
    ),
    (
        r#""queue": {"max_wait_ms": 3600001}"#,
        "queue.max_wait_ms: must be a whole number from 0 to 3600000, not 3600001",
    ),
    (
        r#""queue": {"no_wait_header": "a b"}"#,
        r#"queue.no_wait_header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), or null, not "a b""#,
    ),
    (
        r#""queue": {"no_wait_header": false}"#,
        "queue.no_wait_header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), or null, not false",
    ),
    // retry
    (r#""retry": null"#, "retry: must be an object, not null"),
    (
        r#""retry": {"retry_max_attempts": 0}"#,
        "retry.retry_max_attempts: must be a whole number from 1 to 10, not 0",
    ),
    (
        r#""retry": {"burst_max_attempts": 11}"#,
        "retry.burst_max_attempts: must be a whole number from 1 to 10, not 11",
    ),
    (
        r#""retry": {"retry_base_delay_ms": 0}"#,
        "retry.retry_base_delay_ms: must be a whole number from 1 to 3600000, not 0",
    ),
    (
        r#""retry": {"retry_cap_delay_ms": 3600001}"#,
        "retry.retry_cap_delay_ms: must be a whole number from 1 to 3600000, not 3600001",
    ),
    (
        r#""retry": {"retry_base_delay_ms": 1000, "retry_cap_delay_ms": 1199}"#,
        "retry.retry_cap_delay_ms: must be at least 1.2 x retry_base_delay_ms (1000), which is 1200, not 1199",
    ),
    (
        r#""retry": {"retry_base_delay_ms": 7000}"#,
        "retry.retry_cap_delay_ms: must be at least 1.2 x retry_base_delay_ms (7000), which is 8400, not 8000 (the default)",
    ),
    (
        r#""retry": {"burst_retry_cap_delay_ms": 5000}"#,
        "retry.burst_retry_cap_delay_ms: must be at least 1.2 x burst_retry_base_delay_ms (5000), which is 6000, not 5000",
    ),
    (
        r#""retry": {"retry_base_delay_ms": 3000001, "retry_cap_delay_ms": 3600000}"#,
        "retry.retry_cap_delay_ms: must be at least 1.2 x retry_base_delay_ms (3000001), which is 3600002, not 3600000",
    ),
    (
        r#""retry": {"retry_after_cap_ms": 3600001}"#,
        "retry.retry_after_cap_ms: must be a whole number from 0 to 3600000, not 3600001",
    ),
    (
        r#""retry": {"budget_ms": -5}"#,
        "retry.budget_ms: must be a whole number from 0 to 3600000, not -5",
    ),
    // patience_header
    (
        r#""patience_header": ":path""#,
        r#"patience_header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not ":path""#,
    ),
    (
        r#""patience_header": null"#,
        "patience_header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not null",
    ),
    // mode
    (
        r#""mode": "enforced""#,
        r#"mode: "enforced" is not a known mode; did you mean "enforce"?"#,
    ),
    (
        r#""mode": true"#,
        "mode: true is not a known mode; known are enforce, shadow",
    ),
    // rate
    (r#""rate": 5"#, "rate: must be an object, not 5"),
    (r#""rate": null"#, "rate: must be an object, not null"),
    (
        r#""rate": {}"#,
        r#"rate: must be an object with "requests_per_minute" or "requests_per_second", not {}"#,
    ),
    (
        r#""rate": {"burst": 5}"#,
        r#"rate: must be an object with "requests_per_minute" or "requests_per_second", not {"burst":5}"#,
    ),
    (
        r#""rate": {"requests_per_minute": 600, "requests_per_second": 10}"#,
        r#"rate.requests_per_second: must be left out beside "requests_per_minute", not 10"#,
    ),
    (
        r#""rate": {"requests_per_hour": 600}"#,
        r#"rate.requests_per_hour: unknown field, given as 600; did you mean "requests_per_minute"?"#,
    ),
    (
        r#""rate": {"requests_per_minute": 0}"#,
        "rate.requests_per_minute: must be a number above 0 and at most 60000000, not 0",
    ),
    (
        r#""rate": {"requests_per_minute": 60000000.5}"#,
        "rate.requests_per_minute: must be a number above 0 and at most 60000000, not 60000000.5",
    ),
    (
        r#""rate": {"requests_per_second": -0.5}"#,
        "rate.requests_per_second: must be a number above 0 and at most 1000000, not -0.5",
    ),
    (
        r#""rate": {"requests_per_second": 1000001}"#,
        "rate.requests_per_second: must be a number above 0 and at most 1000000, not 1000001",
    ),
    (
        r#""rate": {"requests_per_second": "5"}"#,
        r#"rate.requests_per_second: must be a number above 0 and at most 1000000, not "5""#,
    ),
    (
        r#""rate": {"requests_per_second": 5, "burst": 0}"#,
        "rate.burst: must be a whole number from 1 to 100000, not 0",
    ),
    (
        r#""rate": {"requests_per_second": 5, "burst": 100001}"#,
        "rate.burst: must be a whole number from 1 to 100000, not 100001",
    ),
    (
        r#""rate": {"requests_per_second": 5, "burst": 1.5}"#,
        "rate.burst: must be a whole number from 1 to 100000, not 1.5",
    ),
    // ramp
    (r#""ramp": null"#, "ramp: must be an object, not null"),
    (
        r#""ramp": {"mode": "of"}"#,
        r#"ramp.mode: "of" is not a known mode; did you mean "off"?"#,
    ),
    (
        r#""ramp": {"mode": "off", "every_ms": 1000}"#,
        r#"ramp.every_ms: must be left out beside "mode", not 1000"#,
    ),
    (
        r#""ramp": {}"#,
        "ramp.initial_per_second: missing, but required; must be a number above 0 and at most 1000000",
    ),
    (
        r#""ramp": {"initial_per_second": 0, "every_ms": 1000, "growth_percent": 50}"#,
        "ramp.initial_per_second: must be a number above 0 and at most 1000000, not 0",
    ),
    (
        r#""ramp": {"initial_per_second": 1000001, "every_ms": 1000, "growth_percent": 50}"#,
        "ramp.initial_per_second: must be a number above 0 and at most 1000000, not 1000001",
    ),
    (
        r#""ramp": {"initial_per_second": 1, "growth_percent": 50}"#,
        "ramp.every_ms: missing, but required; must be a whole number from 100 to 3600000",
    ),
    (
        r#""ramp": {"initial_per_second": 1, "every_ms": 99, "growth_percent": 50}"#,
        "ramp.every_ms: must be a whole number from 100 to 3600000, not 99",
    ),
    (
        r#""ramp": {"initial_per_second": 1, "every_ms": 1000}"#,
        r#"ramp: must be an object with "growth_percent" or "step_per_second", not {"initial_per_second":1,"every_ms":1000}"#,
    ),
    (
        r#""ramp": {"initial_per_second": 1, "every_ms": 1000, "step_per_second": 1, "growth_percent": 50}"#,
        r#"ramp.step_per_second: must be left out beside "growth_percent", not 1"#,
    ),
    (
        r#""ramp": {"initial_per_second": 1, "every_ms": 1000, "growth_percent": 0}"#,
        "ramp.growth_percent: must be a whole number from 1 to 1000, not 0",
    ),
    (
        r#""ramp": {"initial_per_second": 1, "every_ms": 1000, "growth_percent": 1001}"#,
        "ramp.growth_percent: must be a whole number from 1 to 1000, not 1001",
    ),
    (
        r#""ramp": {"initial_per_second": 1, "every_ms": 1000, "step_per_second": 0}"#,
        "ramp.step_per_second: must be a number above 0 and at most 1000000, not 0",
    ),
    // key by credential and header
    (
        r#""key": [{}]"#,
        r#"key[0]: must be an object with "header" or "credential", not {}"#,
    ),
    (
        r#""key": [{"header": "x", "credential": "x"}]"#,
        r#"key[0].credential: must be left out beside "header", not "x""#,
    ),
    (
        r#""key": [{"header": ":path"}]"#,
        r#"key[0].header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not ":path""#,
    ),
    (
        r#""key": [{"credential": 7}]"#,
        "key[0].credential: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not 7",
    ),
    (
        r#""key": [{"header": "x-model"}, "credential", {"header": "X-Model"}]"#,
        r#"key[2]: must be a part that is not in the list already, not {"header":"X-Model"}"#,
    ),
    (
        r#""key": ["credentials"]"#,
        r#"key[0]: "credentials" is not a known key part; did you mean "credential"?"#,
    ),
    // Who goes first in the queue.
    (
        r#""queue": {"priority_header": null}"#,
        "queue.priority_header: must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty), not null",
    ),
    (
        r#""queue": {"fair_by": "cluster"}"#,
        r#"queue.fair_by: must be "credential" or {"header": NAME}, not "cluster""#,
    ),
    (
        r#""queue": {"fair_by": ["credential"]}"#,
        r#"queue.fair_by: must be "credential" or {"header": NAME}, not ["credential"]"#,
    ),
    (
        r#""queue": {"fair_by": {"credential": "x"}}"#,
        r#"queue.fair_by.credential: unknown field, given as "x"; known are header"#,
    ),
    (
        r#""queue": {"fair_by": {}}"#,
        "queue.fair_by.header: missing, but required; must be a header name (letters, digits and !#$%&'*+-.^_`|~, not empty)",
    ),
    (
        r#""queue": {"weights": {"sk-secret": 1}}"#,
        r#"queue.fair_by: missing, but required; must be "credential" or {"header": NAME}"#,
    ),
    (
        r#""queue": {"fair_by": {"header": "x-team"}, "weights": 5}"#,
        "queue.weights: must be an object, not 5",
    ),
    (
        r#""queue": {"fair_by": {"header": "x-team"}, "weights": {"a": 1, "b": 0}}"#,
        "queue.weights.b: must be a whole number from 1 to 100, not 0",
    ),
    (
        r#""queue": {"fair_by": {"header": "x-team"}, "weights": {"a": 1, "a": 2}}"#,
        "queue.weights.a: given more than once, the second time as 2; must be given once",
    ),
    (
        r#""queue": {"fair_by": "credential", "weights": {"sk-1": 1, "sk-secret": 101}}"#,
        "queue.weights[1]: must be a whole number from 1 to 100, not 101",
    ),
    (
        r#""queue": {"fair_by": "credential", "weights": {"sk-secret": 1, "Bearer sk-secret": 2}}"#,
        "queue.weights[1]: given more than once, the second time as 2; must be given once",
    ),
];

#[test]
fn every_rule_has_its_message() {
    for (json, message) in WHOLE {
        assert_eq!(refusal(json).to_string(), *message, "{json}");
    }
    for (fields, message) in IN_POLICY {
        let json = format!(r#"{{"policies": [{{"name": "a", {fields}}}]}}"#);
        let message = format!("policies[0].{message}");
        assert_eq!(refusal(&json).to_string(), message, "{json}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_not_json() {
    let error = Config::parse(b"{\"\xff\": 1}").unwrap_err();
    assert!(
        matches!(error, ConfigError::Json { line: 1, .. }),
        "{error}"
    );
}

#[test]
fn nesting_is_bounded() {
    let error = refusal(&"[".repeat(100_000));
    assert_eq!(
        error.to_string(),
        "the configuration is not valid JSON: recursion limit exceeded at line 1, column 128"
    );
}

#[test]
fn the_documented_example_parses() {
    let config = Config::parse(include_bytes!("data/config/example.json")).unwrap();
    let [policy] = config.policies() else {
        panic!("{config:?}");
    };
    assert_eq!(config.max_keys(), 1024);
    assert_eq!(policy.name(), "ark");
    assert_eq!(policy.provider().name(), "volcano-ark");
    assert_eq!(policy.key(), [KeyPart::Cluster, KeyPart::Credential]);
    assert_eq!(policy.max_concurrent_calls().map(u32::from), Some(8));
    assert_eq!(policy.rate(), Rate::new(10_000_000_000, 10));
    let growth = Growth::Percent(Percent::new(50).unwrap());
    assert_eq!(policy.ramp(), Ramp::new(2_000_000_000, 10_000, growth));
    assert_defaults(policy);
    let taken = |host: &[u8], path: &[u8]| {
        let facts = Facts {
            cluster: b"ark",
            host,
            path,
            headers: &[],
        };
        config.policy_for(&facts).is_some()
    };
    assert!(taken(b"ark.cn-beijing.volces.com:443", b"/api/v3/chat?a"));
    assert!(!taken(b"ark.cn-beijing.volces.com:443", b"/v3"));
    assert!(!taken(b"volces.com", b"/api/v3"));
}

#[test]
fn nothing_at_all_is_one_policy_of_defaults() {
    for json in ["", " \n", "{}", r#"{"version": 1}"#, r#"{"version": 1.0}"#] {
        let config = Config::parse(json.as_bytes()).unwrap();
        let [policy] = config.policies() else {
            panic!("{config:?}");
        };
        assert_eq!(config.max_keys(), 1024);
        assert_eq!(policy.name(), "default");
        assert_eq!(policy.provider().name(), "auto");
        assert_eq!(policy.max_concurrent_calls(), None);
        assert_eq!(policy.key(), [KeyPart::Cluster]);
        assert_eq!((policy.rate(), policy.ramp()), (None, None));
        assert_defaults(policy);
        assert!(config.policy_for(&Facts::default()).is_some());
    }
}

#[test]
fn no_policies_is_a_configuration() {
    let config = Config::parse(br#"{"policies": []}"#).unwrap();
    assert!(config.policies().is_empty());
    assert_eq!(config.policy_for(&Facts::default()), None);
}

#[test]
fn bounds_are_inside() {
    let right = [
        r#""max_concurrent_calls": 65535, "name": "0123456789012345678901234567890123456789""#,
        r#""name": "a", "queue": {"max_waiting": 100000, "max_wait_ms": 3600000}"#,
        r#""name": "a", "queue": {"max_waiting": 0, "max_wait_ms": 0}"#,
        r#""name": "a", "retry": {"retry_max_attempts": 1, "burst_max_attempts": 10}"#,
        r#""name": "a", "retry": {"retry_base_delay_ms": 1, "retry_cap_delay_ms": 2}"#,
        r#""name": "a", "retry": {"retry_base_delay_ms": 3e6, "retry_cap_delay_ms": 3600000.0}"#,
        r#""name": "a", "retry": {"retry_after_cap_ms": 0, "budget_ms": 3600000}"#,
        r#""name": "a", "mode": "enforce", "ramp": {"mode": "off"}, "match": {}"#,
        r#""name": "a", "key": ["path_prefix", "host", "cluster"]"#,
        r#""name": "a", "key": ["credential", {"credential": "x"}, {"header": "x"}, {"header": "y"}]"#,
        r#""name": "a", "rate": {"requests_per_minute": 60000000, "burst": 100000}"#,
        r#""name": "a", "rate": {"requests_per_second": 0.000000001, "burst": 1}"#,
        r#""name": "a", "ramp": {"initial_per_second": 1e6, "every_ms": 3600000, "growth_percent": 1000}"#,
        r#""name": "a", "ramp": {"initial_per_second": 1e-9, "every_ms": 100, "step_per_second": 1e6}"#,
    ];
    for fields in right {
        policy(fields);
    }
    for max_keys in [1, 4096] {
        let json = format!(r#"{{"max_keys": {max_keys}}}"#);
        assert_eq!(Config::parse(json.as_bytes()).unwrap().max_keys(), max_keys);
    }
    for of in [1, 100_000] {
        let json = format!(r#"{{"share": {{"of": {of}}}}}"#);
        let config = Config::parse(json.as_bytes()).unwrap();
        assert_eq!(config.policies()[0].share().envoys(), of);
    }
}

#[test]
fn a_share_is_part_of_every_limit_and_of_nothing_else() {
    let with = |share: &str| {
        let policies = r#""policies": [
            {"name": "a", "max_concurrent_calls": 20, "queue": {"max_waiting": 100},
             "rate": {"requests_per_second": 9, "burst": 7},
             "ramp": {"initial_per_second": 3, "every_ms": 1000, "step_per_second": 6}},
            {"name": "local", "provider": "ollama"}]"#;
        Config::parse(format!("{{{share} {policies}}}").as_bytes()).unwrap()
    };
    let (whole, third) = (with(""), with(r#""share": {"of": 3},"#));
    let [all, part] = [&whole, &third].map(|config| &config.policies()[0]);
    assert_eq!(all.max_concurrent_calls().map(u32::from), Some(20));
    assert_eq!(part.max_concurrent_calls().map(u32::from), Some(6));
    assert_eq!(part.rate(), Rate::new(3_000_000_000, 2));
    let step = Growth::Step(Step::new(2_000_000_000).unwrap());
    assert_eq!(part.ramp(), Ramp::new(1_000_000_000, 1000, step));
    assert_eq!(part.queue(), all.queue());
    assert_eq!(part.retry(), all.retry());
    // The profile's cap of 1 cannot be divided.
    let exceeded = |config: &Config| {
        let names = config.exceeded().map(|p| p.name().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(exceeded(&third), ["local"]);
    assert_eq!(exceeded(&whole), [""; 0]);
}

#[test]
fn the_cap_is_the_profiles_unless_given() {
    let table = [
        (r#""provider": "ollama""#, Some(1)),
        (r#""provider": "llama-cpp""#, Some(2)),
        (r#""provider": "whisperx""#, Some(1)),
        (r#""provider": "ollama-cloud""#, None),
        (r#""provider": "auto""#, None),
        (
            r#""provider": "ollama", "max_concurrent_calls": 4"#,
            Some(4),
        ),
        (r#""provider": "ollama", "max_concurrent_calls": 0"#, None),
    ];
    for (fields, cap) in table {
        let policy = policy(&format!(r#""name": "a", {fields}"#));
        assert_eq!(
            policy.max_concurrent_calls().map(u32::from),
            cap,
            "{fields}"
        );
    }
}

#[test]
fn rates_are_counted_in_billionths_of_a_permit_a_second() {
    let table = [
        (r#""requests_per_minute": 600"#, 10_000_000_000, 1),
        (r#""requests_per_minute": 1"#, 16_666_666, 1),
        (r#""requests_per_minute": 0.1, "burst": 3"#, 1_666_666, 3),
        (r#""requests_per_second": 0.7"#, 700_000_000, 1),
        (
            r#""requests_per_second": 2.0, "burst": 4.0"#,
            2_000_000_000,
            4,
        ),
        (r#""requests_per_second": 1e-12"#, 1, 1),
        (r#""requests_per_minute": 1e-9"#, 1, 1),
    ];
    for (fields, nano, burst) in table {
        let policy = policy(&format!(r#""name": "a", "rate": {{{fields}}}"#));
        assert_eq!(policy.rate(), Rate::new(nano, burst), "{fields}");
    }
}

#[test]
fn a_ramp_is_off_or_grows_by_percent_or_step() {
    let ramp = |json: &str| policy(&format!(r#""name": "a", "ramp": {json}"#)).ramp();
    assert_eq!(ramp(r#"{"mode": "off"}"#), None);
    let step = Growth::Step(Step::new(250_000_000).unwrap());
    assert_eq!(
        ramp(r#"{"initial_per_second": 0.5, "every_ms": 1000, "step_per_second": 0.25}"#),
        Ramp::new(500_000_000, 1000, step)
    );
}

#[test]
fn a_shadow_policy_says_so() {
    assert_eq!(
        policy(r#""name": "a", "mode": "shadow""#).mode(),
        Mode::Shadow
    );
}

#[test]
fn key_parts_by_header_keep_their_names_in_lower_case() {
    let policy = policy(r#""name": "a", "key": [{"header": "X-Model"}, {"credential": "Key"}]"#);
    let name = |text| HeaderName::parse(text).unwrap();
    assert_eq!(
        policy.key(),
        [
            KeyPart::Header(name("x-model")),
            KeyPart::CredentialIn(name("key"))
        ]
    );
}

#[test]
fn tenants_weigh_what_they_are_given_and_1_otherwise() {
    let by_header =
        policy(r#""name": "a", "queue": {"fair_by": {"header": "X-Team"}, "weights": {"b": 7}}"#);
    let queue = by_header.queue();
    let header = HeaderName::parse("x-team").unwrap();
    assert_eq!(queue.fair_by(), Some(&FairBy::Header(header)));
    assert_eq!((queue.weight_of(b"b"), queue.weight_of(b"B")), (7, 1));
    let by_credential = policy(
        r#""name": "a", "queue": {"fair_by": "credential", "weights": {"Bearer sk-1": 100}}"#,
    );
    let queue = by_credential.queue();
    assert_eq!(queue.fair_by(), Some(&FairBy::Credential));
    assert_eq!((queue.weight_of(b"sk-1"), queue.weight_of(b"")), (100, 1));
}

#[test]
fn weights_are_bounded_and_their_names_stay_out_of_errors() {
    let weights = |count: usize| {
        let list: Vec<_> = (0..count).map(|n| format!(r#""sk-{n}": 2"#)).collect();
        format!(
            r#"{{"policies": [{{"name": "a", "queue": {{"fair_by": "credential", "weights": {{{}}}}}}}]}}"#,
            list.join(",")
        )
    };
    Config::parse(weights(1000).as_bytes()).unwrap();
    assert_eq!(
        refusal(&weights(1001)).to_string(),
        "policies[0].queue.weights: must be an object with at most 1000 fields, not 1001 of them"
    );
}

#[test]
fn header_names_are_lowered_and_null_is_none() {
    let policy = policy(
        r#""name": "a", "patience_header": "X-Patience", "queue": {"no_wait_header": null}"#,
    );
    assert_eq!(policy.patience_header().unwrap().as_str(), "x-patience");
    assert_eq!(policy.queue().no_wait_header(), None);
}

fn assert_defaults(policy: &Policy) {
    assert_eq!(policy.mode(), Mode::Enforce);
    assert_eq!(policy.patience_header(), None);
    let queue = policy.queue();
    assert_eq!((queue.priority_header(), queue.fair_by()), (None, None));
    assert_eq!(queue.weight_of(b"anybody"), 1);
    assert_eq!(queue.max_waiting(), 1000);
    assert_eq!(queue.max_wait(), Duration::from_secs(60));
    assert_eq!(queue.no_wait_header().unwrap().as_str(), "x-weir-no-wait");
    let retry = policy.retry();
    assert_eq!(Some(retry.max_attempts()), Attempts::new(3));
    assert_eq!(Some(retry.burst_max_attempts()), Attempts::new(2));
    assert_eq!(Some(retry.window()), Window::from_millis(1000, 8000));
    assert_eq!(
        Some(retry.burst_window()),
        Window::from_millis(5000, 15_000)
    );
    assert_eq!(retry.retry_after_cap(), Duration::from_secs(600));
    assert_eq!(retry.budget(), Duration::from_secs(120));
}

fn policy(fields: &str) -> Policy {
    let json = format!(r#"{{"policies": [{{{fields}}}]}}"#);
    let config = Config::parse(json.as_bytes());
    config
        .unwrap_or_else(|error| panic!("{json}: {error}"))
        .policies()[0]
        .clone()
}

fn refusal(json: &str) -> ConfigError {
    match Config::parse(json.as_bytes()) {
        Err(error) => error,
        Ok(config) => panic!("{json} was accepted as {config:?}"),
    }
}
