//! DEFLATE (RFC 1951), as far as it goes: bytes that are cut short or damaged give what came before.
//!
//! Written for few bytes of code rather than for speed: bodies are small.

/// The symbols of an alphabet in the order of their codes, and how many codes have each length.
#[derive(Default)]
struct Alphabet {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

impl Alphabet {
    /// The alphabet whose symbols have codes of these lengths; 0 is no code.
    fn of(lengths: &[u8]) -> Alphabet {
        let mut alphabet = Alphabet::default();
        for length in 1..16u8 {
            let symbols = (0u16..).zip(lengths).filter(|(_, l)| **l == length);
            alphabet.symbols.extend(symbols.map(|(symbol, _)| symbol));
            let count = lengths.iter().filter(|l| **l == length).count();
            if let (Some(slot), Ok(count)) = (
                alphabet.counts.get_mut(usize::from(length)),
                u16::try_from(count),
            ) {
                *slot = count;
            }
        }
        alphabet
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn one(&mut self) -> Option<u32> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = (byte >> (self.at % 8)) & 1;
        self.at += 1;
        Some(bit.into())
    }

    /// A number of `count` bits, the lowest first.
    fn number(&mut self, count: u8) -> Option<usize> {
        let mut number = 0;
        for place in 0..count {
            number |= self.one()? << place;
        }
        usize::try_from(number).ok()
    }

    fn symbol(&mut self, alphabet: &Alphabet) -> Option<usize> {
        let (mut code, mut first, mut index) = (0u32, 0u32, 0u32);
        for count in alphabet.counts.iter().skip(1) {
            code |= self.one()?;
            let count = u32::from(*count);
            if code < first + count {
                let place = usize::try_from(index + (code - first)).ok()?;
                return alphabet
                    .symbols
                    .get(place)
                    .map(|symbol| usize::from(*symbol));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

/// Unpacks at most `limit` bytes.
pub(super) fn inflate(deflated: &[u8], limit: usize) -> Vec<u8> {
    let mut bits = Bits {
        bytes: deflated,
        at: 0,
    };
    let mut out = Vec::new();
    // However it ends, what came out until then is good.
    while block(&mut bits, &mut out, limit) == Some(false) {}
    out.truncate(limit);
    out
}

/// Unpacks a block; says whether it was the last, and nothing if there is no more to be had.
fn block(bits: &mut Bits<'_>, out: &mut Vec<u8>, limit: usize) -> Option<bool> {
    let is_last = bits.one()? == 1;
    let (literals, distances) = match bits.number(2)? {
        0 => {
            let from = bits.at.div_ceil(8);
            let header = bits.bytes.get(from..from + 4)?;
            let length = usize::from(u16::from_le_bytes([*header.first()?, *header.get(1)?]));
            let rest = bits.bytes.get(from + 4..)?;
            let stored = rest.get(..length).unwrap_or(rest);
            out.extend_from_slice(stored);
            bits.at = (from + 4 + length) * 8;
            return (out.len() < limit && stored.len() == length).then_some(is_last);
        }
        1 => {
            let mut lengths = [8; 288];
            for (symbol, length) in lengths.iter_mut().enumerate() {
                *length = match symbol {
                    144..=255 => 9,
                    256..=279 => 7,
                    _ => 8,
                };
            }
            (Alphabet::of(&lengths), Alphabet::of(&[5; 30]))
        }
        2 => alphabets(bits)?,
        _ => return None,
    };
    loop {
        let symbol = bits.symbol(&literals)?;
        if let Ok(literal) = u8::try_from(symbol) {
            out.push(literal);
        } else if symbol == 256 {
            return Some(is_last);
        } else {
            let (base, extra) = *LENGTHS.get(symbol - 257)?;
            let length = usize::from(base) + bits.number(extra)?;
            let symbol = bits.symbol(&distances)?;
            let extra = u8::try_from((symbol / 2).saturating_sub(1)).ok()?;
            let base = match symbol {
                0..4 => symbol + 1,
                _ => ((2 + symbol % 2) << extra) + 1,
            };
            let distance = base + bits.number(extra)?;
            for _ in 0..length {
                let from = out.len().checked_sub(distance)?;
                out.push(*out.get(from)?);
            }
        }
        if out.len() >= limit {
            return None;
        }
    }
}

/// The alphabets that a block brings along, whose lengths are coded themselves.
fn alphabets(bits: &mut Bits<'_>) -> Option<(Alphabet, Alphabet)> {
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    let literals = bits.number(5)? + 257;
    let distances = bits.number(5)? + 1;
    let count = bits.number(4)? + 4;
    let mut lengths = [0; 19];
    for place in ORDER.iter().take(count) {
        *lengths.get_mut(*place)? = u8::try_from(bits.number(3)?).ok()?;
    }
    let meta = Alphabet::of(&lengths);
    let mut lengths: Vec<u8> = Vec::new();
    while lengths.len() < literals + distances {
        let (length, times) = match bits.symbol(&meta)? {
            16 => (*lengths.last()?, 3 + bits.number(2)?),
            17 => (0, 3 + bits.number(3)?),
            18 => (0, 11 + bits.number(7)?),
            length => (u8::try_from(length).ok()?, 1),
        };
        lengths.extend(std::iter::repeat_n(length, times));
    }
    let (literals, distances) = lengths.split_at_checked(literals)?;
    Some((Alphabet::of(literals), Alphabet::of(distances)))
}

/// Of each symbol from 257 on, the least length it stands for and the bits that follow.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
