//! What a gate does after a refusal: an *episode*.
//!
//! The first refusal begins it: the epoch rises, and the gate is shut until the pause ends. Refusals
//! of attempts that started in an earlier epoch belong to what has been paid for: they prolong the
//! pause and no more. After the pause one call goes, the *probe*, as soon as nothing older is
//! undecided. Accepted, it opens the gate; refused, it shuts it for longer; ended without either, it
//! makes way for the next waiter.
//!
//! Nothing is taken back that a worker has: only what has been granted and not claimed, when the gate
//! shuts. The probe is at first a grant like any other, of which there is one at a time; once
//! claimed it is its worker's, who says with every word whether it is still undecided.

use std::time::Duration;

use super::owner::Owner;
use super::pause::Refusal;
use super::record::{IDLE, Record, Statement};
use super::speed::Snapshot;
use crate::core::classify::Class;
use crate::core::time::{Time, millis_up};

/// The shortest and the longest time after which an attempt without an answer counts as accepted.
const GRACE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(2)];

/// What a gate knows of its refusals; nothing while there was none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recovery {
    /// Rises with every refusal that is not of an earlier one.
    pub epoch: u32,
    /// How far the episode has come.
    pub stage: Stage,
    /// When the pause ends; while an episode lasts it only moves away.
    pub until: Time,
    /// What the refusal ran into that set it.
    pub class: Class,
    /// The server itself said when.
    pub is_stated: bool,
    /// The episode's draw.
    pub draw: u64,
    /// Refusals since the epoch rose, the first included.
    pub refusals: u32,
    /// Probes refused in a row.
    pub misses: u32,
    /// How long refusals take to come, smoothed, in milliseconds.
    pub latency: u32,
    /// When an attempt last started.
    pub started: Time,
    /// Workers, by slot, with the earliest epoch of their undecided attempts.
    pub undecided: Vec<(u16, u32)>,
    /// What the gate will learn of the episode, once its class is certain.
    pub lesson: Option<Snapshot>,
}

/// How far an episode has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It is over.
    Open,
    /// Nothing starts before the pause has ended, and then one call.
    Shut,
    /// The probe is out.
    Probing {
        /// Whose it is.
        owner: Owner,
        /// When it started.
        since: Time,
    },
}

/// Which of a worker's attempts are undecided: neither answered nor over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Undecided {
    /// The earliest epoch of one.
    pub oldest: u32,
    /// The latest.
    pub newest: u32,
}

impl Undecided {
    /// None of them.
    pub const NONE: Undecided = Undecided {
        oldest: u32::MAX,
        newest: 0,
    };

    /// With one more that starts in `epoch`.
    #[must_use]
    pub fn with(self, epoch: u32) -> Undecided {
        Undecided {
            oldest: self.oldest.min(epoch),
            newest: self.newest.max(epoch),
        }
    }

    fn has(self, epoch: u32) -> bool {
        self.oldest != u32::MAX && self.newest >= epoch
    }
}

/// What a worker sees of a gate's recovery with each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sight {
    /// The epoch in which attempts start now.
    pub epoch: u32,
    /// The pause, if the gate is shut; it may be over.
    pub pause: Option<Pause>,
    /// An episode lasts, so that verdicts are news.
    pub is_recovering: bool,
    /// Starts that are counted, since few calls are left; none while there are plenty.
    pub counted: Option<u32>,
}

/// For how long a gate is shut, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pause {
    /// When it ends.
    pub until: Time,
    /// What ran out.
    pub class: Class,
    /// The server itself said when.
    pub is_stated: bool,
}

impl Pause {
    /// No call starts before.
    pub fn no_start_before(&self) -> Time {
        match self.is_quota() && !self.is_stated {
            // The end of the pause is when one call tries, and nobody knows what it will find.
            true => Time::NEVER,
            false => self.until,
        }
    }

    /// Whether it is a quota that is used up.
    pub fn is_quota(&self) -> bool {
        self.class == Class::QuotaExhausted
    }
}

impl Sight {
    /// The pause, if it lasts.
    pub fn lasting(&self, now: Time) -> Option<Pause> {
        self.pause.filter(|pause| pause.until > now)
    }
}

impl Recovery {
    fn new(now: Time) -> Recovery {
        Recovery {
            epoch: 0,
            stage: Stage::Open,
            until: Time(0),
            class: Class::Other,
            is_stated: false,
            draw: 0,
            refusals: 0,
            misses: 0,
            latency: 0,
            started: now,
            undecided: Vec::new(),
            lesson: None,
        }
    }

    /// How long an attempt may be without an answer before it counts as accepted.
    pub fn grace(&self) -> Duration {
        let [least, most] = GRACE;
        Duration::from_millis(u64::from(self.latency) * 4).clamp(least, most)
    }

    /// When a call may start as far as the episode goes, if nothing happens until then.
    fn opens_at(&self) -> Time {
        match self.stage {
            Stage::Open => Time(0),
            Stage::Shut if self.undecided.is_empty() => self.until,
            Stage::Shut => self.until.max(self.started + self.grace()),
            Stage::Probing { since, .. } => since + self.grace(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Whether the gate could forget all this.
    pub(super) fn is_past(&self, now: Time) -> bool {
        now.since(self.until) >= IDLE
    }

    /// A refusal that nothing has paid for yet: limits fall once, here.
    fn begin_episode(&mut self, refusal: &Refusal) {
        self.epoch = self.epoch.saturating_add(1);
        self.refusals = 1;
        self.draw = refusal.random;
        self.shut(refusal);
    }

    /// The pause lasts until the refusal's word, or for as long as it did.
    fn shut(&mut self, refusal: &Refusal) {
        self.stage = Stage::Shut;
        let ends = refusal.pause_ends(self.misses, self.draw);
        if ends > self.until {
            self.until = ends;
            self.class = refusal.class;
            self.is_stated = refusal.is_stated();
        }
    }

    /// A call was accepted: the episode is over.
    fn open(&mut self) {
        self.stage = Stage::Open;
        self.misses = 0;
    }

    /// An attempt starts.
    fn starts(&mut self, owner: Owner, now: Time) {
        self.started = now;
        let oldest = self.oldest(owner.slot).min(self.epoch);
        self.note(owner.slot, oldest);
        if self.stage == Stage::Shut {
            self.stage = Stage::Probing { owner, since: now };
        }
    }

    /// A refusal came. True if the gate is shut, or for longer, by it.
    fn refused(&mut self, owner: Owner, refusal: &Refusal) -> bool {
        if !refusal.is_told {
            self.time(refusal.took);
        }
        if refusal.epoch >= self.epoch {
            self.misses = self
                .misses
                .saturating_add(u32::from(self.is_probing(owner)));
            self.begin_episode(refusal);
            return true;
        }
        if !refusal.is_told {
            self.refusals = self.refusals.saturating_add(1);
        } else if self.refusals == 1 && self.epoch == refusal.epoch + 1 {
            self.class = refusal.class;
        }
        let is_longer = refusal.pause_ends(0, self.draw) > self.until;
        if is_longer && refusal.prolongs() {
            self.shut(refusal);
        }
        is_longer && refusal.prolongs()
    }

    /// What passed for a refusal was none. If it was the only one, nothing has happened.
    fn taken_back(&mut self, epoch: u32, now: Time) {
        if self.epoch != epoch.saturating_add(1) {
            return;
        }
        self.refusals = self.refusals.saturating_sub(1);
        if self.refusals == 0 && self.stage == Stage::Shut {
            self.lesson = None;
            self.until = self.until.min(now);
            self.open();
        }
    }

    fn is_probing(&self, by: Owner) -> bool {
        matches!(self.stage, Stage::Probing { owner, .. } if owner == by)
    }

    fn time(&mut self, took: Duration) {
        let took = u32::try_from(millis_up(took)).unwrap_or(u32::MAX);
        self.latency = match self.latency {
            0 => took,
            known => known - known / 4 + took / 4,
        };
    }

    fn oldest(&self, slot: u16) -> u32 {
        let found = self.undecided.iter().find(|(of, _)| *of == slot);
        found.map_or(u32::MAX, |(_, epoch)| *epoch)
    }

    fn note(&mut self, slot: u16, oldest: u32) {
        let at = self.undecided.partition_point(|(of, _)| *of < slot);
        self.undecided.retain(|(of, _)| *of != slot);
        if oldest != u32::MAX {
            self.undecided.insert(at, (slot, oldest));
        }
    }
}

impl Record {
    /// What a worker is shown of the recovery.
    pub fn sight(&self) -> Sight {
        let counted = self.headroom.map(|headroom| headroom.starts);
        let calm = Sight {
            counted,
            ..Sight::default()
        };
        self.recovery.as_ref().map_or(calm, |recovery| {
            let pause = Pause {
                until: recovery.until,
                class: recovery.class,
                is_stated: recovery.is_stated,
            };
            Sight {
                epoch: recovery.epoch,
                pause: (recovery.stage == Stage::Shut).then_some(pause),
                is_recovering: recovery.stage != Stage::Open,
                counted,
            }
        })
    }

    /// When a call may start as far as the provider's word goes; [`Time::NEVER`] if that hangs on a
    /// grant.
    pub(super) fn opens_at(&self) -> Time {
        let lasts = self.headroom.map_or(Time(0), |left| left.opens_at());
        match &self.recovery {
            None => lasts,
            Some(recovery) if recovery.stage == Stage::Shut && self.has_grants() => Time::NEVER,
            Some(recovery) => recovery.opens_at().max(lasts),
        }
    }

    /// What a worker's word means for the episode. True if the gate is shut, or for longer, by it:
    /// then no grant is left.
    pub(super) fn hear(&mut self, owner: Owner, said: &Statement, now: Time) -> bool {
        let tally = &said.tally;
        if tally.refused.is_some() && self.recovery.is_none() {
            let mut recovery = Recovery::new(now);
            let running = self.entries.iter().filter(|e| e.standing.running > 0);
            // What they have undecided was of no interest so far.
            recovery.undecided = running.map(|entry| (entry.owner.slot, 0)).collect();
            self.recovery = Some(Box::new(recovery));
        }
        let snapshot = tally.refused.map(|_| self.snapshot(now));
        let Some(recovery) = &mut self.recovery else {
            return false;
        };
        let was_open = recovery.is_open();
        recovery.note(owner.slot, said.undecided.oldest);
        if tally.accepted >= Some(recovery.epoch) && recovery.is_probing(owner) {
            recovery.open();
        }
        let epoch = recovery.epoch;
        let is_shut = tally
            .refused
            .is_some_and(|refusal| recovery.refused(owner, &refusal));
        if recovery.epoch > epoch && recovery.misses == 0 {
            recovery.lesson = snapshot;
        }
        if let Some(epoch) = tally.taken_back {
            recovery.taken_back(epoch, now);
        }
        if let Stage::Probing { owner: prober, .. } = recovery.stage
            && prober.slot == owner.slot
            && (prober != owner || !said.undecided.has(recovery.epoch))
        {
            // It ended without a verdict.
            recovery.stage = Stage::Shut;
        }
        let opens = !was_open && recovery.is_open();
        let is_certain = opens || tally.refused.is_some_and(|refusal| refusal.is_told);
        if is_certain {
            self.learn_lesson();
        }
        if let Some(limit) = tally.refused.and_then(|refusal| refusal.limit()) {
            self.obey(limit, now);
        }
        if opens {
            self.open_learned(now);
        }
        if is_shut {
            self.take_back_grants(now);
        }
        is_shut
    }

    /// The class of the episode is certain: what there is to learn is learned.
    fn learn_lesson(&mut self) {
        let Some(mut recovery) = self.recovery.take() else {
            return;
        };
        if let Some(snapshot) = recovery.lesson.take() {
            self.learn(&snapshot, &recovery);
        }
        self.recovery = Some(recovery);
    }

    fn open_learned(&mut self, now: Time) {
        if let Some(learned) = &mut self.learned {
            learned.open(now);
        }
    }

    /// Time has decided the probe if its grace is over.
    pub(super) fn judge_by_time(&mut self, now: Time) {
        if let Some(recovery) = &mut self.recovery
            && matches!(recovery.stage, Stage::Probing { .. })
            && recovery.opens_at() <= now
        {
            recovery.open();
            self.learn_lesson();
            self.open_learned(now);
        }
    }

    /// An attempt of `owner` starts.
    pub(super) fn note_start(&mut self, owner: Owner, now: Time) {
        if let Some(recovery) = &mut self.recovery {
            recovery.starts(owner, now);
        }
    }

    /// Owners without an entry are gone, and with them what they had undecided and the probe.
    pub(super) fn forget_gone(&mut self) {
        let entries = &self.entries;
        let has = |slot: u16| entries.iter().any(|entry| entry.owner.slot == slot);
        if let Some(recovery) = &mut self.recovery {
            recovery.undecided.retain(|(slot, _)| has(*slot));
            if let Stage::Probing { owner, .. } = recovery.stage
                && !entries.iter().any(|entry| entry.owner == owner)
            {
                recovery.stage = Stage::Shut;
            }
        }
    }

    /// An owner has another name.
    pub(super) fn rename(&mut self, from: Owner, to: Owner) {
        if let Some(recovery) = &mut self.recovery {
            let oldest = recovery.oldest(from.slot);
            recovery.note(from.slot, u32::MAX);
            recovery.note(to.slot, oldest);
            if let Stage::Probing { owner, .. } = &mut recovery.stage
                && *owner == from
            {
                *owner = to;
            }
        }
    }

    fn has_grants(&self) -> bool {
        self.entries.iter().any(|entry| entry.granted > 0)
    }

    fn take_back_grants(&mut self, now: Time) {
        let mut taken = 0_u32;
        for entry in &mut self.entries {
            taken = taken.saturating_add(std::mem::take(&mut entry.granted));
            entry.granted_at = Time(0);
        }
        for _ in 0..taken {
            self.return_permit(now);
        }
    }
}
