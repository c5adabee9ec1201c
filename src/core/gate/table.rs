//! Where in shared data a key's record lies.
//!
//! Shared data can neither list nor delete, so the names are fixed: an open-addressed table of
//! [`PLACES`] names with linear probing. A key that finds no place within [`PROBES`] steps, or comes
//! when `max_keys` gates exist, shares its policy's overflow gate (law L15), which lies in the same
//! table.

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

    /// The place a wake-up message names.
    pub fn from_message(message: &[u8]) -> Option<Place> {
        let number = u16::from_le_bytes(message.try_into().ok()?);
        (number <= PLACES).then_some(Place(number))
    }
}

/// Which places are taken: what the gauges are summed over, and what `max_keys` is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory(Vec<u8>);

impl Directory {
    /// The name of the directory in shared data.
    pub const NAME: &'static str = "weir.gates";

    const BYTES: usize = (PLACES as usize + 1).div_ceil(8);

    /// Reads the stored form; bytes of any other length are an empty directory.
    pub fn decode(bytes: Option<&[u8]>) -> Directory {
        match bytes {
            Some(bytes) if bytes.len() == Directory::BYTES => Directory(bytes.to_vec()),
            _ => Directory(vec![0; Directory::BYTES]),
        }
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Marks a place as taken. False if it was already.
    pub fn add(&mut self, place: Place) -> bool {
        let (byte, bit) = (usize::from(place.0 / 8), 1 << (place.0 % 8));
        match self.0.get_mut(byte) {
            Some(byte) if *byte & bit == 0 => {
                *byte |= bit;
                true
            }
            _ => false,
        }
    }

    /// How many places are taken.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|byte| byte.count_ones()).sum()
    }

    /// Whether no place is taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The taken places.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        (0..=PLACES).map(Place).filter(|place| {
            self.0
                .get(usize::from(place.0 / 8))
                .is_some_and(|byte| byte & (1 << (place.0 % 8)) != 0)
        })
    }
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

    #[test]
    fn the_directory_remembers_places() {
        let mut directory = Directory::decode(None);
        assert!(directory.is_empty());
        assert!(directory.add(Place(7)));
        assert!(directory.add(Place::OVERFLOW));
        assert!(!directory.add(Place(7)));
        let again = Directory::decode(Some(directory.bytes()));
        assert_eq!(again.len(), 2);
        assert_eq!(
            again.places().collect::<Vec<_>>(),
            [Place(7), Place::OVERFLOW]
        );
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
