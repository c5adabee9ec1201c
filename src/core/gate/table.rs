//! Where in shared data a key's record lies.
//!
//! Shared data can neither list nor delete, so the names are fixed: an open-addressed table of
//! [`PLACES`] names with linear probing. A key that finds no place within [`PROBES`] steps, or comes
//! when `max_keys` gates exist, shares its policy's overflow gate (law L15), which lies in the same
//! table.

use std::ops::Range;

use crate::port::Expect;

/// Names in the table: the largest `max_keys` times 1.25, so that a reload that changes `max_keys`
/// moves nothing.
pub const PLACES: u16 = 5120;

/// How many places a key tries.
pub const PROBES: u16 = 8;

/// A gate's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u16);

impl Place {
    /// The gate for what finds no place in the table at all, overflow gates included.
    pub const OVERFLOW: Place = Place(PLACES);

    /// The places `identity` may lie at, in the order to try.
    pub fn probes(identity: u128) -> impl Iterator<Item = Place> {
        let home = u16::try_from(identity % u128::from(PLACES)).unwrap_or(0);
        (0..PROBES).map(move |step| Place((home + step) % PLACES))
    }

    /// The name of the place in shared data.
    pub fn name(self) -> String {
        match self {
            Place::OVERFLOW => "weir.gate.overflow".to_owned(),
            Place(number) => format!("weir.gate.{number}"),
        }
    }

    /// The place as a wake-up message.
    pub fn to_message(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    /// Where in the directory the place has its bit.
    fn bit(self) -> (usize, u8) {
        (usize::from(self.0 / 8), 1 << (self.0 % 8))
    }

    /// The place a wake-up message names.
    pub fn from_message(message: &[u8]) -> Option<Place> {
        let number = u16::from_le_bytes(message.try_into().ok()?);
        (number <= PLACES).then_some(Place(number))
    }
}

/// What lies at a place whose gate gave way and that no other gate has taken yet.
pub const VACANT: &[u8] = b"vacant";

/// A gate that is entered into the directory, and shall be written if it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where it shall lie.
    pub place: Place,
    /// What must still hold there.
    pub expect: Expect,
    /// Its record.
    pub record: Vec<u8>,
}

/// Which places are taken: what the gauges are summed over, and what `max_keys` is compared with;
/// and which was taken last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    taken: Vec<u8>,
    last: Option<Claim>,
}

impl Directory {
    /// The name of the directory in shared data.
    pub const NAME: &'static str = "weir.gates";

    const BYTES: usize = (PLACES as usize + 1).div_ceil(8);

    /// Reads the stored form; too few bytes are an empty directory.
    pub fn decode(bytes: Option<&[u8]>) -> Directory {
        let split = bytes.and_then(|bytes| bytes.split_at_checked(Directory::BYTES));
        let (taken, last) = match split {
            Some((taken, last)) => (taken.to_vec(), decode_claim(last)),
            None => (vec![0; Directory::BYTES], None),
        };
        Directory { taken, last }
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.taken.clone();
        if let Some(claim) = &self.last {
            let (is_new, cas) = match claim.expect {
                Expect::New => (1, 0),
                Expect::Same(cas) => (0, cas),
            };
            bytes.push(is_new);
            bytes.extend_from_slice(&cas.to_le_bytes());
            bytes.extend_from_slice(&claim.place.to_message());
            bytes.extend_from_slice(&claim.record);
        }
        bytes
    }

    /// Marks a place as taken, by this gate.
    pub fn claim(&mut self, claim: Claim) {
        self.change(claim.place, |byte, bit| *byte |= bit);
        self.last = Some(claim);
    }

    /// The gate that was entered last.
    pub fn last(&self) -> Option<&Claim> {
        self.last.as_ref()
    }

    /// Marks a place as free.
    pub fn remove(&mut self, place: Place) {
        self.change(place, |byte, bit| *byte &= !bit);
    }

    /// How many places are taken.
    pub fn len(&self) -> u32 {
        self.taken.iter().map(|byte| byte.count_ones()).sum()
    }

    /// Whether no place is taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The taken places.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.taken_in(0..PLACES + 1)
    }

    /// The taken places, the one after `place` first and `place` itself last.
    pub fn places_after(&self, place: Option<Place>) -> impl Iterator<Item = Place> {
        let first = place.map_or(0, |Place(number)| number + 1);
        self.taken_in(first..PLACES + 1)
            .chain(self.taken_in(0..first))
    }

    fn taken_in(&self, numbers: Range<u16>) -> impl Iterator<Item = Place> {
        numbers.map(Place).filter(|place| {
            let (byte, bit) = place.bit();
            self.taken.get(byte).is_some_and(|byte| byte & bit != 0)
        })
    }

    fn change(&mut self, place: Place, change: impl Fn(&mut u8, u8)) {
        let (byte, bit) = place.bit();
        if let Some(byte) = self.taken.get_mut(byte) {
            change(byte, bit);
        }
    }
}

fn decode_claim(bytes: &[u8]) -> Option<Claim> {
    let ([is_new], rest) = bytes.split_first_chunk()?;
    let (cas, rest) = rest.split_first_chunk()?;
    let (place, record) = rest.split_first_chunk::<2>()?;
    let expect = match is_new {
        0 => Expect::Same(u32::from_le_bytes(*cas)),
        _ => Expect::New,
    };
    let (place, record) = (Place::from_message(place)?, record.to_vec());
    Some(Claim {
        place,
        expect,
        record,
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn probes_stay_in_the_table_and_differ() {
        for identity in [0, u128::from(PLACES) - 1, u128::MAX] {
            let mut places: Vec<Place> = Place::probes(identity).collect();
            assert!(places.iter().all(|place| *place < Place::OVERFLOW));
            places.sort();
            places.dedup();
            assert_eq!(places.len(), usize::from(PROBES));
        }
    }

    fn claim(place: Place, expect: Expect) -> Claim {
        let record = vec![1, 2, 3];
        Claim {
            place,
            expect,
            record,
        }
    }

    #[test]
    fn the_directory_remembers_places_and_the_last_claim() {
        let mut directory = Directory::decode(None);
        assert!(directory.is_empty());
        for (place, expect) in [
            (Place(7), Expect::New),
            (Place::OVERFLOW, Expect::Same(9)),
            (Place(7), Expect::Same(u32::MAX)),
        ] {
            directory.claim(claim(place, expect));
            let again = Directory::decode(Some(&directory.encode()));
            assert_eq!(again, directory);
            assert_eq!(again.last(), Some(&claim(place, expect)));
        }
        assert_eq!(directory.len(), 2);
        let places: Vec<Place> = directory.places().collect();
        assert_eq!(places, [Place(7), Place::OVERFLOW]);
        directory.remove(Place(7));
        directory.remove(Place(8));
        let places: Vec<Place> = directory.places().collect();
        assert_eq!(places, [Place::OVERFLOW]);
    }

    #[test]
    fn a_search_goes_round_and_ends_where_it_began() {
        let mut directory = Directory::decode(None);
        for place in [Place(0), Place(3), Place::OVERFLOW] {
            directory.claim(claim(place, Expect::New));
        }
        let after = |place| directory.places_after(place).collect::<Vec<_>>();
        let all = [Place(0), Place(3), Place::OVERFLOW];
        assert_eq!(after(None), all);
        assert_eq!(after(Some(Place::OVERFLOW)), all);
        assert_eq!(after(Some(Place(0))), [Place(3), Place::OVERFLOW, Place(0)]);
        assert_eq!(after(Some(Place(1))), [Place(3), Place::OVERFLOW, Place(0)]);
    }

    #[test]
    fn bytes_that_are_no_directory_are_an_empty_one() {
        for bytes in [vec![], vec![255; Directory::BYTES - 1]] {
            assert!(Directory::decode(Some(&bytes)).is_empty());
        }
        let mut cut = Directory::decode(None);
        cut.claim(claim(Place(1), Expect::New));
        let bytes = cut.encode();
        let cut = Directory::decode(Some(&bytes[..Directory::BYTES + 3]));
        assert_eq!((cut.len(), cut.last()), (1, None));
    }

    #[test]
    fn messages_name_places_and_garbage_does_not() {
        assert_eq!(
            Place::from_message(&Place(300).to_message()),
            Some(Place(300))
        );
        assert_eq!(Place::from_message(&[1]), None);
        assert_eq!(Place::from_message(&u16::MAX.to_le_bytes()), None);
    }
}
