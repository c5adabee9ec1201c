//! The plugin configurations under `examples/plugin`: Weir reads each, Envoy takes each, and they do
//! what their README says.

use crate::support;

use std::path::Path;

use serde_json::json;
use support::{Bootstrap, Envoy, Provider, Reply};
use weir::core::config::{Config, Facts};

fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plugin");
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("text");
            (path.file_name().unwrap().to_str().unwrap().to_owned(), text)
        })
        .collect();
    all.sort();
    all
}

fn example(name: &str) -> Config {
    let (_, text) = examples().into_iter().find(|(n, _)| n == name).unwrap();
    Config::parse(text.as_bytes()).unwrap()
}

#[test]
fn weir_reads_every_example() {
    let names: Vec<String> = examples().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "local-ollama.json",
            "one-provider.json",
            "several-providers.json",
            "shared-gateway.json"
        ]
    );
    for (name, text) in examples() {
        let read = Config::parse(text.as_bytes());
        assert!(read.is_ok_and(|c| !c.policies().is_empty()), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_takes_every_example() {
    let provider = Provider::start(|_| Reply::ok()).await;
    for (name, text) in examples() {
        let config = Bootstrap::new(provider.addr, &json!({})).weir(&text);
        let ended = Envoy::validate(&config).await;
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", ended.log);
    }
}

#[test]
fn one_provider_takes_every_call() {
    let config = example("one-provider.json");
    assert_eq!(policy(&config, "any", "/v1/x"), Some(("openai", Some(16))));
}

#[test]
fn several_providers_go_by_cluster_and_regions_count_apart() {
    let config = example("several-providers.json");
    for (cluster, expected) in [
        ("anthropic", Some(("anthropic", Some(20)))),
        ("ark", Some(("ark", Some(8)))),
        ("dashscope-cn", Some(("dashscope", Some(10)))),
        ("other", None),
    ] {
        assert_eq!(policy(&config, cluster, "/v1/x"), expected, "{cluster}");
    }
    let key = |cluster| key(&config, cluster, "/");
    assert_ne!(key("dashscope-cn"), key("dashscope-intl"));
}

#[test]
fn a_local_server_works_on_one_call_at_a_time() {
    let config = example("local-ollama.json");
    assert_eq!(policy(&config, "c", "/api/chat"), Some(("ollama", Some(1))));
    assert_eq!(policy(&config, "c", "/api/tags"), None);
}

#[test]
fn a_shared_gateway_tells_paths_apart() {
    let config = example("shared-gateway.json");
    for (path, expected) in [
        ("/openai/v1/embeddings", Some(("embeddings", Some(4)))),
        ("/openai/v1/chat/completions", Some(("chat", Some(32)))),
        ("/azure/x", Some(("chat", Some(32)))),
        ("/health", None),
    ] {
        assert_eq!(policy(&config, "c", path), expected, "{path}");
    }
    assert_ne!(
        key(&config, "c", "/azure/x"),
        key(&config, "c", "/anthropic/x")
    );
    assert_eq!(key(&config, "c", "/azure/x"), key(&config, "c", "/azure/y"));
}

fn facts<'a>(cluster: &'a str, path: &'a str) -> Facts<'a> {
    Facts {
        cluster: cluster.as_bytes(),
        host: b"gateway",
        path: path.as_bytes(),
        headers: &[],
    }
}

/// The policy that takes a call, and its cap.
fn policy<'a>(config: &'a Config, cluster: &str, path: &str) -> Option<(&'a str, Option<u32>)> {
    let (_, policy) = config.policy_for(&facts(cluster, path))?;
    let cap = policy.max_concurrent_calls().map(std::num::NonZeroU32::get);
    Some((policy.name(), cap))
}

/// What calls have in common that share a limit.
fn key(config: &Config, cluster: &str, path: &str) -> u128 {
    let facts = facts(cluster, path);
    let (_, policy) = config.policy_for(&facts).unwrap();
    policy.identity(&facts, None).unwrap()
}
