//! A root: one plugin configuration in one VM.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use super::stream::Stream;
use super::vm::Vm;
use crate::core::config::Config;
use crate::port::{Host, Level};

pub(super) struct Root {
    vm: Rc<Vm>,
    config: Option<Rc<Config>>,
    pace: Rc<Cell<Duration>>,
}

impl Root {
    pub(super) fn new() -> Root {
        Root {
            vm: Vm::shared(),
            config: None,
            pace: Rc::default(),
        }
    }
}

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, _: usize) -> bool {
        let host = &self.vm.host;
        host.look_at_log_level();
        let config = match Config::parse(&host.configuration()) {
            Ok(config) => Rc::new(config),
            Err(error) => {
                host.log(
                    Level::Error,
                    &format!("weir: configuration refused: {error}"),
                );
                return false;
            }
        };
        self.vm
            .ask(|worker, host, now| worker.configure(host, now, &config));
        self.config = Some(config);
        self.vm.keep_pace(&self.pace);
        true
    }

    fn on_tick(&mut self) {
        self.vm.host.look_at_log_level();
        let actions = self.vm.ask(|worker, host, now| worker.tick(host, now));
        self.vm.keep_pace(&self.pace);
        self.vm.act(actions.unwrap_or_default());
    }

    fn on_queue_ready(&mut self, _: u32) {
        let actions = self.vm.ask(|worker, host, now| worker.wake(host, now));
        self.vm.keep_pace(&self.pace);
        self.vm.act(actions.unwrap_or_default());
    }

    fn create_http_context(&self, id: u32) -> Option<Box<dyn HttpContext>> {
        let config = self.config.clone()?;
        let pace = Rc::clone(&self.pace);
        Some(Box::new(Stream::new(id, Rc::clone(&self.vm), config, pace)))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
