//! One stream as its host sees it: a call at the gate half or an attempt at the attempt half.

use std::collections::BTreeMap;

use weir::core::answer::Edit;
use weir::core::call::Headers;

use crate::memhost::call::edit;

/// A stream.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) root: u32,
    /// By path, its parts joined by a dot.
    pub(crate) properties: BTreeMap<String, Vec<u8>>,
    /// What the VM has left in filter state.
    pub(crate) left: BTreeMap<String, Vec<u8>>,
    pub(crate) request: Half,
    pub(crate) response: Half,
    /// The request went out to its end.
    pub(crate) is_complete: bool,
    /// The body that is kept back; readable in the callback that announces it.
    pub(crate) body: Option<Vec<u8>>,
    /// How much of it there was at the last callback.
    pub(crate) body_size: usize,
    /// The VM has answered in the provider's place.
    pub(crate) is_replied: bool,
}

/// The request or the response.
#[derive(Debug, Default)]
pub(crate) struct Half {
    pub(crate) headers: Headers,
    /// Its headers may be touched: in the callback that announces them, and while paused there.
    pub(crate) is_open: bool,
    pub(crate) is_paused: bool,
    /// What the VM has changed and the host has not carried out.
    pub(crate) edits: Vec<Edit>,
}

impl Half {
    /// Headers arrive.
    pub(crate) fn open(&mut self, headers: Headers) {
        *self = Half {
            headers,
            is_open: true,
            ..Half::default()
        };
    }

    /// The callback has returned.
    pub(crate) fn settle(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.is_open = is_paused;
    }

    pub(crate) fn change(&mut self, change: Edit) {
        edit(&mut self.headers, std::slice::from_ref(&change));
        self.edits.push(change);
    }

    pub(crate) fn take_edits(&mut self) -> Vec<Edit> {
        std::mem::take(&mut self.edits)
    }
}
