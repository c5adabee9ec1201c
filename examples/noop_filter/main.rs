//! A filter that does nothing, at both places where Weir stands: what it costs, any filter costs.
//! `make bench-overhead` measures Weir against it.

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

struct Noop;

#[allow(unsafe_code)] // The start symbol.
mod start {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| Box::new(super::Noop));
    }}
}

impl Context for Noop {}

impl HttpContext for Noop {}

impl RootContext for Noop {
    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Noop))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
