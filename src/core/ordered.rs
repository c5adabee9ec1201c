//! A map in the order of its keys, for many entries.
//!
//! The entries lie in chunks of bounded length, in order. To find one is two binary searches; to
//! put one in or out moves the rest of its chunk. It does what `BTreeMap` does, in a sixth of the
//! code, and the plugin has room for that much only.

use std::hash::{Hash, Hasher};

/// The most entries of a chunk.
const CHUNK: usize = 32;

/// A map whose keys are in order.
#[derive(Clone, Debug)]
pub struct OrderedMap<K, V> {
    /// None is empty. Keys rise within a chunk and from chunk to chunk.
    chunks: Vec<Vec<(K, V)>>,
    len: usize,
}

impl<K: Ord + Copy, V> OrderedMap<K, V> {
    /// A map without entries.
    pub const fn new() -> OrderedMap<K, V> {
        OrderedMap {
            chunks: Vec::new(),
            len: 0,
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of `key`.
    pub fn get(&self, key: &K) -> Option<&V> {
        let (chunk, place) = self.find(key);
        let (_, value) = self.chunks.get(chunk)?.get(place.ok()?)?;
        Some(value)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (chunk, place) = self.find(key);
        let (_, value) = self.chunks.get_mut(chunk)?.get_mut(place.ok()?)?;
        Some(value)
    }

    /// Whether `key` has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Gives `key` a value; the value that it had comes back.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (at, place) = self.find(&key);
        if let Ok(place) = place {
            let (_, old) = self.chunks.get_mut(at)?.get_mut(place)?;
            return Some(std::mem::replace(old, value));
        }
        let place = place.unwrap_or_else(|place| place);
        self.len += 1;
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(vec![(key, value)]);
            return None;
        };
        chunk.insert(place, (key, value));
        if chunk.len() > CHUNK {
            // Keys mostly rise: a chunk that grew at its end is left full.
            let half = if place == CHUNK { CHUNK } else { CHUNK / 2 };
            let rest = chunk.split_off(half);
            self.chunks.insert(at + 1, rest);
        }
        None
    }

    /// Takes out `key`.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (chunk, place) = self.find(key);
        let (_, value) = self.take(chunk, place.ok()?)?;
        Some(value)
    }

    /// Takes out the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.take(0, 0)
    }

    /// The entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        let (key, value) = self.chunks.last()?.last()?;
        Some((key, value))
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// All entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks
            .iter()
            .flatten()
            .map(|(key, value)| (key, value))
    }

    /// Which chunk `key` belongs in, and its place there: where it is, or where it would be.
    fn find(&self, key: &K) -> (usize, Result<usize, usize>) {
        let starts_before = |chunk: &Vec<(K, V)>| chunk.first().is_some_and(|(k, _)| k <= key);
        let at = self.chunks.partition_point(starts_before).saturating_sub(1);
        let chunk = self.chunks.get(at).map_or(&[][..], Vec::as_slice);
        (at, chunk.binary_search_by(|(k, _)| k.cmp(key)))
    }

    fn take(&mut self, at: usize, place: usize) -> Option<(K, V)> {
        let chunk = self.chunks.get_mut(at)?;
        if place >= chunk.len() {
            return None;
        }
        let entry = chunk.remove(place);
        self.len -= 1;
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
        Some(entry)
    }
}

impl<K: Ord + Copy, V> Default for OrderedMap<K, V> {
    fn default() -> OrderedMap<K, V> {
        OrderedMap::new()
    }
}

// Maps with the same entries are the same, however they lie in chunks.
impl<K: Ord + Copy, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &OrderedMap<K, V>) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Copy, V: Eq> Eq for OrderedMap<K, V> {}

impl<K: Ord + Copy + Hash, V: Hash> Hash for OrderedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u16),
        Append,
        Remove(u16),
        PopFirst,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..300_u16).prop_map(Step::Insert),
            3 => Just(Step::Append),
            2 => (0..300_u16).prop_map(Step::Remove),
            1 => Just(Step::PopFirst),
        ]
    }

    fn is_in_shape(map: &OrderedMap<u16, usize>) -> bool {
        let lengths = map.chunks.iter().map(Vec::len);
        lengths.clone().all(|len| (1..=CHUNK).contains(&len)) && lengths.sum::<usize>() == map.len
    }

    proptest! {
        #[test]
        fn it_does_what_a_btree_map_does(steps in prop::collection::vec(step(), 0..600)) {
            let (mut map, mut known) = (OrderedMap::new(), BTreeMap::new());
            for (value, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(key) => {
                        prop_assert_eq!(map.insert(key, value), known.insert(key, value));
                    }
                    Step::Append => {
                        let key = known.last_key_value().map_or(0, |(key, _)| key + 1);
                        prop_assert_eq!(map.insert(key, value), known.insert(key, value));
                    }
                    Step::Remove(key) => {
                        prop_assert_eq!(map.get(&key), known.get(&key));
                        prop_assert_eq!(map.get_mut(&key), known.get_mut(&key));
                        prop_assert_eq!(map.contains_key(&key), known.contains_key(&key));
                        prop_assert_eq!(map.remove(&key), known.remove(&key));
                    }
                    Step::PopFirst => prop_assert_eq!(map.pop_first(), known.pop_first()),
                }
                prop_assert!(is_in_shape(&map));
                prop_assert_eq!(map.len(), known.len());
                prop_assert_eq!(map.is_empty(), known.is_empty());
                prop_assert_eq!(map.first_key_value(), known.first_key_value());
                prop_assert_eq!(map.last_key_value(), known.last_key_value());
            }
            prop_assert!(map.iter().eq(known.iter()));
            prop_assert!(map.keys().eq(known.keys()));
            let mut other = OrderedMap::new();
            for (key, value) in known.into_iter().rev() {
                other.insert(key, value);
            }
            prop_assert_eq!(&map, &other);
            let hash = |map: &OrderedMap<u16, usize>| {
                let mut state = std::hash::DefaultHasher::new();
                map.hash(&mut state);
                state.finish()
            };
            prop_assert_eq!(hash(&map), hash(&other));
        }
    }
}
