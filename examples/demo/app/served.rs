//! What a first-come queue in front of a provider serves: the yardstick for every path. It runs
//! the provider's own model, with the same limits and the same draws.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::plan::Plan;
use super::provider::model::Model;

/// A limit that depends on time alone is asked this often.
const STEP: Duration = Duration::from_millis(1);

/// The waits for the first byte, in the order of arrival, of the calls of `plan` that get it within
/// their patience, if a queue starts them in order, each as soon as the provider admits it.
pub(crate) fn could_serve(mut provider: Model, plan: &Plan) -> Vec<Duration> {
    let mut coming: VecDeque<Duration> = plan.arrivals().into();
    let mut waiting: VecDeque<Duration> = VecDeque::new();
    let mut ends: BinaryHeap<Reverse<Duration>> = BinaryHeap::new();
    let (mut now, mut waits) = (Duration::ZERO, vec![]);
    while !(coming.is_empty() && waiting.is_empty()) {
        while ends.peek().is_some_and(|end| end.0 <= now) {
            ends.pop();
            provider.end();
        }
        while coming.front().is_some_and(|c| *c <= now) {
            waiting.extend(coming.pop_front());
        }
        while waiting.front().is_some_and(|w| *w + plan.patience <= now) {
            waiting.pop_front();
        }
        while let Some(arrived) = waiting.front().copied() {
            if !provider.admits(now) {
                break;
            }
            waiting.pop_front();
            let Ok(start) = provider.arrive(now) else {
                break;
            };
            let gives_up = arrived + plan.patience;
            let first_byte = now + start.service.first_byte;
            let in_time = first_byte <= gives_up;
            waits.extend(in_time.then(|| first_byte.saturating_sub(arrived)));
            ends.push(Reverse(if in_time {
                now + start.service.whole
            } else {
                gives_up
            }));
        }
        let next = [ends.peek().map(|e| e.0), coming.front().copied()];
        now = next
            .into_iter()
            .flatten()
            .fold(now + STEP, Duration::min)
            .max(now);
    }
    waits
}
