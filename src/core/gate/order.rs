//! In which order a gate's calls start: one number, given at arrival and kept for life.
//!
//! The number is the arrival time, put back for the lower classes by a span that bounds how long
//! they can be overtaken. Where tenants share a gate fairly it is a start tag instead (start-time
//! fair queueing, Goyal, Vin and Cheng 1996): each call of a tenant stands one step behind the
//! tenant's last, and none before what has already started, so that a tenant that was silent saves
//! nothing up. A heavier tenant takes shorter steps.

/// The order of a call in its gate: smaller starts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What decides: a time in nanoseconds, or a start tag, which runs behind it.
    pub rank: u64,
    /// When the call arrived, in nanoseconds, but for the two low bits: they hold its class. Never
    /// the same twice in one worker.
    pub arrived: u64,
}

/// How urgent a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// First.
    High,
    /// What most calls are.
    Normal,
    /// Last.
    Low,
}

impl Key {
    /// Behind every call: the head of an empty queue.
    pub const LAST: Key = Key {
        rank: u64::MAX,
        arrived: u64::MAX,
    };

    /// The order of a call that nothing but its arrival ranks.
    pub const fn at(arrived: u64) -> Key {
        Key {
            rank: arrived,
            arrived,
        }
    }

    /// How many classes there are before the call's own.
    fn class(arrived: u64) -> u64 {
        arrived % 4
    }
}

/// An arrival time that carries a class and comes after `last`.
pub fn arrival(now: u64, last: u64, class: Class) -> u64 {
    let free = now.max(last.saturating_add(4)) / 4 * 4;
    free.saturating_add(match class {
        Class::High => 0,
        Class::Normal => 1,
        Class::Low => 2,
    })
}

/// What ranks a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Its arrival.
    Arrival,
    /// Its arrival, put back by so many nanoseconds for its class.
    Class {
        /// How far.
        behind: u64,
    },
    /// Its tenant's turn.
    Fair {
        /// Who: a hash of which the low bits choose the cell.
        tenant: u64,
        /// Its weight; at least 1.
        weight: u32,
    },
}

/// How far one start takes a tenant of weight 1. So short that tags run behind the clock: when
/// fairness comes into force, or ends, under calls that wait, nobody who waits is passed by
/// newcomers for ever.
pub const TURN: u64 = 10_000;

/// So many turns can a call be overtaken by those of the next higher class.
pub const CLASS_TURNS: u64 = 8;

/// Tenants that a gate can tell apart; those that fall into one cell share their turns.
pub const CELLS: usize = 64;

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    /// The tag of what started last.
    pub started: u64,
    /// The tag of each cell's last call.
    pub last: [u64; CELLS],
}

impl Turns {
    /// Turns that begin now.
    pub(super) fn new(now: u64) -> Turns {
        Turns {
            started: now,
            last: [0; CELLS],
        }
    }

    /// Gives a tenant's next call its rank.
    pub(super) fn give(&mut self, tenant: u64, weight: u32, arrived: u64) -> u64 {
        let step = (TURN / u64::from(weight.max(1))).max(1);
        let Some(last) = self.last.get_mut((tenant % CELLS as u64) as usize) else {
            return arrived;
        };
        *last = self.started.max(*last).saturating_add(step);
        last.saturating_add(behind(arrived))
    }

    /// A call starts.
    pub(super) fn start(&mut self, key: Key) {
        let tag = key.rank.saturating_sub(behind(key.arrived));
        self.started = self.started.max(tag);
    }
}

/// How far its class puts a call back.
fn behind(arrived: u64) -> u64 {
    Key::class(arrived) * CLASS_TURNS * TURN
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Tenants in the order of their starts if all of `calls` wait at once.
    fn order(turns: &mut Turns, calls: &[(u64, u32, Class)]) -> Vec<u64> {
        let mut last = 0;
        let mut keys: Vec<(Key, u64)> = calls
            .iter()
            .map(|(tenant, weight, class)| {
                last = arrival(0, last, *class);
                let rank = turns.give(*tenant, *weight, last);
                let arrived = last;
                (Key { rank, arrived }, *tenant)
            })
            .collect();
        keys.sort();
        keys.iter().for_each(|(key, _)| turns.start(*key));
        keys.iter().map(|(_, tenant)| *tenant).collect()
    }

    fn normal(tenants: &[u64]) -> Vec<(u64, u32, Class)> {
        tenants.iter().map(|t| (*t, 1, Class::Normal)).collect()
    }

    #[test]
    fn l2_a_tenant_with_many_calls_delays_the_others_by_one() {
        let mut turns = Turns::new(0);
        let calls = normal(&[1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(order(&mut turns, &calls), [1, 2, 3, 1, 2, 1, 1]);
    }

    #[test]
    fn a_silent_tenant_saves_nothing_up() {
        let mut turns = Turns::new(0);
        order(&mut turns, &normal(&[1; 100]));
        assert_eq!(
            order(&mut turns, &normal(&[1, 1, 2, 2, 2])),
            [1, 2, 1, 2, 2]
        );
    }

    #[test]
    fn weights_are_shares() {
        let mut turns = Turns::new(0);
        let calls: Vec<_> = (0..40)
            .flat_map(|_| [(1, 3, Class::Normal), (2, 1, Class::Normal)])
            .collect();
        let first = &order(&mut turns, &calls)[..40];
        let share = first.iter().filter(|tenant| **tenant == 1).count();
        assert!((29..=31).contains(&share), "{share} of 40");
    }

    #[test]
    fn classes_come_first_but_not_for_ever() {
        let mut turns = Turns::new(0);
        let mut calls = vec![(1, 1, Class::Low)];
        calls.extend([(2, 1, Class::High); 40]);
        let order = order(&mut turns, &calls);
        let place = order.iter().position(|tenant| *tenant == 1);
        assert_eq!(place, Some(2 * CLASS_TURNS as usize));
    }

    #[test]
    fn a_low_call_that_starts_does_not_put_newcomers_back() {
        let mut turns = Turns::new(0);
        order(&mut turns, &[(1, 1, Class::Low)]);
        let calls = [
            (1, 1, Class::Low),
            (2, 1, Class::Normal),
            (3, 1, Class::High),
        ];
        assert_eq!(order(&mut turns, &calls), [3, 2, 1]);
    }

    #[test]
    fn arrivals_rise_and_carry_their_class() {
        let first = arrival(1001, 0, Class::Low);
        let second = arrival(1001, first, Class::High);
        let third = arrival(0, second, Class::Normal);
        assert!(first < second && second < third);
        assert_eq!([first, second, third].map(Key::class), [2, 0, 1]);
    }
}
