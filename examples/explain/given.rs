//! An answer to explain.

use weir::core::call::Headers;
use weir::core::call::read::BODY_CAP;
use weir::core::classify::{Answer, Provider};

/// The time of day where none is given: never this machine's, so that a result can be repeated.
const NOW_MS: u64 = 1_790_000_000_000;

/// An answer.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Body,
    pub(super) provider: Provider,
    pub(super) host: Option<Vec<u8>>,
    pub(super) now_ms: u64,
}

impl Given {
    /// An answer of nothing but a status.
    pub(super) fn of(status: u16) -> Given {
        Given {
            status,
            headers: Headers::new(),
            body: Body::cut(Vec::new()),
            provider: Provider::AUTO,
            host: None,
            now_ms: NOW_MS,
        }
    }

    pub(super) fn answer(&self) -> Answer<'_> {
        Answer {
            status: self.status,
            headers: &self.headers,
            body: &self.body.bytes,
            is_whole: self.body.is_whole,
            provider: self.provider,
            host: self.host.as_deref(),
            now_ms: self.now_ms,
            rules: &[],
        }
    }
}

/// As much of a body as Weir reads in Envoy.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl Body {
    pub(super) fn cut(mut bytes: Vec<u8>) -> Body {
        let is_whole = bytes.len() <= BODY_CAP;
        bytes.truncate(BODY_CAP);
        Body { bytes, is_whole }
    }
}
