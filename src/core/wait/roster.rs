//! The gates this worker knows, and where they lie.
//!
//! A gate is known by its identity. Where its record lies is remembered, but may change: an idle
//! gate gives way to another key, and is made elsewhere when it is used again.

use litemap::LiteMap;

use super::member::Member;
use crate::core::gate::record::IDLE;
use crate::core::gate::table::{PLACES, Place};
use crate::core::gate::{Record, Setting};
use crate::core::time::Time;

/// A gate, wherever it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateId(pub(super) u128);

/// How many gates are known before those are forgotten that were not used for [`IDLE`]. Within that
/// time no more than [`PLACES`] can have been used.
const KNOWN: usize = 2 * PLACES as usize;

/// What is known of one gate.
#[derive(Debug)]
struct Known {
    /// None if it was forgotten and is spoken of once more.
    home: Option<Home>,
    member: Member,
    used_at: Time,
}

/// Where a gate lies, and what it takes to make it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) place: Place,
    /// Which policy it is of, by the hash in its record.
    pub(super) policy: u64,
    pub(super) setting: Setting,
    /// How many gates there may be for it to be made.
    pub(super) max_keys: u16,
}

/// The gates this worker knows.
#[derive(Debug, Default)]
pub(super) struct Roster {
    /// Boxed, since entering one moves those behind it.
    gates: LiteMap<GateId, Box<Known>>,
    at: LiteMap<Place, GateId>,
}

impl Roster {
    /// Remembers where a gate lies, and forgets what is long past if there are too many.
    pub(super) fn enter(
        &mut self,
        now: Time,
        fresh: &Record,
        place: Place,
        max_keys: u16,
    ) -> GateId {
        if self.gates.len() >= KNOWN {
            self.forget_unused(now);
        }
        let id = GateId(fresh.identity);
        self.at.insert(place, id);
        let known = self.known(id);
        known.used_at = now;
        known.home = Some(Home {
            place,
            policy: fresh.policy,
            setting: fresh.setting,
            max_keys,
        });
        id
    }

    /// Where a gate lies that is used now.
    pub(super) fn using(&mut self, id: GateId, now: Time) -> Option<Home> {
        let known = self.gates.get_mut(&id)?;
        known.used_at = now;
        known.home
    }

    /// Where a gate lies.
    pub(super) fn place(&self, id: GateId) -> Option<Place> {
        self.gates.get(&id)?.home.map(|home| home.place)
    }

    /// This worker as a member of a gate.
    pub(super) fn member(&self, id: GateId) -> Option<&Member> {
        self.gates.get(&id).map(|known| &known.member)
    }

    /// The same, to be changed.
    pub(super) fn member_mut(&mut self, id: GateId) -> &mut Member {
        &mut self.known(id).member
    }

    /// The gate that was last seen at a place.
    pub(super) fn at(&self, place: Place) -> Option<GateId> {
        self.at.get(&place).copied()
    }

    /// Forgets a gate.
    pub(super) fn forget(&mut self, id: GateId) {
        let home = self.gates.remove(&id).and_then(|known| known.home);
        if let Some(home) = home
            && self.at(home.place) == Some(id)
        {
            self.at.remove(&home.place);
        }
    }

    /// All gates, the first one behind `id` first.
    pub(super) fn after(&self, id: Option<GateId>) -> impl Iterator<Item = (GateId, &Member)> {
        let first = id.map_or(0, |id| match self.gates.find_index(&id) {
            Ok(at) => at + 1,
            Err(at) => at,
        });
        let ahead = self.gates.iter().skip(first);
        let behind = self.gates.iter().take(first);
        ahead.chain(behind).map(|(id, known)| (*id, &known.member))
    }

    /// All memberships, to be changed.
    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.gates.iter_mut().map(|(_, known)| &mut known.member)
    }

    fn known(&mut self, id: GateId) -> &mut Known {
        self.gates.entry(id).or_insert_with(|| {
            Box::new(Known {
                home: None,
                member: Member::default(),
                used_at: Time(0),
            })
        })
    }

    fn forget_unused(&mut self, now: Time) {
        let is_unused = |known: &Known| {
            let is_quiet = known.member.line().is_empty() && !known.member.is_unreported();
            is_quiet && now.since(known.used_at) >= IDLE
        };
        self.gates.retain(|_, known| !is_unused(known));
        let gates = &self.gates;
        self.at.retain(|_, id| gates.contains_key(id));
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::core::gate::Pace;

    fn fresh(identity: u128) -> Record {
        let setting = Setting {
            hash: 1,
            cap: 1,
            max_waiting: 1,
            pace: Pace::UNBOUND,
        };
        Record::new(identity, 7, setting, Time(0))
    }

    fn place(number: u16) -> Place {
        Place::from_message(&number.to_le_bytes()).expect("a place")
    }

    #[test]
    fn a_gate_that_moved_is_known_at_its_new_place_only_through_itself() {
        let mut roster = Roster::default();
        let a = roster.enter(Time(0), &fresh(1), place(1), 9);
        let b = roster.enter(Time(0), &fresh(2), place(1), 9);
        assert_eq!(roster.at(place(1)), Some(b));
        assert_eq!(roster.place(a), Some(place(1)));
        roster.enter(Time(0), &fresh(1), place(2), 9);
        assert_eq!(
            (roster.at(place(2)), roster.place(a)),
            (Some(a), Some(place(2)))
        );
        roster.forget(a);
        assert_eq!((roster.at(place(2)), roster.at(place(1))), (None, Some(b)));
    }

    #[test]
    fn all_gates_have_their_turn() {
        let mut roster = Roster::default();
        let ids = [1, 2, 3].map(|n| roster.enter(Time(0), &fresh(n), place(1), 9));
        let after = |id| roster.after(id).map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(after(None), ids);
        assert_eq!(after(Some(ids[0])), [ids[1], ids[2], ids[0]]);
        assert_eq!(after(Some(ids[2])), ids);
    }

    #[test]
    fn l15_gates_that_are_long_unused_are_forgotten_and_those_with_calls_are_not() {
        let mut roster = Roster::default();
        let busy = roster.enter(Time(0), &fresh(0), place(0), 9);
        roster.member_mut(busy).line_mut().run(0);
        // As many in a minute as there are places.
        let step = IDLE / u32::from(PLACES);
        let mut now = Time(0);
        for n in 1..3 * KNOWN as u128 {
            now = now + step;
            let number = u16::try_from(n % u128::from(PLACES)).expect("a place");
            roster.enter(now, &fresh(n), place(number), 9);
            assert!(roster.gates.len() <= KNOWN && roster.at.len() <= KNOWN);
        }
        assert!(roster.member(busy).is_some());
    }
}
