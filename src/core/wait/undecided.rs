//! A worker's attempts in one gate that may yet be refused, by the epoch in which they started.

use crate::core::gate::Undecided;

/// How many attempts of each epoch are undecided. Few epochs at a time: each is an episode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Attempts(Vec<(u32, u32)>);

impl Attempts {
    /// One more.
    pub(super) fn add(&mut self, epoch: u32) {
        match self.0.iter_mut().find(|(of, _)| *of == epoch) {
            Some((_, count)) => *count += 1,
            None => self.0.push((epoch, 1)),
        }
    }

    /// One is decided.
    pub(super) fn remove(&mut self, epoch: u32) {
        if let Some((_, count)) = self.0.iter_mut().find(|(of, _)| *of == epoch) {
            *count -= 1;
        }
        self.0.retain(|(_, count)| *count > 0);
    }

    /// What the gate is told of them.
    pub(super) fn span(&self) -> Undecided {
        let epochs = self.0.iter().map(|(epoch, _)| *epoch);
        epochs.fold(Undecided::NONE, Undecided::with)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_span_goes_from_the_oldest_epoch_to_the_newest() {
        let mut attempts = Attempts::default();
        for epoch in [3, 1, 3] {
            attempts.add(epoch);
        }
        let mut spans = vec![attempts.span()];
        for epoch in [3, 1, 3] {
            attempts.remove(epoch);
            spans.push(attempts.span());
        }
        let span = |oldest, newest| Undecided { oldest, newest };
        assert_eq!(spans, [span(1, 3), span(1, 3), span(3, 3), Undecided::NONE]);
    }
}
