//! The two things proxy-wasm does not offer and Envoy does through WASI: clocks, of which the
//! monotonic one is the same for all VMs of the process, and entropy.

use crate::core::time::Time;

/// WASI's number of the clock that says the time of day.
const REALTIME: u32 = 0;
/// WASI's number of the monotonic clock.
const MONOTONIC: u32 = 1;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u16;
    fn random_get(buffer: *mut u8, length: usize) -> u16;
}

/// Now, by the process's monotonic clock.
pub(super) fn now() -> Time {
    Time(read(MONOTONIC))
}

/// The time of day in milliseconds since 1970 UTC.
pub(super) fn wall_ms() -> u64 {
    read(REALTIME) / 1_000_000
}

/// Nanoseconds of a clock, 0 if it cannot be read.
fn read(clock: u32) -> u64 {
    let mut nanos = 0;
    // SAFETY: `nanos` is valid for the one write the call makes.
    let error = unsafe { clock_time_get(clock, 0, &raw mut nanos) };
    if error == 0 { nanos } else { 0 }
}

/// Random bytes; none if the host has none to give.
pub(super) fn entropy<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: the call writes no more than the `N` bytes of `bytes`.
    let error = unsafe { random_get(bytes.as_mut_ptr(), N) };
    (error == 0).then_some(bytes)
}
