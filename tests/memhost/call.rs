//! One call as the test sees it, and what goes into and comes out of it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use weir::core::answer::Edit;
use weir::core::call::{Headers, StreamId};
use weir::core::time::Time;

use super::vm::Plugin;

/// A request.
#[derive(Clone, Default)]
pub(crate) struct Ask {
    pub(crate) worker: usize,
    pub(crate) cluster: &'static str,
    pub(crate) host: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The client has not sent the whole request yet.
    pub(crate) uploading: bool,
    /// A connection that was opened earlier; else a new one.
    pub(crate) connection: Option<u64>,
    /// A configuration that is draining; else the worker's.
    pub(crate) config: Option<Rc<Plugin>>,
}

impl Ask {
    pub(crate) fn on(worker: usize) -> Ask {
        Ask {
            worker,
            cluster: "ark",
            host: "llm",
            ..Ask::default()
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Ask {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn cluster(mut self, cluster: &'static str) -> Ask {
        self.cluster = cluster;
        self
    }

    pub(crate) fn host(mut self, host: &'static str) -> Ask {
        self.host = host;
        self
    }

    pub(crate) fn uploading(mut self) -> Ask {
        self.uploading = true;
        self
    }

    pub(crate) fn connection(mut self, id: u64) -> Ask {
        self.connection = Some(id);
        self
    }
}

/// An answer of the provider.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: &'static str,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Reply {
        Reply {
            status,
            headers: Vec::new(),
            body: "",
        }
    }

    pub(crate) fn ok() -> Reply {
        Reply::new(200).body("ok")
    }

    /// 429 without a word: class `rate`.
    pub(crate) fn rate() -> Reply {
        Reply::new(429).body("{}")
    }

    /// Class `burst_rate`.
    pub(crate) fn burst() -> Reply {
        Reply::new(429).body(r#"{"error":{"code":"RequestBurstTooFast"}}"#)
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Reply {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn body(mut self, body: &'static str) -> Reply {
        self.body = body;
        self
    }
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its request headers are paused.
    Waiting,
    /// This attempt is the latest, and its answer has not been kept back.
    Running(u32),
    /// This attempt's answer is paused.
    Held(u32),
    /// The router is about to make the next attempt.
    Retrying,
    /// Weir refused it, with this word.
    Refused(String),
    /// The client is receiving, or has received, this status.
    Answered(u16),
    /// The client went away.
    Aborted,
    /// Its VM died.
    Lost,
}

/// What the client received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) at: Time,
}

/// A call.
pub(crate) struct Call {
    pub(crate) worker: usize,
    pub(crate) cluster: &'static str,
    pub(crate) connection: u64,
    pub(crate) config: Rc<Plugin>,
    /// As the provider gets them.
    pub(crate) headers: Headers,
    pub(crate) request_complete: bool,
    pub(crate) gate: Option<StreamId>,
    pub(crate) is_paused: bool,
    pub(crate) reference: Option<[u8; 16]>,
    pub(crate) arrived: Time,
    /// When each attempt began.
    pub(crate) began: Vec<Time>,
    pub(crate) attempts: BTreeMap<StreamId, Attempt>,
    pub(crate) retries: u32,
    pub(crate) retry_at: Option<Time>,
    /// It has a slot, and no attempt yet that goes with it.
    pub(crate) has_grant: bool,
    pub(crate) received: Option<Received>,
    pub(crate) is_over: bool,
    pub(crate) is_lost: bool,
}

/// An attempt.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) has_slot: bool,
    pub(crate) is_paused: bool,
    pub(crate) head: Option<(u16, Headers)>,
    pub(crate) head_at: Time,
    /// Kept back by the host.
    pub(crate) kept: Vec<u8>,
    pub(crate) is_whole: bool,
    /// Its answer goes to the client.
    pub(crate) is_forwarded: bool,
}

impl Call {
    pub(crate) fn state(&self) -> State {
        if self.is_lost {
            return State::Lost;
        }
        if let Some(received) = &self.received {
            return match header(&received.headers, "x-weir-refused") {
                Some(word) => State::Refused(word),
                None => State::Answered(received.status),
            };
        }
        if self.is_over {
            return State::Aborted;
        }
        if self.is_paused {
            return State::Waiting;
        }
        match self.attempts.values().max_by_key(|a| a.number) {
            None => State::Retrying,
            Some(a) if a.is_paused => State::Held(a.number),
            Some(a) => State::Running(a.number),
        }
    }
}

/// All values of a header, joined.
pub(crate) fn header(headers: &Headers, name: &str) -> Option<String> {
    let values: Vec<_> = headers
        .iter()
        .filter(|(n, _)| n == name.as_bytes())
        .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        .collect();
    (!values.is_empty()).then(|| values.join(","))
}

pub(crate) fn status(headers: &Headers) -> u16 {
    header(headers, ":status").unwrap().parse().unwrap()
}

/// Makes changes as Envoy makes them.
pub(crate) fn edit(headers: &mut Headers, edits: &[Edit]) {
    for edit in edits {
        match edit {
            Edit::Set(name, value) => {
                let at = headers.iter().position(|(n, _)| n == name.as_bytes());
                headers.retain(|(n, _)| n != name.as_bytes());
                let at = at.unwrap_or(headers.len());
                headers.insert(at, (name.as_bytes().to_vec(), value.clone()));
            }
            Edit::Add(name, value) => headers.push((name.as_bytes().to_vec(), value.clone())),
            Edit::Remove(name) => headers.retain(|(n, _)| n != name.as_bytes()),
        }
    }
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
