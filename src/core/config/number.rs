//! Numbers as JSON writes them, counted in decimals: no double is made of them, so nothing is lost.

/// The most digits before the point of a number that is taken: any double has as many or fewer.
const MAX_DIGITS: i64 = 309;

/// A number by its digits: those of `whole` and `part`, in that order, the point after the first
/// `whole.len() + exponent` of them.
struct Decimal<'a> {
    is_negative: bool,
    whole: &'a str,
    part: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// `text` is a number in the form of JSON.
    fn of(text: &'a str) -> Decimal<'a> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Decimal {
            is_negative,
            whole,
            part,
            exponent: exponent_of(exponent),
        }
    }

    fn digits(&self) -> impl Iterator<Item = u64> {
        let bytes = self.whole.bytes().chain(self.part.bytes());
        bytes.map(|byte| u64::from(byte.saturating_sub(b'0')))
    }

    fn is_zero(&self) -> bool {
        self.digits().all(|digit| digit == 0)
    }

    /// How many of the digits stand before the point, if it is moved by `places` to the right.
    fn before_point(&self, places: i64) -> i64 {
        let whole = i64::try_from(self.whole.len()).unwrap_or(i64::MAX);
        whole.saturating_add(self.exponent).saturating_add(places)
    }

    /// The number times ten to the power of `places`, rounded down, and whether that is exact.
    /// None if it is below 0 or too large.
    fn scaled(&self, places: i64) -> Option<(u64, bool)> {
        if self.is_zero() {
            return Some((0, true));
        }
        if self.is_negative {
            return None;
        }
        let before = self.before_point(places);
        let mut digits = self.digits();
        let mut value: u64 = 0;
        for _ in 0..before {
            // Ends soon: once a digit is not 0, after 20 more the value is too large.
            value = value
                .checked_mul(10)?
                .checked_add(digits.next().unwrap_or(0))?;
        }
        Some((value, digits.all(|digit| digit == 0)))
    }
}

/// The exponent, as far as it makes a difference.
fn exponent_of(text: &str) -> i64 {
    let digits = text.trim_start_matches(['+', '-']);
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    match text.starts_with('-') {
        true => -size,
        false => size,
    }
}

/// Whether the number is no larger than a double may be, but for its leading digits.
pub(super) fn is_in_range(text: &str) -> bool {
    let decimal = Decimal::of(text);
    let zeros = decimal.digits().take_while(|digit| *digit == 0).count();
    let zeros = i64::try_from(zeros).unwrap_or(i64::MAX);
    decimal.is_zero() || decimal.before_point(0).saturating_sub(zeros) <= MAX_DIGITS
}

/// The number, if it is whole: `8.0` and `0.8e1` are.
pub(super) fn whole(text: &str) -> Option<u32> {
    let (value, is_exact) = Decimal::of(text).scaled(0)?;
    u32::try_from(value).ok().filter(|_| is_exact)
}

/// The number in billionths, rounded down but not to 0; none if it is not above 0, or too large.
pub(super) fn billionths(text: &str) -> Option<u64> {
    match Decimal::of(text).scaled(9)? {
        (0, true) => None,
        (value, _) => Some(value.max(1)),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn numbers_without_fraction_are_whole() {
        for (text, value) in [
            ("8", 8),
            ("8.0", 8),
            ("0.8e1", 8),
            ("80E-1", 8),
            ("-0.0", 0),
            ("0e99999999999999999999", 0),
            ("4294967295.000", u32::MAX),
        ] {
            assert_eq!(whole(text), Some(value), "{text}");
        }
        for text in [
            "0.5",
            "-1.0",
            "4294967296",
            "1e300",
            "8.000000000000000000001",
            "1e-9",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_become_billionths_as_they_were_written() {
        let table = [
            ("1", Some(1_000_000_000)),
            ("1.0", Some(1_000_000_000)),
            ("0.7", Some(700_000_000)),
            ("0.3", Some(300_000_000)),
            ("2.675", Some(2_675_000_000)),
            ("999999.999999999", Some(999_999_999_999_999)),
            ("0.0000000019", Some(1)),
            ("1e-300", Some(1)),
            ("1e-99999999999999999999", Some(1)),
            ("1e3", Some(1_000_000_000_000)),
            ("0", None),
            ("-0.0", None),
            ("-1", None),
            ("-0.5", None),
            ("1e300", None),
            ("18446744073709551615", None),
        ];
        for (text, expected) in table {
            assert_eq!(billionths(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_larger_than_any_double_are_out_of_range() {
        for text in [
            "0",
            "-1e308",
            "1.7e308",
            "0.001e311",
            "0e999",
            "1e-999",
            "-0e999",
        ] {
            assert!(is_in_range(text), "{text}");
        }
        for text in ["1e309", "-1e999", "10e308", "1e99999999999999999999"] {
            assert!(!is_in_range(text), "{text}");
        }
    }
}
