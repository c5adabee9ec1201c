//! The two things proxy-wasm does not offer and Envoy does through WASI: a monotonic clock that all
//! VMs of the process share, and entropy.

use crate::core::time::Time;

/// WASI's number of the monotonic clock.
const MONOTONIC: u32 = 1;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u16;
    fn random_get(buffer: *mut u8, length: usize) -> u16;
}

/// Now, by the process's monotonic clock.
pub(super) fn now() -> Time {
    let mut nanos = 0;
    // SAFETY: `nanos` is valid for the one write the call makes.
    let error = unsafe { clock_time_get(MONOTONIC, 0, &raw mut nanos) };
    if error == 0 { Time(nanos) } else { Time(0) }
}

/// Random bytes; none if the host has none to give.
pub(super) fn entropy<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: the call writes no more than the `N` bytes of `bytes`.
    let error = unsafe { random_get(bytes.as_mut_ptr(), N) };
    (error == 0).then_some(bytes)
}
