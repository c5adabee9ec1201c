//! The core where it will run: on a 32-bit target, without a host.
#![cfg(target_family = "wasm")]

use std::time::Duration;

use wasm_bindgen_test::wasm_bindgen_test;
use weir::core::time::{Time, millis_up};

#[wasm_bindgen_test]
fn time_keeps_64_bits() {
    let day = Duration::from_secs(86_400);
    assert_eq!((Time(1) + day).since(Time(1)), day);
    assert_eq!(Time(0) + Duration::MAX, Time::NEVER);
    assert_eq!(millis_up(day), 86_400_000);
}
