//! "Did you mean": the known name that an unknown one was probably meant to be.

use std::fmt;

/// What an error offers in place of an unknown name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// One known name is close to the given one.
    Close(&'static str),
    /// None is; these are all of them.
    Known(&'static [&'static str]),
}

impl Nearest {
    /// Compares `given` with every name of `known`.
    ///
    /// A name is close if at most two fifths of the longer one differ, or if one holds all words
    /// of the other, as `volcano-ark` does `ark`. The smallest edit distance wins, of equal ones
    /// the one with the same words.
    pub(super) fn to(given: &str, known: &'static [&'static str]) -> Nearest {
        if given.len() > LONGEST {
            return Nearest::Known(known);
        }
        let given = given.to_ascii_lowercase();
        let near = |name: &str, distance: usize| distance * 5 <= given.len().max(name.len()) * 2;
        known
            .iter()
            .map(|name| (distance(&given, name), !same_words(&given, name), *name))
            .filter(|(distance, other_words, name)| near(name, *distance) || !other_words)
            .min_by_key(|(distance, other_words, _)| (*distance, *other_words))
            .map_or(Nearest::Known(known), |(_, _, name)| Nearest::Close(name))
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nearest::Close(name) => write!(f, "did you mean \"{name}\"?"),
            Nearest::Known(names) => write!(f, "known are {}", names.join(", ")),
        }
    }
}

/// Longer names than this are not typing errors; comparing them would only cost time.
const LONGEST: usize = 64;

/// Whether the words of one stand, in a row, in the other.
fn same_words(left: &str, right: &str) -> bool {
    let words = |text: &str| format!("_{}_", text.replace(['-', '.', ' '], "_"));
    let (left, right) = (words(left), words(right));
    left != "__" && (left.contains(&right) || right.contains(&left))
}

/// Edit distance: insertions, deletions and replacements (Levenshtein, one row at a time).
fn distance(left: &str, right: &str) -> usize {
    // The distances from what was read of `left` to each non-empty beginning of `right`.
    let mut row: Vec<usize> = (1..=right.chars().count()).collect();
    for (index, l) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut before = index + 1;
        for (cell, r) in row.iter_mut().zip(right.chars()) {
            let replaced = diagonal + usize::from(l != r);
            diagonal = *cell;
            before = replaced.min(diagonal + 1).min(before + 1);
            *cell = before;
        }
    }
    row.last().copied().unwrap_or(left.chars().count())
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::core::classify::PROVIDER_NAMES;

    #[test]
    fn distances() {
        let table = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
        ];
        for (left, right, expected) in table {
            assert_eq!(distance(left, right), expected, "{left} {right}");
            assert_eq!(distance(right, left), expected, "{right} {left}");
        }
    }

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        const KNOWN: &[&str] = &["max_waiting", "max_wait_ms", "no_wait_header", "ark-cn"];
        let close = [
            ("max_waitng", "max_waiting"),
            ("MAX_WAITING", "max_waiting"),
            ("max_wait", "max_wait_ms"),
            ("ark", "ark-cn"),
            ("queue_max_wait_ms", "max_wait_ms"),
            ("ark-cm", "ark-cn"),
        ];
        for (given, expected) in close {
            assert_eq!(Nearest::to(given, KNOWN), Nearest::Close(expected));
        }
        let long = "max_waiting".repeat(9);
        for given in ["", "banana", "ma", "_", long.as_str()] {
            assert_eq!(Nearest::to(given, KNOWN), Nearest::Known(KNOWN), "{given}");
        }
    }

    #[test]
    fn common_short_names_lead_to_the_profile() {
        let table = [
            ("llama.cpp", "llama-cpp"),
            ("ark", "volcano-ark"),
            ("azure", "azure-openai"),
            ("OpenAI", "openai"),
            ("antropic", "anthropic"),
        ];
        for (given, meant) in table {
            assert_eq!(Nearest::to(given, PROVIDER_NAMES), Nearest::Close(meant));
        }
    }
}
