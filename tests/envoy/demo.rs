//! The demo at a smaller scale on a real Envoy: what Weir does at the cap, and a provider behind
//! real TLS.

use crate::app;

use std::path::PathBuf;
use std::time::Duration;

use app::client::End;
use app::path::Path;
use app::peak::{self, Compared, Scenario};
use app::plan::Plan;
use app::provider::model::{Concurrency, Limits};
use app::provider::{Options, Provider, Tls};
use app::real::{self, Settings};
use app::target::Target;

/// Rises as fast as the real one, for 4 s, and leaves a queue behind.
fn small_peak() -> Plan {
    Plan {
        rate: 60.0,
        rise: Duration::from_millis(500),
        length: Duration::from_secs(4),
        patience: Duration::from_secs(30),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weir_serves_what_could_be_served_and_is_never_refused() {
    let plan = small_peak();
    let compared = peak::run(Scenario::Concurrency, &plan).await.unwrap();
    let rows = compared.rows();
    let row = |path: Path| rows.iter().find(|r| r.path == path.id()).unwrap();

    let weir = row(Path::Weir);
    assert_eq!(weir.offered, plan.arrivals().len());
    assert!(weir.succeeded * 100 >= weir.could_serve * 99, "{weir:?}");
    assert_eq!((weir.refused_upstream, weir.peak), (0, 20), "{weir:?}");
    assert!(weir.wait_p95_ms > weir.wait_p50_ms, "{weir:?}");

    let plain = row(Path::Unprotected);
    assert!(
        plain.succeeded * 3 < plain.offered * 2,
        "a third or more is lost: {plain:?}"
    );
    assert_eq!(plain.succeeded + plain.refused_upstream, plain.offered);
    let retry = row(Path::EnvoyRetry);
    assert!(retry.refused_upstream > plain.refused_upstream, "{retry:?}");
    written(&plan, compared);
}

/// The files that a run leaves.
fn written(plan: &Plan, compared: Compared) {
    let dir = folder("demo-files");
    app::report::write(&dir, plan, &[compared]).unwrap();
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&read("result.json")).unwrap();
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let names: Vec<_> = row.as_object().unwrap().keys().collect();
        let mut wanted = [
            "provider",
            "path",
            "offered",
            "could_serve",
            "succeeded",
            "refused_upstream",
            "peak",
            "wait_p50_ms",
            "wait_p95_ms",
        ];
        wanted.sort_unstable();
        assert_eq!(names, wanted);
    }
    let page = String::from_utf8(read("index.html")).unwrap();
    assert!(!page.contains("<script") && page.contains("prefers-color-scheme"));
    let png = read("demo.png");
    assert_eq!(
        png.get(16..20),
        Some(1600_u32.to_be_bytes().as_slice()),
        "its width"
    );
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_endpoint_is_called_with_tls_its_name_and_http2() {
    const KEY: &str = "sk-secret";
    let dir = folder("demo-tls");
    let (provider, url, ca) = tls_provider(&dir, "localhost", KEY).await;
    let target = |key: &str| Target::new(&url, "m".into(), Some(key.into()), Some(ca.clone()));
    let settings = Settings {
        calls: 20,
        cap: 4,
        paths: vec![Path::Weir],
        yes: true,
    };
    let target = target(KEY).unwrap();
    let reached = real::reach(&target, &settings).await.unwrap();
    let ends: Vec<End> = reached[0].outcomes.iter().map(|o| o.end).collect();
    assert_eq!(ends, vec![End::Succeeded; 20]);
    assert_eq!(reached[0].attempts, 20);
    let log = provider.log();
    assert_eq!(
        log["transports"],
        serde_json::json!({"HTTP/2.0 sni=localhost": 20})
    );
    assert_eq!((&log["peak"], &log["refused"]), (&4.into(), &0.into()));
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_and_a_wrong_certificate_are_told_apart() {
    let settings = Settings {
        calls: 2,
        cap: 4,
        paths: vec![Path::Weir],
        yes: true,
    };
    let other_name = vec!["no connection", "the certificate is for another name"];
    for (name, key, status, troubles) in [
        ("localhost", "wrong", 401, vec![]),
        ("other.test", "right", 503, other_name),
    ] {
        let dir = folder(&format!("demo-{name}"));
        let (provider, url, ca) = tls_provider(&dir, name, "right").await;
        let target = Target::new(&url, "m".into(), Some(key.into()), Some(ca)).unwrap();
        let reached = real::reach(&target, &settings).await.unwrap();
        for outcome in &reached[0].outcomes {
            let End::Refused(got) = outcome.end else {
                panic!("{name}: {outcome:?}");
            };
            assert_eq!(got.as_u16(), status, "{name}");
        }
        let told: Vec<_> = reached[0].troubles.iter().map(|t| t.0).collect();
        assert_eq!(told, troubles, "{name}");
        assert_eq!(provider.count().accepted, 0);
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn a_key_never_travels_in_the_clear() {
    let key = || Some("sk-secret".into());
    let new = |url, key| Target::new(url, "m".into(), key, None);
    let error = new("http://api.example.com/v1", key())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("in the clear") && !error.contains("sk-secret"),
        "{error}"
    );
    assert!(new("http://api.example.com/v1", None).is_ok());
    let local = new("http://127.0.0.1:8080/v1/", key()).unwrap();
    assert_eq!(local.path, "/v1/chat/completions");
    assert!(local.ca.is_none());
    for url in ["api.example.com", "ftp://api.example.com", "https://", ""] {
        assert!(new(url, key()).is_err(), "{url}");
    }
}

/// A mock provider for 4 calls at once, with a certificate for
/// `name`; its URL by the name localhost, and its authority's file.
async fn tls_provider(dir: &std::path::Path, name: &str, key: &str) -> (Provider, String, PathBuf) {
    let tls = Tls::generate(name).unwrap();
    let ca = dir.join("ca.pem");
    std::fs::write(&ca, &tls.ca_pem).unwrap();
    let provider = Provider::start(Options {
        limits: Limits {
            concurrency: Some(Concurrency(4)),
            ..Limits::default()
        },
        key: Some(key.into()),
        tls: Some(tls),
        ..Options::default()
    })
    .await
    .unwrap();
    let url = format!("https://localhost:{}/v1", provider.addr.port());
    (provider, url, ca)
}

fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}
