//! The policies that have stats of their own.

use std::collections::BTreeMap;
use std::rc::Rc;

/// How many do, in the life of a VM: Envoy keeps a stat for ever, and policies come and go with
/// configurations (law L15). The rest share the stats of a policy by the name of [`Names::REST`].
const MOST: usize = 1000;

/// Policies by the hash that their gates' records carry.
#[derive(Debug)]
pub struct Names {
    own: BTreeMap<u64, Rc<str>>,
    rest: Rc<str>,
}

impl Names {
    /// The name under which policies are counted that have no stats of their own.
    pub const REST: &'static str = "_more";

    /// Takes in a policy. The name to make stats for, if it is new.
    pub fn learn<'a>(&mut self, id: u64, name: &'a str) -> Option<&'a str> {
        let is_new = !self.own.contains_key(&id) && self.own.len() < MOST;
        is_new.then(|| {
            self.own.insert(id, name.into());
            name
        })
    }

    /// The name that a policy is counted under.
    pub fn of(&self, id: u64) -> Rc<str> {
        Rc::clone(self.own.get(&id).unwrap_or(&self.rest))
    }

    /// All policies with stats of their own.
    pub fn own(&self) -> &BTreeMap<u64, Rc<str>> {
        &self.own
    }
}

impl Default for Names {
    fn default() -> Names {
        Names {
            own: BTreeMap::new(),
            rest: Names::REST.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn l15_a_vm_names_a_bounded_number_of_policies() {
        let mut names = Names::default();
        for id in 0..MOST as u64 {
            let name = format!("p{id}");
            assert_eq!(names.learn(id, &name), Some(name.as_str()));
            assert_eq!(names.learn(id, &name), None);
        }
        assert_eq!(names.learn(u64::MAX, "late"), None);
        assert_eq!(&*names.of(u64::MAX), Names::REST);
        assert_eq!(&*names.of(7), "p7");
        assert_eq!(names.own().len(), MOST);
    }
}
