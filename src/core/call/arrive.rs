//! A call arrives: its policy, its gate, and whether it starts, waits or is refused.

use litemap::LiteMap;
use std::rc::Rc;

use super::configs::Sign;
use super::patience::Patience;
use super::rank::{class_of, order_of};
use super::repeats::{Claim, look_up};
use super::state::{Call, Stage, Undo};
use super::{Headers, StreamId, Worker, policy_id, setting_of};
use crate::core::answer::Edit;
use crate::core::answer::{Reply, remove_marks};
use crate::core::config::credential::credential;
use crate::core::config::{Config, Facts, HeaderName, Mode, Policy};
use crate::core::gate::{Arrival, Key};
use crate::core::report::Avoided;
use crate::core::report::stats::Count;
use crate::core::retry::Backoff;
use crate::core::secret::Secret;
use crate::core::time::Time;
use crate::core::wait::{CallId, Settled};
use crate::port::Host;

/// The request headers of a call, as the gate half sees them.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The cluster the route chose.
    pub cluster: &'a [u8],
    /// The downstream connection; ids rise over the whole process.
    pub connection: u64,
    /// All request headers, pseudo-headers included.
    pub headers: &'a Headers,
}

impl<'a> Request<'a> {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers
            .iter()
            .find(|(n, _)| n == name.as_bytes())
            .map(|(_, value)| value.as_slice())
    }

    pub(super) fn facts(&self) -> Facts<'a> {
        Facts {
            cluster: self.cluster,
            host: self.header(":authority").unwrap_or_default(),
            path: self.header(":path").unwrap_or_default(),
            headers: self.headers,
        }
    }
}

/// What is known of a call's earlier tries.
struct Past {
    /// When the first of them came.
    since: Time,
    /// Attempts made.
    made: u32,
    /// By what the next one will be known.
    tag: Option<u128>,
}

/// What becomes of a call that arrives.
#[derive(Debug)]
pub enum Arrived {
    /// It falls under no policy.
    Untouched,
    /// It goes on.
    Start(Marked),
    /// It waits; an [`super::Action`] will end that.
    Wait(Marked),
    /// It is refused.
    Refuse(Reply),
}

/// What a call under a policy carries from here on.
#[derive(Debug)]
pub struct Marked {
    /// Changes to the request headers.
    pub edits: Vec<Edit>,
    /// The reference by which the attempt half finds the call; kept in filter state.
    pub reference: [u8; 16],
}

impl Worker {
    /// A call arrives at the gate half.
    pub fn arrive(
        &mut self,
        host: &impl Host,
        now: Time,
        gate: StreamId,
        request: &Request<'_>,
        config: &Rc<Config>,
    ) -> Arrived {
        let Some((id, mut call)) = self.admit(host, now, request, config) else {
            return Arrived::Untouched;
        };
        let Some(policy) = config.policies().get(call.policy) else {
            return Arrived::Untouched;
        };
        call.gate = Some(gate);
        let settled = self.ask(host, now, id, &mut call, request, policy);
        if policy.mode() == Mode::Shadow {
            let arrived = self.arrive_in_shadow(now, id, &mut call, settled);
            self.streams.insert(gate, id);
            self.keep(id, call);
            return arrived;
        }
        let marked = Marked {
            edits: request_edits(request, policy),
            reference: self.reference(id),
        };
        let arrived = match settled {
            Settled::Waits(_) => {
                self.stats.count(&call.policy_name, Count::Queued);
                call.stage = Stage::Waiting;
                Arrived::Wait(marked)
            }
            Settled::Refused(refuse) => {
                Arrived::Refuse(self.refuse_at_arrival(host, now, &mut call, refuse))
            }
            _ => {
                self.stats.count(&call.policy_name, Count::Admitted);
                call.started = Some(now);
                call.has_grant = true;
                Arrived::Start(marked)
            }
        };
        self.streams.insert(gate, id);
        self.keep(id, call);
        arrived
    }

    /// A new call under the policy that takes it, without a gate half and on its way.
    pub(super) fn admit(
        &mut self,
        host: &impl Host,
        now: Time,
        request: &Request<'_>,
        config: &Rc<Config>,
    ) -> Option<(CallId, Box<Call>)> {
        let facts = request.facts();
        let (index, policy) = config.policy_for(&facts)?;
        let id = policy_id(policy.name());
        let policy_name = self.policies.of(id);
        self.stats.count(&policy_name, Count::Calls);
        let identity = self.identity(host, policy, &facts);
        let place = identity.and_then(|identity| {
            let setting = setting_of(policy);
            self.gates
                .place(host, now, identity, id, setting, config.max_keys())
        });
        let own = policy.patience_header().map(HeaderName::as_str);
        let patience = Patience::of(request.headers, own);
        if patience.is_unreadable {
            self.avoid(host, now, &policy_name, Avoided::PatienceUnreadable);
        }
        let gate = identity.unwrap_or_default();
        let past = self.past_of(host, now, request, gate);
        let budget_ends = past.since + policy.retry().budget();
        let patience_ends = now + patience.wait;
        self.newest_connection = self.newest_connection.max(request.connection);
        let call = Box::new(Call {
            config: Rc::clone(config),
            policy: index,
            policy_name,
            place,
            key_tag: identity.map_or(0, |identity| (identity >> 64) as u64),
            key: Key::at(self.take_arrival(now, class_of(request, policy))),
            arrived: now,
            made_before: past.made,
            budget_since: past.since,
            repeat: past.tag,
            deadline: budget_ends.min(patience_ends),
            deadline_field: match patience_ends < budget_ends {
                true => patience.field,
                false => "budget_ms",
            },
            gate: None,
            stage: Stage::Going,
            started: None,
            has_grant: false,
            epoch: 0,
            is_answered: false,
            phantom: None,
            attempts: LiteMap::new(),
            attempts_made: 0,
            route_ends: None,
            asks_server_to_queue: false,
            backoff: Backoff::default(),
            passed: None,
            undo: Undo::default(),
            has_succeeded: false,
            hold_broken: false,
            has_failed: false,
            due: None,
            orphaned: None,
        });
        Some((self.take_id(), call))
    }

    /// What names the call's gate. None if the process's secret is needed for it and cannot be had.
    pub(super) fn identity(
        &mut self,
        host: &impl Host,
        policy: &Policy,
        facts: &Facts<'_>,
    ) -> Option<u128> {
        if policy.needs_secret() {
            self.secret(host)?;
        }
        policy.identity(facts, self.secret.as_ref())
    }

    /// The process's secret; none if it cannot be had.
    fn secret(&mut self, host: &impl Host) -> Option<&Secret> {
        if self.secret.is_none() {
            self.secret = Some(Secret::of_process(host).ok()?);
        }
        self.secret.as_ref()
    }

    /// What is known of a call's earlier tries, by its client's word or by Weir's own.
    fn past_of(&mut self, host: &impl Host, now: Time, request: &Request<'_>, gate: u128) -> Past {
        let claim = Claim::of(request.headers);
        let mut past = Past {
            since: now,
            made: claim.tries.unwrap_or_default(),
            tag: None,
        };
        let Some(key) = claim.key else {
            return past;
        };
        // Two clients may use one key.
        let client = credential(request.headers);
        let parts = [&gate.to_le_bytes()[..], client, b"\0", key].concat();
        past.tag = self.secret(host).map(|secret| secret.wide(&parts));
        if claim.tries != Some(0)
            && let Some(tag) = past.tag
            && let Some(note) = look_up(host, now, tag)
        {
            past.since = note.since;
            past.made = past.made.max(note.made);
        }
        past
    }

    /// Asks the gate for a slot. A call whose gate cannot be used goes on without one (law L16).
    fn ask(
        &mut self,
        host: &impl Host,
        now: Time,
        id: CallId,
        call: &mut Call,
        request: &Request<'_>,
        policy: &Policy,
    ) -> Settled {
        let Some(place) = call.place else {
            self.clock.degrade(now);
            return Settled::Started;
        };
        let setting = setting_of(policy);
        let connection = match self.configs.sign(call.config.hash(), request.connection) {
            Sign::Open => request.connection,
            Sign::Older => 0,
            Sign::Newer => {
                let seen = self.newest_connection;
                self.gates.configure(host, now, place, setting, seen);
                request.connection
            }
        };
        let arrival = Arrival {
            arrived: call.key.arrived,
            order: order_of(request, policy, self.secret.as_ref()),
            until: call.wait_ends().0,
            no_wait: policy
                .queue()
                .no_wait_header()
                .and_then(|name| request.header(name.as_str()))
                .is_some_and(is_set),
            setting,
            connection,
        };
        let (place, settled) = self.gates.arrive(host, now, place, id, arrival);
        call.place = Some(place);
        call.epoch = self.gates.sight(place).epoch;
        match settled {
            Settled::Failed(_) => {
                call.place = None;
                self.clock.degrade(now);
            }
            Settled::Waits(key) => call.key = key,
            _ => {}
        }
        settled
    }

    /// The reference by which the attempt half finds a call of this VM.
    pub(super) fn reference(&self, id: CallId) -> [u8; 16] {
        (u128::from(self.nonce) << 64 | u128::from(id.0)).to_le_bytes()
    }

    /// Whether a reference names a call that is not over.
    pub fn knows(&self, reference: &[u8]) -> bool {
        self.referenced(reference).is_some()
    }

    /// The call a reference names, if it is one of this VM's.
    pub(super) fn referenced(&self, reference: &[u8]) -> Option<CallId> {
        let reference = u128::from_le_bytes(reference.try_into().ok()?);
        let id = CallId((reference & u128::from(u64::MAX)) as u64);
        let is_ours = reference >> 64 == u128::from(self.nonce);
        (is_ours && self.calls.contains_key(&id)).then_some(id)
    }
}

/// What is changed in the request: nothing of Weir's reaches the provider, and the router learns by
/// which mark it knows an answer that is to be retried.
fn request_edits(request: &Request<'_>, policy: &Policy) -> Vec<Edit> {
    let mut edits = remove_marks(request.headers);
    let retry = policy.retry();
    let attempts = retry.max_attempts().max(retry.burst_max_attempts());
    let retries = attempts.get().saturating_sub(1);
    if retries > 0 {
        edits.push(append(request, "x-envoy-retry-on", "retriable-headers"));
        edits.push(append(
            request,
            "x-envoy-retriable-header-names",
            super::marks::MARKER,
        ));
        edits.push(Edit::Set(
            "x-envoy-max-retries".into(),
            retries.to_string().into_bytes(),
        ));
    }
    edits
}

/// Adds to a comma-separated header that the client may have set.
fn append(request: &Request<'_>, name: &'static str, value: &str) -> Edit {
    let mut whole = match request.header(name) {
        Some(set) if !set.is_empty() => [set, b","].concat(),
        _ => Vec::new(),
    };
    whole.extend_from_slice(value.as_bytes());
    Edit::Set(name.into(), whole)
}

/// Whether a flag header says yes.
fn is_set(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    !(value.is_empty() || value == b"0" || value.eq_ignore_ascii_case(b"false"))
}
