//! Any bytes as a gate's record, then any events on what was read from them.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;

use weir::core::classify::{Class, Stated};
use weir::core::gate::headroom::Told;
use weir::core::gate::owner::SLOTS;
use weir::core::gate::ramp::{Growth, Ramp};
use weir::core::gate::{
    Allowance, Arrival, Event, Hold, Key, Order, Owner, Pace, Record, Refusal, Setting, Standing,
    Statement, Tally, Undecided, apply,
};
use weir::core::time::Time;

/// Events on one record.
const EVENTS: usize = 16;

fuzz_target!(|data: &[u8]| {
    let Some((&[high, low], rest)) = data.split_first_chunk() else {
        return;
    };
    let (stored, script) =
        rest.split_at(rest.len().min(usize::from(u16::from_be_bytes([high, low]))));
    let mut record = match Record::decode(stored) {
        Ok(record) if is_bounded(&record) => record,
        _ => Record::new(1, 2, SMALL, Time(0)),
    };
    let mut script = Script(script);
    for _ in 0..EVENTS {
        let Some((owner, mine, event, now)) = script.event() else {
            break;
        };
        let before = record.entries.len();
        let _ = apply(&mut record, owner, mine, event, now);
        assert!(
            record.entries.len() <= before + 1,
            "an event adds its owner at most"
        );
        let _ = Record::decode(&record.encode());
    }
});

/// Whether a gate could have come to these numbers. Granting takes time by their size.
fn is_bounded(record: &Record) -> bool {
    record.entries.len() <= usize::from(SLOTS)
        && record.entries.iter().all(|entry| {
            let Standing { fresh, ready, .. } = entry.standing;
            fresh.max(ready).max(entry.granted) <= MOST
        })
}

/// The largest count of waiters that events and records begin with.
const MOST: u32 = 250;

const SMALL: Setting = Setting {
    hash: 3,
    cap: 2,
    max_waiting: 2,
    pace: Pace::UNBOUND,
};

/// A million a second, in billionths.
const MOST_PER_SECOND: u64 = 1_000_000_000_000_000;

/// Bytes read as events.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn event(&mut self) -> Option<(Owner, Statement, Event, Time)> {
        let owner = Owner {
            slot: u16::from(self.byte()?) % SLOTS,
            generation: self.small()?,
        };
        let mine = Statement {
            standing: self.standing()?,
            undecided: Undecided {
                oldest: self.small()?,
                newest: self.small()?,
            },
            tally: self.tally()?,
        };
        let now = Time(self.wide()?);
        let event = match self.byte()? % 5 {
            0 => Event::Report,
            1 => Event::Arrive(Arrival {
                arrived: self.wide()?,
                order: self.order()?,
                no_wait: self.byte()? % 2 == 1,
                until: Time(self.wide()?),
                setting: self.setting()?,
                connection: self.wide()?,
            }),
            2 => Event::Claim {
                then: self.standing()?,
            },
            3 => Event::Hold(Hold {
                until: Time(self.wide()?),
                allowance: Allowance {
                    percent: self.small()?,
                    per_second: self.small()?,
                },
            }),
            _ => Event::Configure {
                setting: self.setting()?,
                seen: self.wide()?,
            },
        };
        Some((owner, mine, event, now))
    }

    fn standing(&mut self) -> Option<Standing> {
        Some(Standing {
            running: self.small()?,
            fresh: self.waiters()?,
            ready: self.waiters()?,
            held: self.small()?,
            head: Key {
                rank: self.wide()?,
                arrived: self.wide()?,
            },
        })
    }

    fn setting(&mut self) -> Option<Setting> {
        Some(Setting {
            hash: u64::from(self.small()?),
            cap: self.small()?,
            max_waiting: self.small()?,
            pace: self.pace()?,
        })
    }

    fn tally(&mut self) -> Option<Tally> {
        Some(Tally {
            unstarted: self.waiters()?,
            unplanned: self.waiters()?,
            unannounced: self.waiters()?,
            held_for: match self.byte()? {
                0 => None,
                _ => Some(Duration::from_nanos(self.wide()?)),
            },
            told: self.told()?,
            unheard: u32::from(self.byte()?),
            refused: match self.byte()? % 2 {
                0 => None,
                _ => Some(self.refusal()?),
            },
            accepted: self.epoch()?,
            taken_back: self.epoch()?,
        })
    }

    fn refusal(&mut self) -> Option<Refusal> {
        let class = usize::from(self.byte()?) % Class::ALL.len();
        Some(Refusal {
            epoch: self.small()?,
            class: *Class::ALL.get(class)?,
            least: match self.byte()? % 2 {
                0 => None,
                _ => Some(Duration::from_nanos(self.wide()?)),
            },
            at: Time(self.wide()?),
            took: Duration::from_nanos(self.wide()?),
            random: self.wide()?,
            envoys: self.small()?,
            stated: match self.byte()? % 3 {
                0 => None,
                1 => Some(Stated::PerSecond(self.wide()?)),
                _ => Some(Stated::AtOnce(self.small()?)),
            },
            is_told: self.byte()? % 2 == 1,
        })
    }

    fn epoch(&mut self) -> Option<Option<u32>> {
        Some(match self.byte()? % 2 {
            0 => None,
            _ => Some(self.small()?),
        })
    }

    fn told(&mut self) -> Option<Option<Told>> {
        if self.byte()? % 2 == 0 {
            return Some(None);
        }
        Some(Some(Told {
            remaining: self.small()?,
            limit: self.small()?,
            reset: Time(self.wide()?),
            began: Time(self.wide()?),
            counted: self.small()?,
            random: self.wide()?,
        }))
    }

    fn order(&mut self) -> Option<Order> {
        Some(match self.byte()? % 3 {
            0 => Order::Arrival,
            1 => Order::Class {
                behind: self.wide()?,
            },
            _ => Order::Fair {
                tenant: self.wide()?,
                weight: self.small()?.max(1),
            },
        })
    }

    /// Any pace that a configuration can ask for.
    fn pace(&mut self) -> Option<Pace> {
        let kind = self.byte()?;
        let ramp = Ramp {
            initial: self.wide()?.clamp(1, MOST_PER_SECOND),
            every: self.wide()?.clamp(100_000_000, 3_600_000_000_000),
            growth: match kind % 2 {
                0 => Growth::MilliPercent(self.small()?.clamp(1000, 1_000_000)),
                _ => Growth::Step(self.wide()?.clamp(1, MOST_PER_SECOND)),
            },
        };
        Some(Pace {
            rate: match kind % 4 {
                0 | 1 => Pace::NO_RATE,
                _ => self.wide()?.clamp(1, MOST_PER_SECOND),
            },
            burst: self.small()?.clamp(1, 100_000),
            ramp: (kind % 8 > 3).then_some(ramp),
            learns: kind % 16 > 7,
        })
    }

    /// Mostly a small number, now and then one near the end of its range.
    fn small(&mut self) -> Option<u32> {
        let byte = self.byte()?;
        Some(match byte {
            0..=250 => u32::from(byte),
            _ => u32::MAX - u32::from(255 - byte),
        })
    }

    fn waiters(&mut self) -> Option<u32> {
        Some(self.small()?.min(MOST))
    }

    fn wide(&mut self) -> Option<u64> {
        let byte = self.byte()?;
        Some(match byte {
            0..=127 => u64::from(byte),
            // Times: steps of a millisecond.
            128..=250 => u64::from(byte - 128) * 1_000_000,
            _ => u64::MAX - u64::from(255 - byte),
        })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
}
