//! A provider that can be asked to let a call wait at its side, in place of refusing it.
//!
//! DashScope queues a call for as long as `X-DashScope-Wait-Timeout` says, in whole seconds from 3 to
//! 120, where it would refuse it because traffic grew too fast. Only where the policy says so, since
//! the client has to wait as much longer for its first byte.

use std::time::Duration;

use super::attempt::first;
use super::{Headers, StreamId, Worker};
use crate::core::answer::Edit;
use crate::core::config::Policy;
use crate::core::time::Time;

const HEADER: &str = "x-dashscope-wait-timeout";

impl Worker {
    /// What to change in the request of an attempt that has begun, whose headers these are. All
    /// attempts of a call have one request: what the last one was told stands in it.
    pub fn ask_server_to_queue(
        &mut self,
        now: Time,
        stream: StreamId,
        headers: &Headers,
    ) -> Option<Edit> {
        let call = self.calls.get_mut(self.streams.get(&stream)?)?;
        let longest = call.policy().and_then(Policy::server_queue)?;
        let attempt = call.attempts.get(&stream)?;
        let is_there = first(headers, HEADER).is_some();
        if call.is_shadow() || is_there && !call.asks_server_to_queue {
            // The client knows better.
            return None;
        }
        let left = call.deadline.min(attempt.deadline).since(now);
        let wait = longest.min(left);
        call.asks_server_to_queue = wait >= Policy::SERVER_QUEUE.0;
        match call.asks_server_to_queue {
            true => Some(Edit::Set(HEADER.into(), seconds(wait))),
            // What the last attempt was told is too much now, and less is not understood.
            false => is_there.then(|| Edit::Remove(HEADER.into())),
        }
    }
}

fn seconds(wait: Duration) -> Vec<u8> {
    wait.as_secs().to_string().into_bytes()
}
