//! Placeholder: an empty plugin, so that a wasm builds.

proxy_wasm::main! {{
    proxy_wasm::set_log_level(proxy_wasm::types::LogLevel::Info);
}}
