//! Messages as plain words, so that case, punctuation and line breaks do not matter.

/// What a message says, in lower case: words of letters, digits and anything that is not ASCII, one
/// space around each. A slash reads as "per", and `perDay` as two words.
#[derive(Debug, Default)]
pub(super) struct Words(Vec<u8>);

/// How much of one message is taken: what it says, it says at its beginning.
const MAX_MESSAGE_BYTES: usize = 768;
/// How much is taken of all together.
const MAX_BYTES: usize = 2 * 1024;

impl Words {
    /// Adds a text; what goes over the bound is dropped.
    pub(super) fn add(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let bytes = bytes.get(..MAX_MESSAGE_BYTES).unwrap_or(bytes);
        self.space();
        for (at, byte) in bytes.iter().copied().enumerate() {
            if self.0.len() >= MAX_BYTES {
                break;
            }
            match byte {
                b'a'..=b'z' | b'0'..=b'9' => {
                    self.part(true);
                    self.0.push(byte);
                }
                0x80.. => {
                    self.part(false);
                    self.0.push(byte);
                }
                b'A'..=b'Z' => {
                    self.part(true);
                    if begins_word(bytes, at) {
                        self.space();
                    }
                    self.0.push(byte.to_ascii_lowercase());
                }
                // Inside words: "you've".
                b'\'' if at > 0 && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {}
                b'/' => {
                    self.space();
                    self.0.extend_from_slice(b"per ");
                }
                _ => self.space(),
            }
        }
        self.space();
    }

    /// Adds a text without what stands in quotes: a client's own words may be quoted there.
    pub(super) fn add_unquoted(&mut self, text: &str) {
        let mut cut = (0..=MAX_MESSAGE_BYTES.min(text.len())).rev();
        let cut = cut.find(|at| text.is_char_boundary(*at));
        let text = text.get(..cut.unwrap_or(0)).unwrap_or_default();
        let mut open = None;
        let mut from = 0;
        for (at, character) in text.char_indices() {
            match open {
                Some(quote) if character == quote => {
                    open = None;
                    from = at + character.len_utf8();
                }
                None if matches!(character, '"' | '`')
                    || (character == '\'' && is_opening(text, at)) =>
                {
                    self.add(text.get(from..at).unwrap_or_default());
                    open = Some(character);
                    from = text.len();
                }
                _ => {}
            }
        }
        self.add(text.get(from..).unwrap_or_default());
    }

    /// Where ASCII and other writing meet, a word ends.
    fn part(&mut self, is_ascii: bool) {
        if self
            .0
            .last()
            .is_some_and(|last| last.is_ascii() != is_ascii)
        {
            self.space();
        }
    }

    fn space(&mut self) {
        if self.0.last() != Some(&b' ') {
            self.0.push(b' ');
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.len() <= 1
    }

    /// The words, beginning and ending with a space.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Where a phrase begins, on the beginning of a word.
    pub(super) fn find(&self, phrase: &str) -> Option<usize> {
        starts(&self.0)
            .find(|(_, rest)| begins(rest, phrase))
            .map(|(at, _)| at)
    }

    /// Which phrases of a table are there: of several the one that stands first in it.
    pub(super) fn find_any<T: Copy>(
        &self,
        table: &'static [(&'static str, T)],
    ) -> Option<(&'static str, T)> {
        let mut left = table;
        let mut found = None;
        for (_, rest) in starts(&self.0) {
            if let Some(place) = left.iter().position(|(phrase, _)| begins(rest, phrase)) {
                found = left.get(place).copied();
                left = left.get(..place).unwrap_or_default();
            }
        }
        found
    }

    /// The whole number right after a phrase.
    pub(super) fn number_after(&self, phrase: &str) -> Option<u64> {
        let at = self.find(phrase)?;
        let rest = self.0.get(at + phrase.len()..)?;
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
    }
}

/// Whether words begin with a phrase.
pub(super) fn begins(words: &[u8], phrase: &str) -> bool {
    // Most differ in the first two bytes.
    match (words, phrase.as_bytes()) {
        ([a, b, rest @ ..], [c, d, phrase @ ..]) => a == c && b == d && rest.starts_with(phrase),
        _ => false,
    }
}

/// Every place where a phrase may begin: a word, or any character that is not ASCII.
pub(super) fn starts(words: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut before = b' ';
    (0..words.len()).filter_map(move |at| {
        let rest = words.get(at..)?;
        let byte = *rest.first()?;
        let is_start = byte >= 0xC0 || (before == b' ' && byte != b' ');
        before = byte;
        is_start.then_some((at, rest))
    })
}

/// The words of a text, the last first; what is neither letter nor digit of ASCII stands between.
pub(super) fn words_back(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let is_word = |b: &&u8| b.is_ascii_alphanumeric();
        let between = rest.iter().rev().take_while(|b| !is_word(b)).count();
        rest = rest.get(..rest.len() - between)?;
        let length = rest.iter().rev().take_while(is_word).count();
        let (before, word) = rest.split_at_checked(rest.len() - length)?;
        rest = before;
        std::str::from_utf8(word)
            .ok()
            .filter(|word| !word.is_empty())
    })
}

/// Whether a capital begins a word: `perDay`, `TPMLimit`, but not `TPM`.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    match before {
        Some(b'a'..=b'z' | b'0'..=b'9') => true,
        Some(b'A'..=b'Z') => is_lower(at + 1) && is_lower(at + 2),
        _ => false,
    }
}

/// Whether a single quote opens rather than stands in a word.
fn is_opening(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|t| t.bytes().next_back());
    !before.is_some_and(|b| b.is_ascii_alphanumeric())
}
