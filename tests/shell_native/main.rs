//! The real shell on a native host: the scripts of `call_laws` and `call_random` once more, through
//! the SDK's ABI, and what only a shell can get wrong.
//!
//! A VM is a thread, since the SDK and the shell keep their state in thread-locals; VMs of a process
//! share what `memhost::Memory` holds. The host is as unforgiving as Envoy: what would kill a VM or
//! the whole process there (a status the SDK does not expect, a second resume, an answer to nobody)
//! ends the thread here and fails the test.
//!
//! - [`abi`]: imports and exports, the only unsafe code.
//! - [`host`]: what each import does; [`stream`]: when headers may be touched.
//! - [`vm`]: a VM's thread, and how it dies; [`callback`]: what Envoy does around each callback.
//! - [`seat`]: such a VM, asked like the core alone in `memhost::seat`.
#![cfg(all(feature = "plugin", not(target_family = "wasm")))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed helper is a failed test"
)]

mod abi;
mod callback;
mod denied;
mod failing;
mod host;
mod host_calls;
mod laws;
mod memhost;
mod odd;
mod process;
mod race;
mod random;
mod roots;
mod seat;
mod stream;
mod vm;

// Its exports are all that is used of it.
use weir as _;
