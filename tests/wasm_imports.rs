//! What the built plugin asks of its host. A VM that imports anything Envoy does not offer never
//! starts, so every import must be on the list.

// clippy.toml allows these in test functions; here their helpers are test code too.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use wasmparser::{ExternalKind, Parser, Payload};

/// Everything the SDK can import; the linker keeps what is used.
const PROXY: [&str; 37] = [
    "proxy_add_header_map_value",
    "proxy_call_foreign_function",
    "proxy_close_stream",
    "proxy_continue_stream",
    "proxy_define_metric",
    "proxy_dequeue_shared_queue",
    "proxy_done",
    "proxy_enqueue_shared_queue",
    "proxy_get_buffer_bytes",
    "proxy_get_current_time_nanoseconds",
    "proxy_get_header_map_pairs",
    "proxy_get_header_map_value",
    "proxy_get_log_level",
    "proxy_get_metric",
    "proxy_get_property",
    "proxy_get_shared_data",
    "proxy_get_status",
    "proxy_grpc_call",
    "proxy_grpc_cancel",
    "proxy_grpc_close",
    "proxy_grpc_send",
    "proxy_grpc_stream",
    "proxy_http_call",
    "proxy_increment_metric",
    "proxy_log",
    "proxy_record_metric",
    "proxy_register_shared_queue",
    "proxy_remove_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_resolve_shared_queue",
    "proxy_send_local_response",
    "proxy_set_buffer_bytes",
    "proxy_set_effective_context",
    "proxy_set_header_map_pairs",
    "proxy_set_property",
    "proxy_set_shared_data",
    "proxy_set_tick_period_milliseconds",
];

/// The clock all workers share, and entropy.
const WASI: [&str; 2] = ["clock_time_get", "random_get"];

#[test]
fn imports_are_on_the_list() {
    let plugin = Plugin::read();
    assert!(
        !plugin.imports.is_empty(),
        "a plugin without a host call does nothing"
    );
    let strange: Vec<_> = plugin
        .imports
        .iter()
        .filter(|(module, name)| match module.as_str() {
            "env" => !PROXY.contains(&name.as_str()),
            "wasi_snapshot_preview1" => !WASI.contains(&name.as_str()),
            _ => true,
        })
        .collect();
    assert!(strange.is_empty(), "Envoy may not offer {strange:?}");
}

#[test]
fn exports_are_those_of_a_proxy_wasm_reactor() {
    let plugin = Plugin::read();
    let functions = [
        "_initialize",
        "proxy_abi_version_0_2_1",
        "proxy_on_context_create",
    ];
    for name in functions {
        assert!(
            plugin.exports(name, ExternalKind::Func),
            "function {name} is missing"
        );
    }
    assert!(
        plugin.exports("memory", ExternalKind::Memory),
        "memory is missing"
    );
    assert!(
        !plugin.exports("_start", ExternalKind::Func),
        "a program, not a plugin"
    );
}

#[test]
fn nothing_that_only_a_test_needs_is_shipped() {
    let bytes = std::fs::read(path()).unwrap();
    let crash = b"x-weir-test-crash";
    assert!(!bytes.windows(crash.len()).any(|window| window == crash));
}

struct Plugin {
    imports: Vec<(String, String)>,
    exports: Vec<(String, ExternalKind)>,
}

impl Plugin {
    fn read() -> Self {
        let path = path();
        let bytes = std::fs::read(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; run `make build`", path.display()));
        let mut plugin = Plugin {
            imports: Vec::new(),
            exports: Vec::new(),
        };
        for payload in Parser::new(0).parse_all(&bytes) {
            match payload.unwrap() {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import.unwrap();
                        plugin
                            .imports
                            .push((import.module.to_owned(), import.name.to_owned()));
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export.unwrap();
                        plugin.exports.push((export.name.to_owned(), export.kind));
                    }
                }
                _ => {}
            }
        }
        plugin
    }

    fn exports(&self, name: &str, kind: ExternalKind) -> bool {
        self.exports.iter().any(|(n, k)| n == name && *k == kind)
    }
}

fn path() -> PathBuf {
    match std::env::var_os("WEIR_WASM") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/weir.wasm"),
    }
}
