//! Chores that one VM at a time does for all, whichever comes round first.

use std::time::Duration;

use crate::core::time::Time;
use crate::port::{Expect, Host, Stored};

/// Whether it is this VM's turn at the chore `name`: nobody began it within `every`. A VM that dies
/// over it has the next one begin it again after that time.
pub fn take_turn(host: &impl Host, name: &str, now: Time, every: Duration) -> bool {
    let expect = match host.shared_get(name) {
        Ok(Stored::Absent) => Expect::New,
        Ok(Stored::Present { bytes, cas }) => {
            let last = bytes.try_into().map_or(0, u64::from_le_bytes);
            if now.since(Time(last)) < every {
                return false;
            }
            Expect::Same(cas)
        }
        Err(_) => return false,
    };
    host.shared_set(name, &now.0.to_le_bytes(), expect).is_ok()
}
