//! Servers that people run themselves.

use super::{BUSY, PLAIN, Profile, weak};

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["ollama"],
        concurrency: 1,
        ..PLAIN
    },
    Profile {
        names: &["whisperx"],
        concurrency: 1,
        ..PLAIN
    },
    // `{"error":{"code":503,"message","type":"unavailable_error"}}`.
    Profile {
        names: &["llama-cpp"],
        codes: &[("unavailable_error", weak(BUSY))],
        concurrency: 2,
        ..PLAIN
    },
    // `{"error":"Model is overloaded","error_type":"overloaded"}`.
    Profile {
        names: &["tgi"],
        codes: &[("overloaded", BUSY)],
        ..PLAIN
    },
    Profile {
        names: &["vllm"],
        ..PLAIN
    },
    Profile {
        names: &["auto", "generic"],
        ..PLAIN
    },
];
