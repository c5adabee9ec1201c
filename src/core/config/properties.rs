//! Properties of parsing as a whole.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Config, ConfigError};

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = Config::parse(&bytes);
    }

    /// L14, and no error ever carries more than a short piece of the configuration.
    #[test]
    fn arbitrary_json_never_panics_and_errors_stay_short(json in any_json()) {
        if let Err(error) = Config::parse(json.to_string().as_bytes()) {
            prop_assert!(error.to_string().chars().count() < 1200, "{error}");
        }
    }

    #[test]
    fn a_broken_field_is_named(field in field_path(), value in any_json()) {
        let mut config = full();
        set(&mut config, &field, value.clone());
        match Config::parse(config.to_string().as_bytes()) {
            Ok(_) | Err(ConfigError::Json { .. }) => {}
            Err(error) => {
                let text = error.to_string();
                let pair = field.ends_with("base_delay_ms") || field.ends_with("provider");
                prop_assert!(pair || text.starts_with(&field), "{field} = {value}: {text}");
            }
        }
    }

    #[test]
    fn hash_ignores_white_space_and_order(seed in any::<u64>()) {
        let plain = Config::parse(full().to_string().as_bytes());
        let text = scrambled(&full(), seed, 0);
        prop_assert_eq!(Config::parse(text.as_bytes()), plain);
    }
}

#[test]
fn hash_changes_with_every_field() {
    let mut seen = vec![Config::parse(full().to_string().as_bytes()).unwrap().hash()];
    let changes = [
        ("max_keys", json!(8)),
        ("share.of", json!(3)),
        ("policies[0].name", json!("b")),
        ("policies[0].match.clusters", json!(["d"])),
        ("policies[0].match.clusters", json!(["c", "d"])),
        ("policies[0].match.clusters", json!(["cd"])),
        ("policies[0].match.hosts", json!(["x"])),
        ("policies[0].match.hosts", json!(["x", "*"])),
        ("policies[0].match.path_prefixes", json!(["/w"])),
        ("policies[0].provider", json!("openai")),
        ("policies[0].key", json!(["host"])),
        ("policies[0].key", json!(["path_prefix"])),
        ("policies[0].key", json!(["host", "cluster"])),
        ("policies[0].key", json!(["cluster", "host"])),
        ("policies[0].key", json!(["credential"])),
        ("policies[0].key", json!([{ "header": "x" }])),
        ("policies[0].key", json!([{ "credential": "x" }])),
        ("policies[0].mode", json!("enforce")),
        ("policies[0].max_concurrent_calls", json!(0)),
        ("policies[0].max_concurrent_calls", json!(9)),
        ("policies[0].rate", json!({ "requests_per_minute": 7.5 })),
        ("policies[0].rate.requests_per_minute", json!(9)),
        ("policies[0].ramp", json!({ "mode": "off" })),
        ("policies[0].ramp.initial_per_second", json!(9)),
        ("policies[0].ramp.every_ms", json!(901)),
        ("policies[0].ramp.growth_percent", json!(10)),
        (
            "policies[0].ramp",
            json!({ "initial_per_second": 0.5, "every_ms": 900, "step_per_second": 9e-9 }),
        ),
        ("policies[0].queue.priority_header", json!("x")),
        ("policies[0].queue.fair_by", json!("credential")),
        ("policies[0].queue.fair_by.header", json!("x")),
        ("policies[0].queue.weights", json!({})),
        ("policies[0].queue.weights", json!({ "x": 2 })),
        ("policies[0].queue.weights.w", json!(3)),
        ("policies[0].queue.max_waiting", json!(0)),
        ("policies[0].queue.max_wait_ms", json!(0)),
        ("policies[0].queue.no_wait_header", json!(null)),
        ("policies[0].queue.no_wait_header", json!("x")),
        ("policies[0].retry.retry_max_attempts", json!(9)),
        ("policies[0].retry.burst_max_attempts", json!(9)),
        ("policies[0].retry.retry_base_delay_ms", json!(9)),
        ("policies[0].retry.retry_cap_delay_ms", json!(9999)),
        ("policies[0].retry.burst_retry_base_delay_ms", json!(9)),
        ("policies[0].retry.burst_retry_cap_delay_ms", json!(9999)),
        ("policies[0].retry.retry_after_cap_ms", json!(9)),
        ("policies[0].retry.budget_ms", json!(9)),
        ("policies[0].patience_header", json!("x")),
        ("policies[1].server_queue_ms", json!(3000)),
        ("policies[0].failover.header", json!("x")),
        ("policies[0].failover.value", json!("x")),
        ("policies[0].failover.cluster", json!("x")),
        ("policies[0].failover.after_ms", json!(9)),
        ("policies[0].classify.map_200", json!(true)),
        ("policies[0].classify.rules[0].status", json!(430)),
        ("policies[0].classify.rules[0].header.name", json!("x")),
        ("policies[0].classify.rules[0].header.value", json!("x")),
        ("policies[0].classify.rules[0].json_path", json!("x")),
        ("policies[0].classify.rules[0].equals", json!("x")),
        ("policies[0].classify.rules[0].phrase", json!("x")),
        ("policies[0].classify.rules[0].class", json!("other")),
        ("policies[0].classify.rules[0].wait_header", json!("x")),
        ("policies[1].name", json!("c")),
        ("policies", json!([])),
    ];
    for (field, value) in changes {
        let mut config = full();
        set(&mut config, field, value.clone());
        let hash = Config::parse(config.to_string().as_bytes()).unwrap().hash();
        assert!(!seen.contains(&hash), "{field} = {value}");
        seen.push(hash);
    }
}

#[test]
fn what_means_the_same_hashes_the_same() {
    let hash = |json: &str| Config::parse(json.as_bytes()).unwrap().hash();
    let same = [
        ("", "{}"),
        ("{}", r#"{"version":1,"max_keys":1024}"#),
        ("{}", r#"{"share":{"of":1}}"#),
        ("{}", r#"{"policies":[{"name":"default"}]}"#),
        (
            "{}",
            r#"{"policies":[{"name":"default","ramp":{"mode":"learn"},"mode":"enforce"}]}"#,
        ),
        (r#"{"max_keys":8}"#, r#"{"max_keys":8.0}"#),
        (
            r#"{"policies":[{"name":"a","rate":{"requests_per_minute":30}}]}"#,
            r#"{"policies":[{"name":"a","rate":{"requests_per_second":0.5,"burst":1}}]}"#,
        ),
        (
            r#"{"policies":[{"name":"a","provider":"ollama"}]}"#,
            r#"{"policies":[{"name":"a","provider":"ollama","max_concurrent_calls":1}]}"#,
        ),
        (
            r#"{"policies":[{"name":"a","match":{"hosts":["[::A]"]},"patience_header":"X-P"}]}"#,
            r#"{"policies":[{"name":"a","match":{"hosts":["::a"]},"patience_header":"x-p"}]}"#,
        ),
    ];
    for (left, right) in same {
        assert_eq!(hash(left), hash(right), "{left} {right}");
    }
}

#[test]
fn neighbours_do_not_run_together_in_the_hash() {
    let hash = |matcher: &str| {
        let json = format!(r#"{{"policies":[{{"name":"a","match":{matcher}}}]}}"#);
        Config::parse(json.as_bytes()).unwrap().hash()
    };
    let differ = [
        (r#"{"clusters":["/v"]}"#, r#"{"path_prefixes":["/v"]}"#),
        (r#"{"clusters":["ab","c"]}"#, r#"{"clusters":["a","bc"]}"#),
    ];
    for (left, right) in differ {
        assert_ne!(hash(left), hash(right), "{left} {right}");
    }
}

/// L6: each Envoy's part changes with their number, or at least what it does after a refusal.
#[test]
fn the_number_of_envoys_changes_the_limits() {
    let limits = |of: u32| {
        let json = format!(
            r#"{{"share":{{"of":{of}}},"policies":[{{"name":"a","max_concurrent_calls":1}}]}}"#
        );
        Config::parse(json.as_bytes()).unwrap().policies()[0].limits_hash()
    };
    assert_ne!(limits(1), limits(2));
    assert_ne!(limits(2), limits(3));
}

#[test]
fn limits_have_a_hash_of_their_own() {
    let limits = |policy: &str| {
        let json = format!(r#"{{"policies":[{{"name":"a",{policy}}}]}}"#);
        Config::parse(json.as_bytes()).unwrap().policies()[0].limits_hash()
    };
    let one = limits(r#""max_concurrent_calls":1"#);
    assert_eq!(
        one,
        limits(
            r#""max_concurrent_calls":1,"key":["host"],"retry":{"budget_ms":1},"mode":"shadow""#
        )
    );
    assert_eq!(one, limits(r#""provider":"ollama""#));
    assert_ne!(one, limits(r#""max_concurrent_calls":2"#));
    assert_ne!(
        one,
        limits(r#""max_concurrent_calls":1,"queue":{"max_waiting":1}"#)
    );
    let others = [
        r#""rate":{"requests_per_second":1}"#,
        r#""rate":{"requests_per_second":1,"burst":2}"#,
        r#""ramp":{"initial_per_second":1,"every_ms":100,"growth_percent":1}"#,
        r#""ramp":{"initial_per_second":1,"every_ms":100,"step_per_second":1e-9}"#,
        r#""queue":{"fair_by":"credential"}"#,
    ];
    let mut seen = vec![one];
    for other in others {
        let hash = limits(&format!(r#""max_concurrent_calls":1,{other}"#));
        assert!(!seen.contains(&hash), "{other}");
        seen.push(hash);
    }
    let tenants = |by: &str| limits(&format!(r#""queue":{{"fair_by":{by}}}"#));
    assert_eq!(tenants(r#""credential""#), tenants(r#"{"header":"x"}"#));
}

/// A configuration in which every field is set to something other than its default.
fn full() -> Value {
    json!({
        "version": 1,
        "max_keys": 7,
        "share": { "of": 2 },
        "policies": [
            {
                "name": "a",
                "mode": "shadow",
                "match": { "clusters": ["c"], "hosts": ["h.*"], "path_prefixes": ["/v"] },
                "provider": "groq",
                "key": ["cluster", "path_prefix", { "header": "h" }, { "credential": "c" }],
                "max_concurrent_calls": 3,
                "rate": { "requests_per_minute": 7.5, "burst": 8 },
                "ramp": { "initial_per_second": 0.5, "every_ms": 900, "growth_percent": 9 },
                "queue": {
                    "max_waiting": 5,
                    "max_wait_ms": 6,
                    "no_wait_header": "n",
                    "priority_header": "i",
                    "fair_by": { "header": "f" },
                    "weights": { "w": 2 }
                },
                "retry": {
                    "retry_max_attempts": 4,
                    "burst_max_attempts": 5,
                    "retry_base_delay_ms": 10,
                    "retry_cap_delay_ms": 20,
                    "burst_retry_base_delay_ms": 30,
                    "burst_retry_cap_delay_ms": 40,
                    "retry_after_cap_ms": 50,
                    "budget_ms": 60
                },
                "patience_header": "p",
                "failover": { "header": "f", "value": "v", "cluster": "c", "after_ms": 70 },
                "classify": {
                    "rules": [{
                        "status": 420,
                        "header": { "name": "n", "value": "v" },
                        "json_path": "a[0].b",
                        "equals": "e",
                        "phrase": "p",
                        "class": "rate",
                        "wait_header": "w"
                    }],
                    "map_200": false
                }
            },
            { "name": "z", "provider": "dashscope", "server_queue_ms": 4000 }
        ]
    })
}

fn field_path() -> impl Strategy<Value = String> {
    let mut paths = Vec::new();
    collect_paths(&full(), "", &mut paths);
    proptest::sample::select(paths)
}

fn collect_paths(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{name}");
                collect_paths(value, &path, paths);
                paths.push(path);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect_paths(value, &format!("{path}[{index}]"), paths);
            }
        }
        _ => {}
    }
}

fn set(config: &mut Value, path: &str, value: Value) {
    let pointer = format!(
        "/{}",
        path.replace('[', "/").replace(']', "").replace('.', "/")
    );
    *config.pointer_mut(&pointer).unwrap() = value;
}

/// The same JSON with its fields in another order and white space between all tokens.
fn scrambled(value: &Value, seed: u64, depth: usize) -> String {
    let space = [" ", "\n\t", "", "\r\n"][(seed as usize + depth) % 4];
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|v| scrambled(v, seed / 3, depth + 1))
                .collect();
            format!("[{space}{}{space}]", items.join(&format!("{space},")))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(name, v)| format!("\"{name}\"{space}:{}", scrambled(v, seed / 3, depth + 1)))
                .collect();
            let middle = seed as usize % fields.len();
            fields.rotate_left(middle);
            format!("{space}{{{}{space}}}{space}", fields.join(","))
        }
        other => format!("{space}{other}"),
    }
}

/// JSON of any shape, with the configuration's own names and values often among it.
fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        proptest::sample::select(vec![
            "enforce",
            "shadow",
            "off",
            "cluster",
            "credential",
            "auto",
            "openai",
            "a",
            "/v",
            "*",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u32..20).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let name = prop_oneof![
        proptest::sample::select(vec![
            "version",
            "max_keys",
            "share",
            "of",
            "policies",
            "name",
            "mode",
            "match",
            "hosts",
            "provider",
            "key",
            "rate",
            "ramp",
            "queue",
            "retry",
            "max_waiting",
            "budget_ms",
            "header",
            "credential",
            "fair_by",
            "weights",
            "burst",
            "every_ms",
            "requests_per_minute",
            "initial_per_second",
            "growth_percent",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}
