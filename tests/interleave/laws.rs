//! The laws, as they can be seen from outside.

use std::fmt;

use weir::core::gate::grant::STALE;
use weir::core::gate::recovery::Stage;
use weir::core::gate::{Record, Standing};
use weir::core::time::Time;

use crate::scope::Scope;
use crate::worker::Worker;
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Cap,
    Order,
    LostWakeUp,
    Leak,
    HandOver,
    NoCharge,
    /// Shared data is used as it must be.
    Store,
    /// The protocol comes to rest.
    Rest,
    /// L9: nothing starts while the gate is shut.
    Pause,
    /// L12: one probe at a time.
    Probe,
}

impl Law {
    pub fn broken(self, how: &str) -> Broken {
        Broken {
            law: self,
            how: how.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub law: Law,
    pub how: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.law {
            Law::Cap => "L1 cap",
            Law::Order => "L2 order",
            Law::LostWakeUp => "L3 no lost wake-up",
            Law::Leak => "L4 no leak",
            Law::HandOver => "L5 hand-over",
            Law::NoCharge => "L8 no charge for nothing",
            Law::Store => "the store",
            Law::Rest => "L3 the protocol comes to rest",
            Law::Pause => "L9 not before",
            Law::Probe => "L12 one probe",
        };
        write!(f, "{name}: {}", self.how)
    }
}

/// What must hold when worker `at` has just written. `started` is the key of the call that it
/// started by it.
pub fn check_commit(
    scope: &Scope,
    world: &World,
    at: usize,
    before: &Record,
    started: Option<u64>,
) -> Result<(), Broken> {
    let record = &world.record;
    check_cap(world, at, before)?;
    check_pause(world, before, started.is_some())?;
    for entry in &record.entries {
        if entry.granted > entry.standing.waiting() {
            return Err(Law::HandOver.broken(&format!(
                "slot {} has {} grants for {} waiters",
                entry.owner.slot,
                entry.granted,
                entry.standing.waiting()
            )));
        }
    }
    let Some(started) = started else {
        return Ok(());
    };
    for (other, worker) in world.workers.iter().enumerate() {
        let known = (0..worker.calls.len()).filter(|call| worker.known >> call & 1 == 1);
        let older = known
            .filter(|call| scope.keys[other][*call] < started)
            .count();
        let (granted, is_stalled) = world
            .entry(other)
            .map_or((0, false), |entry| (entry.granted as usize, entry.stalled));
        if older > granted && !is_stalled {
            return Err(Law::Order.broken(&format!(
                "key {started} of {} started, but {} has {older} older waiters and {granted} grants",
                name(at),
                name(other),
            )));
        }
    }
    Ok(())
}

/// Only a grant that was left lying for [`STALE`] may be taken away, and never from who just spoke.
pub fn check_revoked(
    world: &World,
    speaker: Option<usize>,
    before: &Record,
    now: Time,
) -> Result<(), Broken> {
    for (at, worker) in world.workers.iter().enumerate() {
        let was_stalled = before
            .entries
            .iter()
            .any(|entry| worker.names.contains(&entry.owner) && entry.stalled);
        let is_stalled = world.entry(at).is_some_and(|entry| entry.stalled);
        let is_stale = worker
            .grants
            .first()
            .is_some_and(|granted| *granted + STALE <= now);
        if is_stalled && (Some(at) == speaker || !was_stalled && !is_stale) {
            return Err(Law::Order.broken(&format!(
                "{} lost grants made at {:?} at {now:?}",
                name(at),
                worker.grants
            )));
        }
    }
    Ok(())
}

/// Nothing starts, or is granted, before the pause has ended, and then one call.
fn check_pause(world: &World, before: &Record, is_start: bool) -> Result<(), Broken> {
    let is_shut = before.sight().lasting(world.now).is_some();
    if is_start && is_shut {
        return Err(Law::Pause.broken("a call started in a pause"));
    }
    let Some(recovery) = &world.record.recovery else {
        return Ok(());
    };
    let granted: u32 = world.record.entries.iter().map(|e| e.granted).sum();
    let most = match recovery.stage {
        Stage::Open => u32::MAX,
        Stage::Shut if recovery.until <= world.now => 1,
        Stage::Shut | Stage::Probing { .. } => 0,
    };
    if granted > most {
        return Err(Law::Pause.broken(&format!("{granted} granted: {recovery:?}")));
    }
    Ok(())
}

/// Of the calls that started in a pause's epoch one is undecided while the gate is not open.
fn check_probe(world: &World) -> Result<(), Broken> {
    let Some(recovery) = &world.record.recovery else {
        return Ok(());
    };
    let probes = world.workers.iter().filter(|worker| !worker.is_dead);
    let probes = probes.flat_map(|worker| {
        let calls = 0..worker.calls.len();
        calls.filter(|call| worker.is_undecided(*call) && worker.epochs[*call] == recovery.epoch)
    });
    let probes = probes.count();
    if probes > 1 && recovery.stage != Stage::Open {
        return Err(Law::Probe.broken(&format!("{probes} probes: {recovery:?}")));
    }
    Ok(())
}

fn check_cap(world: &World, at: usize, before: &Record) -> Result<(), Broken> {
    let worker = &world.workers[at];
    let own = before.entries.iter();
    let own = own.filter(|entry| worker.names.contains(&entry.owner));
    let was = own.map(|entry| entry.standing.running).sum();
    let says = worker.member.line().standing().running;
    if says > was && worker.is_settled() && !world.is_lost(at) {
        return Err(Law::Cap.broken(&format!("{} runs {says}, the record knew {was}", name(at))));
    }
    // A worker that is adopted again brings what it runs, over the cap if need be.
    check_limit(world, before, u64::from(says.saturating_sub(was)))
}

/// Nothing may be granted above the limit.
pub fn check_limit(world: &World, before: &Record, brought: u64) -> Result<(), Broken> {
    let (limit, after) = (world.record.setting.limit(), world.record.in_flight());
    if after > limit && after > before.in_flight() + brought {
        return Err(Law::Cap.broken(&format!("{after} in flight under a limit of {limit}")));
    }
    Ok(())
}

/// What must hold after every step.
pub fn check_state(scope: &Scope, world: &World) -> Result<(), Broken> {
    let running: u64 = world
        .workers
        .iter()
        .map(|worker| u64::from(worker.running()))
        .sum();
    if world.workers.iter().all(Worker::is_settled)
        && world.reaps == scope.reaps
        && running > scope.highest_limit()
    {
        return Err(Law::Cap.broken(&format!("{running} calls run")));
    }
    check_probe(world)?;
    for (at, worker) in world.workers.iter().enumerate() {
        let entries = world.record.entries.iter();
        let known = entries.filter(|entry| worker.names.contains(&entry.owner));
        if known.count() > 1 {
            return Err(Law::Cap.broken(&format!("{} is counted twice", name(at))));
        }
        if worker.task.is_some() || worker.is_dead {
            continue;
        }
        let (line, calls) = (
            worker.member.line().standing(),
            worker.standing(&scope.keys[at]),
        );
        if line != calls {
            return Err(
                Law::NoCharge.broken(&format!("{} has {calls:?} and counts {line:?}", name(at)))
            );
        }
        let told = world
            .entry(at)
            .map_or(Standing::NONE, |entry| entry.standing);
        if !world.is_lost(at) && !worker.member.is_unreported() && told != line {
            return Err(Law::NoCharge.broken(&format!(
                "{} stands {line:?}, the record has {told:?}",
                name(at)
            )));
        }
    }
    if world.is_quiet(scope) {
        check_quiet(scope, world)?;
    }
    Ok(())
}

/// What must hold when nothing is on its way.
fn check_quiet(scope: &Scope, world: &World) -> Result<(), Broken> {
    let record = &world.record;
    let running: u64 = record
        .entries
        .iter()
        .map(|entry| u64::from(entry.standing.running))
        .sum();
    let waiting: u32 = world.workers.iter().map(Worker::waiting).sum();
    let mut living = world.workers.iter().filter(|worker| !worker.is_dead);
    let opens_at = world.opens_at().filter(|at| *at > world.now);
    // By who was told the time, or, where somebody died, by who waits and looks with each tick.
    let is_awaited = opens_at.is_some_and(|opens_at| {
        living.any(|worker| {
            let is_told = worker.next_at.is_some_and(|next| next <= opens_at);
            is_told || scope.has_ticks() && worker.waiting() > 0
        })
    });
    if waiting > 0 && running < record.setting.limit() && !is_awaited {
        return Err(Law::LostWakeUp.broken(&format!(
            "{waiting} wait while {running} of {} run, and nothing is on its way",
            record.setting.limit()
        )));
    }
    if world
        .workers
        .iter()
        .any(|worker| !worker.is_dead && worker.member.is_unreported())
    {
        return Err(Law::LostWakeUp.broken("a report is left to a tick without a conflict"));
    }
    if world.is_over() && !record.entries.is_empty() {
        return Err(Law::Leak.broken(&format!(
            "all is over and the record has {:?}",
            record.entries
        )));
    }
    Ok(())
}

pub fn name(worker: usize) -> char {
    char::from(b'A' + u8::try_from(worker).unwrap_or(0))
}
