//! A gate's record as bytes.
//!
//! A header of fixed size, then one entry per owner that has anything to its name, ordered by slot,
//! then *sections*: what only some gates have, each with a tag and a length. Newer code adds
//! sections; code that does not know one carries it over unchanged, so that two versions can work
//! on one record side by side. All numbers are little-endian. Time is the process's monotonic clock.

use super::adaptive_cap::AdaptiveCap;
use super::allowance::{Recent, SECONDS};
use super::bucket::{Bucket, Pace};
use super::headroom::Headroom;
use super::holding::{Holding, SAMPLES};
use super::learn::{FLOOR, Learned};
use super::order::{CELLS, Key, Turns};
use super::owner::Owner;
use super::ramp::{Growth, Level, Ramp};
use super::record::{Entry, Record, Setting, Standing};
use super::recovery::{Recovery, Stage};
use super::speed::Snapshot;
use crate::core::classify::Class;
use crate::core::time::Time;

const LAYOUT: u16 = 2;

/// Why stored bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by a version of the code that this one cannot work with.
    #[error("record layout {found} is not the supported layout {LAYOUT}")]
    Layout {
        /// The layout the bytes name.
        found: u16,
    },
    /// Not what this code would have written: cut, too long, or at odds with itself.
    #[error("record of {bytes} bytes is damaged")]
    Damaged {
        /// How many bytes there were.
        bytes: usize,
    },
}

impl Record {
    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + ENTRY * self.entries.len() + SECTIONS);
        let count = u16::try_from(self.entries.len()).unwrap_or(u16::MAX);
        bytes.extend_from_slice(&LAYOUT.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&self.identity.to_le_bytes());
        bytes.extend_from_slice(&self.setting.cap.to_le_bytes());
        bytes.extend_from_slice(&self.setting.max_waiting.to_le_bytes());
        for number in [
            self.policy,
            self.setting.hash,
            self.newest_connection,
            self.used_at.0,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for entry in &self.entries {
            put_entry(&mut bytes, entry);
        }
        if !self.setting.pace.is_unbound() || !self.bucket.is_blank() {
            put_section(&mut bytes, PACE, |bytes| {
                put_pace(bytes, &self.setting.pace);
                put_bucket(bytes, &self.bucket);
            });
        }
        if self.holding != Holding::default() {
            put_section(&mut bytes, HOLDING, |bytes| {
                bytes.push(self.holding.next);
                for sample in self.holding.samples {
                    bytes.extend_from_slice(&sample.to_le_bytes());
                }
            });
        }
        if let Some(turns) = &self.turns {
            put_section(&mut bytes, TURNS, |bytes| {
                for rank in [turns.started].iter().chain(&turns.last) {
                    bytes.extend_from_slice(&rank.to_le_bytes());
                }
            });
        }
        if let Some(recovery) = &self.recovery {
            put_section(&mut bytes, RECOVERY, |bytes| put_recovery(bytes, recovery));
        }
        if self.setting.pace.learns || self.learned.is_some() || self.adaptive_cap.is_some() {
            put_section(&mut bytes, LEARN, |bytes| put_learn(bytes, self));
        }
        if let Some(headroom) = &self.headroom {
            put_section(&mut bytes, HEADROOM, |bytes| put_headroom(bytes, headroom));
        }
        if self.recent != Recent::default() {
            put_section(&mut bytes, RECENT, |bytes| {
                bytes.extend_from_slice(&self.recent.second.to_le_bytes());
                for count in self.recent.calls.iter().chain(&self.recent.retries) {
                    bytes.extend_from_slice(&count.to_le_bytes());
                }
            });
        }
        bytes.extend_from_slice(&self.unknown);
        bytes
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// If the bytes were written in another layout, or are not whole.
    pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
        let damaged = DecodeError::Damaged { bytes: bytes.len() };
        let mut reader = Reader(bytes);
        let found = reader.u16().ok_or(damaged)?;
        if found != LAYOUT {
            return Err(DecodeError::Layout { found });
        }
        reader.record().ok_or(damaged)
    }
}

const HEADER: usize = 2 + 2 + 16 + 4 + 4 + 4 * 8;
const ENTRY: usize = 2 + 2 + 4 + 5 * 4 + 8 + 2 * 8;
/// What the sections of most gates need.
const SECTIONS: usize = 252;

/// No worker has so many calls; what says so is damaged, and granting to them would take for ever.
const MOST: u32 = 1 << 20;

const PACE: u16 = 1;
const HOLDING: u16 = 2;
const TURNS: u16 = 3;
const RECOVERY: u16 = 4;
const RECENT: u16 = 5;
const HEADROOM: u16 = 6;
const LEARN: u16 = 7;

fn put_entry(bytes: &mut Vec<u8>, entry: &Entry) {
    let Standing {
        running,
        fresh,
        ready,
        held,
        head,
    } = entry.standing;
    bytes.extend_from_slice(&entry.owner.slot.to_le_bytes());
    bytes.extend_from_slice(&u16::from(entry.stalled).to_le_bytes());
    bytes.extend_from_slice(&entry.owner.generation.to_le_bytes());
    for number in [running, fresh, ready, held, entry.granted] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [entry.granted_at.0, head.rank, head.arrived] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn put_section(bytes: &mut Vec<u8>, tag: u16, write: impl Fn(&mut Vec<u8>)) {
    bytes.extend_from_slice(&tag.to_le_bytes());
    let length_at = bytes.len();
    bytes.extend_from_slice(&[0; 2]);
    write(bytes);
    let length = u16::try_from(bytes.len() - length_at - 2).unwrap_or(u16::MAX);
    if let Some(place) = bytes.get_mut(length_at..length_at + 2) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

fn put_pace(bytes: &mut Vec<u8>, pace: &Pace) {
    bytes.extend_from_slice(&pace.rate.to_le_bytes());
    bytes.extend_from_slice(&pace.burst.to_le_bytes());
    let (kind, initial, every, growth) = match pace.ramp {
        None => (0_u32, 0, 0, 0),
        Some(Ramp {
            initial,
            every,
            growth: Growth::MilliPercent(growth),
        }) => (1, initial, every, u64::from(growth)),
        Some(Ramp {
            initial,
            every,
            growth: Growth::Step(step),
        }) => (2, initial, every, step),
    };
    bytes.extend_from_slice(&kind.to_le_bytes());
    for number in [initial, every, growth] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn put_bucket(bytes: &mut Vec<u8>, bucket: &Bucket) {
    for number in [bucket.debt, bucket.at.0, bucket.level.per_second] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&bucket.level.usage.to_le_bytes());
}

fn put_recovery(bytes: &mut Vec<u8>, recovery: &Recovery) {
    let (stage, owner, since) = match recovery.stage {
        Stage::Open => (0, Owner::default(), Time(0)),
        Stage::Shut => (1, Owner::default(), Time(0)),
        Stage::Probing { owner, since } => (2, owner, since),
    };
    let class = Class::ALL.iter().position(|class| *class == recovery.class);
    let class = class.and_then(|at| u8::try_from(at).ok());
    bytes.extend_from_slice(&[
        stage,
        class.unwrap_or(u8::MAX),
        u8::from(recovery.is_stated),
        u8::from(recovery.lesson.is_some()),
    ]);
    for number in [
        recovery.epoch,
        recovery.refusals,
        recovery.misses,
        recovery.latency,
        u32::from(owner.slot),
        owner.generation,
    ] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [since.0, recovery.until.0, recovery.draw, recovery.started.0] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    if let Some(lesson) = &recovery.lesson {
        put_snapshot(bytes, lesson);
    }
    for (slot, epoch) in &recovery.undecided {
        bytes.extend_from_slice(&slot.to_le_bytes());
        bytes.extend_from_slice(&epoch.to_le_bytes());
    }
}

fn put_snapshot(bytes: &mut Vec<u8>, lesson: &Snapshot) {
    for number in [lesson.measured, lesson.best, lesson.lately, lesson.at.0] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [lesson.recent, lesson.in_flight] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn put_headroom(bytes: &mut Vec<u8>, headroom: &Headroom) {
    let is_told = u32::from(headroom.is_told);
    for number in [headroom.remaining, headroom.limit, headroom.starts, is_told] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [
        headroom.reset.0,
        headroom.first_reset.0,
        headroom.began.0,
        headroom.started.0,
        headroom.random,
    ] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn put_learn(bytes: &mut Vec<u8>, record: &Record) {
    let flags = [
        record.setting.pace.learns,
        record.learned.is_some(),
        record.adaptive_cap.is_some(),
        false,
    ];
    bytes.extend(flags.map(u8::from));
    let meter = &record.meter;
    for count in meter.tenths.iter().chain(&meter.seconds) {
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    for number in [meter.tenth, meter.best] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    if let Some(learned) = &record.learned {
        let flags = [learned.is_pressed, learned.is_sure].map(u8::from);
        bytes.extend([learned.confirmed, learned.early].into_iter().chain(flags));
        for number in [
            learned.rate,
            learned.ceiling,
            learned.step,
            learned.share,
            learned.debt,
            learned.at.0,
            learned.opened.0,
            learned.fell.0,
            learned.cost,
            learned.level,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&learned.stated.to_le_bytes());
        bytes.extend_from_slice(&learned.unheard.to_le_bytes());
    }
    if let Some(cap) = &record.adaptive_cap {
        bytes.extend_from_slice(&cap.limit.to_le_bytes());
        bytes.extend_from_slice(&cap.keeps_ms.to_le_bytes());
        for time in [cap.since, cap.fell] {
            bytes.extend_from_slice(&time.0.to_le_bytes());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn record(&mut self) -> Option<Record> {
        let count = usize::from(self.u16()?);
        let identity = u128::from_le_bytes(self.take()?);
        let (cap, max_waiting) = (self.u32()?, self.u32()?);
        let policy = self.u64()?;
        let setting = Setting {
            hash: self.u64()?,
            cap,
            max_waiting,
            pace: Pace::UNBOUND,
        };
        let mut record = Record::new(identity, policy, setting, Time(0));
        record.newest_connection = self.u64()?;
        record.used_at = Time(self.u64()?);
        if self.0.len() < count * ENTRY {
            return None;
        }
        record.entries.reserve(count);
        let mut least = 0;
        for _ in 0..count {
            let entry = self.entry()?;
            if entry.owner.slot < least || entry.granted > entry.standing.waiting() {
                return None;
            }
            least = entry.owner.slot.checked_add(1)?;
            record.entries.push(entry);
        }
        while !self.0.is_empty() {
            self.section(&mut record)?;
        }
        Some(record)
    }

    fn section(&mut self, record: &mut Record) -> Option<()> {
        let whole = self.0;
        let (tag, length) = (self.u16()?, usize::from(self.u16()?));
        let (body, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        let mut body = Reader(body);
        match tag {
            PACE => {
                record.setting.pace = body.pace()?;
                record.bucket = body.bucket()?;
            }
            HOLDING => record.holding = body.holding()?,
            TURNS => record.turns = Some(body.turns()?),
            RECENT => record.recent = body.recent()?,
            LEARN => body.learn(record)?,
            HEADROOM => record.headroom = Some(body.headroom()?),
            RECOVERY => record.recovery = Some(Box::new(body.recovery()?)),
            _ => {
                record.unknown.extend_from_slice(whole.get(..length + 4)?);
                return Some(());
            }
        }
        body.0.is_empty().then_some(())
    }

    fn entry(&mut self) -> Option<Entry> {
        let slot = self.u16()?;
        let stalled = self.u16()? != 0;
        let generation = self.u32()?;
        let [running, fresh, ready, held, granted] = self.numbers()?;
        if [running, fresh, ready, held, granted]
            .iter()
            .any(|n| *n > MOST)
        {
            return None;
        }
        Some(Entry {
            owner: Owner { slot, generation },
            stalled,
            granted,
            granted_at: Time(self.u64()?),
            standing: Standing {
                running,
                fresh,
                ready,
                held,
                head: Key {
                    rank: self.u64()?,
                    arrived: self.u64()?,
                },
            },
        })
    }

    fn pace(&mut self) -> Option<Pace> {
        let (rate, burst, kind) = (self.u64()?, self.u32()?, self.u32()?);
        let (initial, every, growth) = (self.u64()?, self.u64()?, self.u64()?);
        let growth = match kind {
            0 => None,
            1 => Some(Growth::MilliPercent(u32::try_from(growth).ok()?)),
            2 => Some(Growth::Step(growth)),
            _ => return None,
        };
        let ramp = growth.map(|growth| Ramp {
            initial,
            every,
            growth,
        });
        let is_whole = rate > 0 && burst > 0 && (ramp.is_none() || (initial > 0 && every > 0));
        is_whole.then_some(Pace {
            rate,
            burst,
            ramp,
            learns: false,
        })
    }

    fn bucket(&mut self) -> Option<Bucket> {
        Some(Bucket {
            debt: self.u64()?,
            at: Time(self.u64()?),
            level: Level {
                per_second: self.u64()?,
                usage: self.u32()?,
            },
        })
    }

    fn holding(&mut self) -> Option<Holding> {
        let [next] = self.take()?;
        let samples: [u32; SAMPLES] = self.numbers()?;
        Some(Holding { samples, next })
    }

    fn recent(&mut self) -> Option<Recent> {
        let second = self.u64()?;
        let calls: [u32; SECONDS] = self.numbers()?;
        let retries: [u32; SECONDS] = self.numbers()?;
        Some(Recent {
            second,
            calls,
            retries,
        })
    }

    fn turns(&mut self) -> Option<Box<Turns>> {
        let started = self.u64()?;
        let mut last = [0; CELLS];
        for rank in &mut last {
            *rank = self.u64()?;
        }
        Some(Box::new(Turns { started, last }))
    }

    fn headroom(&mut self) -> Option<Headroom> {
        let [remaining, limit, starts, is_told] = self.numbers()?;
        Some(Headroom {
            remaining,
            limit,
            starts,
            reset: Time(self.u64()?),
            first_reset: Time(self.u64()?),
            began: Time(self.u64()?),
            started: Time(self.u64()?),
            random: self.u64()?,
            is_told: is_told != 0,
        })
    }

    fn recovery(&mut self) -> Option<Recovery> {
        let [stage, class, is_stated, has_lesson] = self.take()?;
        let [epoch, refusals, misses, latency, slot, generation] = self.numbers()?;
        let owner = Owner {
            slot: u16::try_from(slot).ok()?,
            generation,
        };
        let since = Time(self.u64()?);
        let stage = match stage {
            0 => Stage::Open,
            1 => Stage::Shut,
            2 => Stage::Probing { owner, since },
            _ => return None,
        };
        let mut recovery = Recovery {
            epoch,
            stage,
            until: Time(self.u64()?),
            class: *Class::ALL.get(usize::from(class))?,
            is_stated: is_stated != 0,
            draw: self.u64()?,
            refusals,
            misses,
            latency,
            started: Time(self.u64()?),
            undecided: Vec::new(),
            lesson: None,
        };
        if has_lesson != 0 {
            recovery.lesson = Some(self.snapshot()?);
        }
        while !self.0.is_empty() {
            recovery.undecided.push((self.u16()?, self.u32()?));
        }
        let slots = recovery.undecided.iter().map(|(slot, _)| slot);
        slots.is_sorted_by(|a, b| a < b).then_some(recovery)
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        Some(Snapshot {
            measured: self.u64()?,
            best: self.u64()?,
            lately: self.u64()?,
            at: Time(self.u64()?),
            recent: self.u32()?,
            in_flight: self.u32()?,
        })
    }

    fn learn(&mut self, record: &mut Record) -> Option<()> {
        let [learns, has_rate, has_cap, _] = self.take()?;
        record.setting.pace.learns = learns != 0;
        let meter = &mut record.meter;
        for count in meter.tenths.iter_mut().chain(&mut meter.seconds) {
            *count = self.u16()?;
        }
        meter.tenth = self.u64()?;
        meter.best = self.u64()?;
        if has_rate != 0 {
            record.learned = Some(Box::new(self.learned()?));
        }
        if has_cap != 0 {
            let cap = AdaptiveCap {
                limit: self.u32()?,
                keeps_ms: self.u32()?,
                since: Time(self.u64()?),
                fell: Time(self.u64()?),
            };
            record.adaptive_cap = Some(cap).filter(|cap| cap.limit > 0);
        }
        Some(())
    }

    fn learned(&mut self) -> Option<Learned> {
        let [confirmed, early, is_pressed, is_sure] = self.take()?;
        let learned = Learned {
            confirmed,
            early,
            is_pressed: is_pressed != 0,
            is_sure: is_sure != 0,
            rate: self.u64()?,
            ceiling: self.u64()?,
            step: self.u64()?,
            share: self.u64()?,
            debt: self.u64()?,
            at: Time(self.u64()?),
            opened: Time(self.u64()?),
            fell: Time(self.u64()?),
            cost: self.u64()?,
            level: self.u64()?,
            stated: self.u64()?,
            unheard: self.u16()?,
        };
        (learned.rate >= FLOOR && learned.unheard <= 1000).then_some(learned)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u32()?;
        }
        Some(numbers)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn sample() -> Record {
        let mut record = Record::new(
            1 << 100,
            42,
            Setting {
                hash: 7,
                cap: 8,
                max_waiting: 1000,
                pace: Pace {
                    rate: 5,
                    burst: 3,
                    ramp: Some(Ramp {
                        initial: 1,
                        every: 7,
                        growth: Growth::Step(9),
                    }),
                    learns: true,
                },
            },
            Time(5),
        );
        record.newest_connection = 12;
        record.bucket.debt = 9;
        record.holding.add(std::time::Duration::from_secs(3));
        record.turns = Some(Box::new(Turns::new(4)));
        record.recent.add_calls(3, Time(12_000_000_000));
        record.meter.count(Time(1 << 40));
        record.learned = Some(Box::new(Learned {
            rate: FLOOR,
            ceiling: 1,
            confirmed: 2,
            early: 3,
            step: 4,
            share: 5,
            debt: 6,
            at: Time(7),
            opened: Time(8),
            fell: Time(9),
            cost: 10,
            level: 13,
            unheard: 11,
            stated: 12,
            is_pressed: true,
            is_sure: false,
        }));
        record.adaptive_cap = Some(AdaptiveCap {
            limit: 1,
            since: Time(2),
            keeps_ms: 3,
            fell: Time(4),
        });
        record.headroom = Some(Headroom {
            remaining: 1,
            limit: 2,
            reset: Time(3),
            first_reset: Time(4),
            began: Time(5),
            started: Time(6),
            starts: 7,
            random: 8,
            is_told: true,
        });
        record.recovery = Some(Box::new(Recovery {
            epoch: 3,
            stage: Stage::Probing {
                owner: Owner {
                    slot: 5,
                    generation: 3,
                },
                since: Time(70),
            },
            until: Time(60),
            class: Class::Overloaded,
            is_stated: true,
            draw: 1 << 60,
            refusals: 4,
            misses: 1,
            latency: 12,
            started: Time(71),
            undecided: vec![(2, 1), (5, 3)],
            lesson: Some(Snapshot {
                measured: 1,
                best: 2,
                lately: 6,
                recent: 3,
                in_flight: 4,
                at: Time(5),
            }),
        }));
        for slot in [5, 2] {
            let mut entry = Entry::new(Owner {
                slot,
                generation: 3,
            });
            entry.standing = Standing {
                running: 1,
                fresh: 2,
                ready: 3,
                held: 4,
                head: Key::at(99),
            };
            entry.granted = 2;
            entry.granted_at = Time(77);
            entry.stalled = slot == 2;
            record.put_entry(entry);
        }
        record
    }

    #[test]
    fn a_record_survives_storage_whole() {
        let record = sample();
        assert_eq!(Record::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn l6_what_newer_code_added_is_carried_over() {
        let mut newer = sample().encode();
        newer.extend_from_slice(&[200, 0, 3, 0, 7, 8, 9]);
        let record = Record::decode(&newer).expect("a record");
        assert_eq!(record.encode(), newer);
    }

    #[test]
    fn a_gate_with_a_cap_only_is_short() {
        let pace = Pace::UNBOUND;
        let setting = Setting {
            pace,
            ..sample().setting
        };
        let record = Record::new(1, 2, setting, Time(5));
        assert_eq!(record.encode().len(), HEADER);
    }

    #[test]
    fn entries_are_kept_by_slot_and_empty_ones_are_not_kept() {
        let mut record = sample();
        let slots: Vec<u16> = record
            .entries
            .iter()
            .map(|entry| entry.owner.slot)
            .collect();
        assert_eq!(slots, [2, 5]);
        let owner = record
            .take_entry(Owner {
                slot: 2,
                generation: 3,
            })
            .owner;
        record.put_entry(Entry::new(owner));
        assert_eq!(record.entries.len(), 1);
    }

    #[test]
    fn cut_padded_and_foreign_bytes_are_told_apart() {
        let bytes = sample().encode();
        let sections = [0, 1, 2, 3, 4, 5, 6].map(|n| end_of_section(&bytes, n));
        for cut in (0..bytes.len()).filter(|cut| !sections.contains(cut)) {
            assert_eq!(
                Record::decode(&bytes[..cut]),
                Err(DecodeError::Damaged { bytes: cut })
            );
        }
        let mut padded = bytes.clone();
        padded.push(0);
        assert!(matches!(
            Record::decode(&padded),
            Err(DecodeError::Damaged { .. })
        ));
        let mut foreign = bytes;
        foreign[0] = 200;
        assert_eq!(
            Record::decode(&foreign),
            Err(DecodeError::Layout { found: 200 })
        );
    }

    /// Where section number `n` ends, the entries being number 0.
    fn end_of_section(bytes: &[u8], n: usize) -> usize {
        (0..n).fold(HEADER + 2 * ENTRY, |at, _| {
            at + 4 + usize::from(u16::from_le_bytes([bytes[at + 2], bytes[at + 3]]))
        })
    }
}
