//! How long a call's client will wait, by what its request says.
//!
//! | header | unit | who sends it |
//! | --- | --- | --- |
//! | `grpc-timeout` | `H M S m u n`, at most eight digits | gRPC clients ("gRPC over HTTP2", Timeout) |
//! | `x-stainless-read-timeout` | seconds | the Python SDKs of OpenAI, Anthropic and others |
//! | `x-stainless-timeout` | whole seconds | their TypeScript SDKs |
//! | `x-request-timeout` | seconds | whoever likes to: no standard says what it means |
//! | the policy's `patience_header` | milliseconds | as configured |
//!
//! Those who send `x-request-timeout` mean seconds for the most part. Who means milliseconds is taken for
//! a client more patient than it is, which is the harmless way to be wrong.

use std::time::Duration;

use super::Headers;

/// What a client's own timer leaves for the answer to come back in. A `patience_header` is taken as
/// it is.
const MARGIN: Duration = Duration::from_millis(50);

const SECOND: u64 = 1_000_000_000;

/// How long a client will wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// From the call's arrival to the last moment at which a start is of use; the longest of all if
    /// the client says nothing.
    pub(super) wait: Duration,
    /// The header that says so.
    pub(super) field: &'static str,
    /// A header said something that cannot be read, and was ignored.
    pub(super) is_unreadable: bool,
}

impl Patience {
    /// What a request says: the least counts.
    pub(super) fn of(headers: &Headers, configured: Option<&str>) -> Patience {
        let mut patience = Patience {
            wait: Duration::MAX,
            field: "patience_header",
            is_unreadable: false,
        };
        for (name, value) in headers {
            let value = value.trim_ascii();
            let (field, read) = match name.as_slice() {
                b"grpc-timeout" => ("grpc-timeout", grpc(value)),
                b"x-stainless-read-timeout" => ("x-stainless-read-timeout", seconds(value)),
                b"x-stainless-timeout" => ("x-stainless-timeout", seconds(value)),
                b"x-request-timeout" => ("x-request-timeout", seconds(value)),
                _ => continue,
            };
            patience.take(field, read.map(|timeout| timeout.saturating_sub(MARGIN)));
        }
        let own = configured.and_then(|own| headers.iter().find(|(n, _)| n == own.as_bytes()));
        if let Some((_, value)) = own {
            patience.take("patience_header", millis(value.trim_ascii()));
        }
        patience
    }

    fn take(&mut self, field: &'static str, read: Option<Duration>) {
        match read {
            Some(wait) if wait < self.wait => (self.wait, self.field) = (wait, field),
            Some(_) => {}
            None => self.is_unreadable = true,
        }
    }
}

fn millis(value: &[u8]) -> Option<Duration> {
    digits(value).map(Duration::from_millis)
}

/// `12`, `12.5`. Zero is how some say "none", and how an SDK rounds what is less than a second.
fn seconds(value: &[u8]) -> Option<Duration> {
    let mut parts = value.splitn(2, |byte| *byte == b'.');
    let whole = digits(parts.next()?)?;
    let nanos = match parts.next() {
        None => 0,
        Some(fraction) => {
            digits(fraction)?;
            let nine = fraction.iter().copied().chain(std::iter::repeat(b'0'));
            nine.take(9)
                .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
        }
    };
    let span = Duration::new(whole, nanos);
    (!span.is_zero()).then_some(span)
}

fn grpc(value: &[u8]) -> Option<Duration> {
    let (unit, number) = value.split_last()?;
    if number.len() > 8 {
        return None;
    }
    let nanos = match unit {
        b'H' => 3600 * SECOND,
        b'M' => 60 * SECOND,
        b'S' => SECOND,
        b'm' => 1_000_000,
        b'u' => 1000,
        b'n' => 1,
        _ => return None,
    };
    // At most 99999999 hours, which is more nanoseconds than fit.
    let number = digits(number)?;
    Some(Duration::from_nanos(number.saturating_mul(nanos)))
}

/// A number of digits and nothing else; what does not fit is the largest that does.
fn digits(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        value.iter().fold(0_u64, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn of(list: &[(&str, &str)]) -> Patience {
        let headers = list
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .collect();
        Patience::of(&headers, Some("x-patience"))
    }

    /// In microseconds, 50 ms added again.
    fn read(name: &str, value: &str) -> Option<u128> {
        let patience = of(&[(name, value)]);
        assert_eq!(patience.is_unreadable, patience.wait == Duration::MAX);
        (!patience.is_unreadable).then(|| (patience.wait + MARGIN).as_micros())
    }

    #[test]
    fn timeouts_of_grpc_have_a_unit_and_at_most_eight_digits() {
        for (value, micros) in [
            ("1H", 3_600_000_000),
            ("2M", 120_000_000),
            ("30S", 30_000_000),
            ("1500m", 1_500_000),
            ("99999999u", 99_999_999),
            ("60000000n", 60_000),
            (" 7S ", 7_000_000),
            ("99999999H", u128::from(u64::MAX / 1000)),
        ] {
            assert_eq!(read("grpc-timeout", value), Some(micros), "{value}");
        }
        for value in [
            "",
            "S",
            "1",
            "1s",
            "1h",
            "-1S",
            "+1S",
            "1.5S",
            "1 S",
            "123456789n",
            "\u{e9}S",
        ] {
            assert_eq!(read("grpc-timeout", value), None, "{value:?}");
        }
    }

    #[test]
    fn timeouts_of_sdks_are_seconds() {
        for name in [
            "x-stainless-read-timeout",
            "x-stainless-timeout",
            "x-request-timeout",
        ] {
            for (value, micros) in [
                ("600", 600_000_000),
                ("600.0", 600_000_000),
                ("0.5", 500_000),
                ("1.2345678999", 1_234_567),
                (" 30 ", 30_000_000),
            ] {
                assert_eq!(read(name, value), Some(micros), "{value}");
            }
            for value in [
                "", "0", "0.0", ".5", "5.", "1.2.3", "-1", "+1", "1e3", "30s", "None", "NaN", "inf",
            ] {
                assert_eq!(read(name, value), None, "{value:?}");
            }
        }
    }

    #[test]
    fn the_configured_header_is_milliseconds_as_they_are() {
        let wait = |value| of(&[("x-patience", value)]).wait;
        assert_eq!(wait(" 700 "), Duration::from_millis(700));
        assert_eq!(wait("0"), Duration::ZERO);
        assert!(of(&[("x-patience", "soon")]).is_unreadable);
        let unconfigured = Patience::of(&vec![(b"x-patience".to_vec(), b"1".to_vec())], None);
        assert_eq!(unconfigured.wait, Duration::MAX);
    }

    #[test]
    fn the_least_counts_and_what_cannot_be_read_does_not() {
        let patience = of(&[
            ("x-patience", "9000"),
            ("grpc-timeout", "8S"),
            ("x-request-timeout", "soon"),
            ("x-stainless-read-timeout", "7.5"),
            ("x-stainless-timeout", "600"),
        ]);
        assert_eq!(
            patience,
            Patience {
                wait: Duration::from_millis(7450),
                field: "x-stainless-read-timeout",
                is_unreadable: true,
            }
        );
        assert_eq!(of(&[("grpc-timeout", "20m")]).wait, Duration::ZERO);
        assert!(!of(&[("accept", "*/*")]).is_unreadable);
    }

    #[cfg(not(target_family = "wasm"))]
    mod laws {
        use super::*;
        use proptest::prelude::*;

        fn near() -> impl Strategy<Value = Vec<u8>> {
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                "[0-9.HMSmun+e -]{0,24}".prop_map(String::into_bytes),
            ]
        }

        proptest! {
            /// L14: no value panics, and none makes a client more patient than it said.
            #[test]
            fn any_bytes_are_read_or_ignored(values in proptest::array::uniform4(near()), own in near()) {
                let names = ["grpc-timeout", "x-stainless-read-timeout", "x-stainless-timeout", "x-request-timeout"];
                let mut headers: Headers = names
                    .into_iter()
                    .map(|name| name.as_bytes().to_vec())
                    .zip(values)
                    .collect();
                headers.push((b"x-patience".to_vec(), own));
                let all = Patience::of(&headers, Some("x-patience"));
                for header in &headers {
                    let one = Patience::of(&vec![header.clone()], Some("x-patience"));
                    prop_assert!(all.wait <= one.wait);
                    prop_assert!(all.is_unreadable || !one.is_unreadable);
                }
            }

            #[test]
            fn seconds_are_read_exactly(whole in 0_u64..1_000_000, nanos in 0_u32..1_000_000_000) {
                let span = Duration::new(whole, nanos);
                let text = format!("{whole}.{nanos:09}");
                prop_assert_eq!(seconds(text.as_bytes()), (!span.is_zero()).then_some(span));
            }
        }
    }
}
