//! A provider of chat completions to practise on: OpenAI's and Anthropic's shapes, streaming and
//! not, with the limits of [`model`]. Started in a process as often as wanted.

mod answer;
mod body;
mod format;
pub(crate) mod model;
mod refusal;
mod serve;
mod state;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use model::{Count, Limits};
use state::State;
pub(crate) use tls::Tls;

/// What a provider is made of.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    /// 0 is any free port.
    pub(crate) port: u16,
    /// Calls without this key get 401. None takes every call.
    pub(crate) key: Option<String>,
    pub(crate) tls: Option<Tls>,
}

/// A running provider on the loopback interface; stops when dropped.
pub(crate) struct Provider {
    pub(crate) addr: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Provider {
    /// Fails if the port is taken.
    pub(crate) async fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", options.port)).await?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State::new(options.limits, options.seed, options.key));
        let task = tokio::spawn(serve::accept(listener, options.tls, state.clone()));
        Ok(Self { addr, state, task })
    }

    /// Since the start: the time of the model.
    pub(crate) fn now(&self) -> Duration {
        self.state.now()
    }

    pub(crate) fn count(&self) -> Count {
        self.state.count()
    }

    /// What `/log` answers.
    pub(crate) fn log(&self) -> serde_json::Value {
        self.state.log()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}
