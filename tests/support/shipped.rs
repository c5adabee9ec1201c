//! The configurations under `envoy/`, as they are but for what differs from machine to machine.
//!
//! Text is replaced, so that Envoy itself reads the YAML that is shipped; a text that is not there
//! as often as expected is a failed test.

use std::net::SocketAddr;
use std::path::Path;

use super::Bootstrap;
use super::envoy::weir_wasm;

/// Where the file of certificate authorities may be.
const AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// The file itself, with the plugin and the authorities of this machine.
pub(crate) fn as_shipped(file: &str) -> Bootstrap {
    Bootstrap::yaml(text(file))
}

/// The file on free ports, with this provider in place of the one on the internet and no TLS to it.
pub(crate) fn to(provider: SocketAddr, file: &str) -> Bootstrap {
    Bootstrap::yaml(text_to([provider; 2], file))
}

/// A file with two providers.
pub(crate) fn to_two(first: SocketAddr, second: SocketAddr, file: &str) -> Bootstrap {
    Bootstrap::yaml(text_to([first, second], file))
}

/// The same without one setting.
pub(crate) fn without(setting: &str, provider: SocketAddr, file: &str) -> Bootstrap {
    Bootstrap::yaml(replace_once(&text_to([provider; 2], file), setting, ""))
}

fn text_to([provider, second]: [SocketAddr; 2], file: &str) -> String {
    let mut yaml = text(file).replace(
        "address: api.second-llm.com, port_value: 443",
        &format!("address: {}, port_value: {}", second.ip(), second.port()),
    );
    for (with_anchor, plain) in [
        ("transport_socket: &tls", "transport_socket:"),
        ("transport_socket: *tls", ""),
    ] {
        yaml = yaml.replace(with_anchor, plain);
    }
    for (old, new) in [
        ("port_value: 10000", "port_value: 0".to_owned()),
        ("port_value: 9901", "port_value: 0".to_owned()),
        (
            "address: api.example-llm.com, port_value: 443",
            format!(
                "address: {}, port_value: {}",
                provider.ip(),
                provider.port()
            ),
        ),
    ] {
        yaml = replace_once(&yaml, old, &new);
    }
    yaml = replace_block(&yaml, "transport_socket:", "").expect("TLS to the provider");
    // What the two sides agree on while they set up TLS.
    let plain = "explicit_http_config: {http_protocol_options: {}}";
    replace_block(&yaml, "auto_config:", plain).unwrap_or(yaml)
}

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("envoy")
        .join(file);
    let yaml = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let authorities = AUTHORITIES.into_iter().find(|f| Path::new(f).is_file());
    let authorities = authorities.expect("the package ca-certificates, or its like");
    let yaml = replace_once(
        &yaml,
        &format!("filename: {}", AUTHORITIES[0]),
        &format!("filename: {authorities}"),
    );
    replace_once(&yaml, "/etc/envoy/weir.wasm", &weir_wasm())
}

fn replace_once(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "how often {old:?} is there");
    text.replace(old, new)
}

/// Puts `new` in place of the line that is `key` and of all deeper lines that follow it.
fn replace_block(text: &str, key: &str, new: &str) -> Option<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.trim() == key)?;
    let deeper = lines[start + 1..]
        .iter()
        .take_while(|line| depth(line) > depth(lines[start]));
    let end = start + 1 + deeper.count();
    let new = format!("{}{new}", &lines[start][..depth(lines[start])]);
    let kept = [&lines[..start], &[new.as_str()], &lines[end..]].concat();
    Some(kept.join("\n") + "\n")
}
