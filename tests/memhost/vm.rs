//! What Envoy asks of one VM with Weir in it. The core alone answers in `seat`; the native shell
//! answers the same questions elsewhere, and the same tests are put to both.

use std::ops::Deref;
use std::rc::Rc;

use weir::core::answer::Edit;
use weir::core::call::arrive::{Arrived, Request};
use weir::core::call::attempt::{AnswerHead, Begin, Next};
use weir::core::call::{Action, Headers, StreamId};
use weir::core::config::Config;
use weir::core::time::Time;

/// One plugin configuration, as Envoy has it and as Weir reads it.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) json: String,
    pub(crate) config: Rc<Config>,
}

impl Deref for Plugin {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

/// The callbacks of one VM, in the words of the core. Streams have their numbers from the caller.
pub(crate) trait Vm {
    /// Whether it is told when shared data cannot be used. Where not, nothing seems to be there.
    const TELLS_TROUBLE: bool;

    /// Where each of many host calls is tried: every so many, since some VMs cost more.
    const STRIDE: usize;

    /// A configuration comes into force.
    fn configure(&mut self, now: Time, plugin: &Rc<Plugin>);

    /// The gate half sees a request.
    fn arrive(
        &mut self,
        now: Time,
        gate: StreamId,
        request: &Request<'_>,
        plugin: &Rc<Plugin>,
    ) -> Arrived;

    /// The attempt half sees a request go out. Returns what it leaves in filter state.
    fn begin_attempt(
        &mut self,
        now: Time,
        stream: StreamId,
        begin: Begin<'_>,
        request: &Request<'_>,
        plugin: &Rc<Plugin>,
    ) -> Option<[u8; 16]>;

    /// What the attempt half changes in the request of an attempt that has just begun.
    fn attempt_edits(&mut self, now: Time, stream: StreamId, headers: &Headers) -> Vec<Edit>;

    /// The attempt's request has gone out to its end.
    fn complete_request(&mut self, now: Time, stream: StreamId);

    /// The attempt half sees the head of an answer.
    fn begin_answer(&mut self, now: Time, stream: StreamId, head: AnswerHead) -> Next;

    /// The attempt half sees more of an answer; `kept` is all of its body that is kept back.
    fn read_answer(&mut self, now: Time, stream: StreamId, kept: &[u8], is_end: bool) -> Next;

    /// The gate half sees the head of the client's answer.
    fn answer(
        &mut self,
        now: Time,
        gate: StreamId,
        status: u16,
        headers: &Headers,
        via_upstream: bool,
    ) -> Vec<Edit>;

    /// The gate half sees the last byte of the client's answer.
    fn end_answer(&mut self, now: Time, gate: StreamId);

    /// The gate half's stream is over.
    fn end(&mut self, now: Time, gate: StreamId);

    /// The attempt half's stream is over.
    fn end_attempt(&mut self, now: Time, stream: StreamId);

    /// How many roots it has: each ticks on its own.
    fn roots(&self) -> usize;

    /// A root ticks.
    fn tick(&mut self, now: Time, root: usize) -> Vec<Action>;

    /// The oldest wake-up on its way to this VM arrives.
    fn wake(&mut self, now: Time) -> Vec<Action>;

    /// It wants to tick often: something is due before `next`, its next idle tick.
    fn is_busy(&self, next: Time) -> bool;
}
