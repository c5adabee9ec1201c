//! The port over proxy-wasm. It turns callbacks into calls of the core and carries out what comes
//! back; it decides nothing.

#[cfg(any(test, target_family = "wasm"))]
#[allow(unsafe_code)] // An allocator is unsafe by its nature.
mod heap;
mod host;
mod root;
mod stream;
mod vm;
#[allow(unsafe_code)] // The two WASI imports, and the start symbol below.
mod wasi;

#[allow(unsafe_code)]
mod start {
    use std::sync::Once;

    proxy_wasm::main! {{
        // Where VMs are threads of one process, the hook for panics is one for all, and may be in use
        // by a VM that died.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| proxy_wasm::set_log_level(proxy_wasm::types::LogLevel::Info));
        proxy_wasm::set_root_context(|_| Box::new(super::root::Root::new()));
    }}
}
