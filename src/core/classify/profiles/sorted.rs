//! Tables turned around by the compiler: names in order, and phrases by their first byte.

#![allow(
    clippy::indexing_slicing,
    reason = "what is wrong here does not compile"
)]

use super::PROFILES;
use super::common::PHRASES as GROUPS;
use super::index::Kind;

/// Every name that a profile has, in alphabetical order.
pub static NAMES: &[&str] = &SORTED_NAMES;

static SORTED_NAMES: [&str; name_count()] = sorted_names();

/// Every phrase, in the order of first bytes.
pub(super) static PHRASES: [(Kind, &str); PHRASE_COUNT] = sorted_phrases();

/// Where the phrases of each first byte begin.
pub(super) static BUCKETS: [u16; 257] = buckets();

const PHRASE_COUNT: usize = {
    let mut count = 0;
    let mut group = 0;
    while group < GROUPS.len() {
        count += GROUPS[group].1.len();
        group += 1;
    }
    count
};

/// Phrases by their first byte; those with the same one keep their order.
const fn sorted_phrases() -> [(Kind, &'static str); PHRASE_COUNT] {
    let mut sorted = [(Kind::Rate, ""); PHRASE_COUNT];
    let mut next = 0;
    let mut byte = 0;
    while byte < 256 {
        let mut group = 0;
        while group < GROUPS.len() {
            let (kind, phrases) = GROUPS[group];
            let mut at = 0;
            while at < phrases.len() {
                if phrases[at].as_bytes()[0] as usize == byte {
                    sorted[next] = (kind, phrases[at]);
                    next += 1;
                }
                at += 1;
            }
            group += 1;
        }
        byte += 1;
    }
    sorted
}

/// Where the phrases of each first byte begin in the sorted ones.
const fn buckets() -> [u16; 257] {
    let sorted = sorted_phrases();
    let mut starts = [0; 257];
    let mut byte = 0;
    let mut at = 0;
    while byte <= 256 {
        while at < PHRASE_COUNT && (sorted[at].1.as_bytes()[0] as usize) < byte {
            at += 1;
        }
        starts[byte] = at as u16;
        byte += 1;
    }
    starts
}

const fn name_count() -> usize {
    let mut count = 0;
    let mut family = 0;
    while family < PROFILES.len() {
        let mut at = 0;
        while at < PROFILES[family].len() {
            count += PROFILES[family][at].names.len();
            at += 1;
        }
        family += 1;
    }
    count
}

const fn sorted_names() -> [&'static str; name_count()] {
    let mut sorted = [""; name_count()];
    let mut length = 0;
    let mut family = 0;
    while family < PROFILES.len() {
        let mut at = 0;
        while at < PROFILES[family].len() {
            let names = PROFILES[family][at].names;
            let mut name = 0;
            while name < names.len() {
                let mut place = length;
                while place > 0 && is_before(names[name], sorted[place - 1]) {
                    sorted[place] = sorted[place - 1];
                    place -= 1;
                }
                sorted[place] = names[name];
                length += 1;
                name += 1;
            }
            at += 1;
        }
        family += 1;
    }
    sorted
}

const fn is_before(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}
