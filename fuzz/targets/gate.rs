//! Any bytes as a gate's record, then any events on what was read from them.

#![no_main]

use libfuzzer_sys::fuzz_target;

use weir::core::gate::owner::SLOTS;
use weir::core::gate::{Event, Key, Owner, Record, Setting, Standing, apply};
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
        _ => Record::new(1, 2, SMALL),
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
};

/// Bytes read as events.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn event(&mut self) -> Option<(Owner, Standing, Event, Time)> {
        let owner = Owner {
            slot: u16::from(self.byte()?) % SLOTS,
            generation: self.small()?,
        };
        let mine = self.standing()?;
        let now = Time(self.wide()?);
        let event = match self.byte()? % 5 {
            0 => Event::Report,
            1 => Event::Arrive {
                key: Key(self.wide()?),
                no_wait: self.byte()? % 2 == 1,
                setting: self.setting()?,
                connection: self.wide()?,
            },
            2 => Event::Claim {
                then: self.standing()?,
            },
            3 => Event::Hold,
            _ => Event::Configure {
                setting: self.setting()?,
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
            head: Key(self.wide()?),
        })
    }

    fn setting(&mut self) -> Option<Setting> {
        Some(Setting {
            hash: u64::from(self.small()?),
            cap: self.small()?,
            max_waiting: self.small()?,
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
