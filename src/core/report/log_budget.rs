//! How many lines a worker may log.

use std::time::Duration;

use crate::core::time::Time;

/// Lines a second.
const LINES: u32 = 10;

/// At most [`LINES`] lines in each second of a worker, so that a storm of refusals does not become a
/// storm of lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogBudget {
    since: Time,
    lines: u32,
}

impl LogBudget {
    /// Whether one more line may be written.
    pub fn take(&mut self, now: Time) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) {
            *self = LogBudget {
                since: now,
                lines: 0,
            };
        }
        let has_room = self.lines < LINES;
        self.lines += u32::from(has_room);
        has_room
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn ten_lines_a_second() {
        let mut budget = LogBudget::default();
        let start = Time(5_000_000_000);
        let burst = |budget: &mut LogBudget, at| (0..50).filter(|_| budget.take(at)).count();
        assert_eq!(burst(&mut budget, start), 10);
        assert_eq!(burst(&mut budget, start + Duration::from_millis(999)), 0);
        assert_eq!(burst(&mut budget, start + Duration::from_secs(1)), 10);
    }
}
