//! What one run explores.

use weir::core::gate::Setting;

use crate::world::setting;

/// How much of an exchange is one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// One host call: others may run between a read and its write, and between wake-ups.
    HostCall,
    /// One exchange. Between a read and its write others can only make the write fail, which is a
    /// read again; between wake-ups they can only act as if the message were late. So nothing is
    /// missed, as long as [`Grain::HostCall`] holds on the same code and time stands still.
    Exchange,
}

/// What one run explores.
#[derive(Clone, Debug)]
pub struct Scope {
    pub grain: Grain,
    /// For each worker the keys of its calls, in order of arrival.
    pub keys: Vec<Vec<u64>>,
    pub setting: Setting,
    /// Calls that may be refused and held once, from each worker's first on.
    pub refused: usize,
    /// A refusal shuts the gate, and one probe opens it.
    pub pauses: bool,
    /// Every second call would rather be refused than wait.
    pub no_wait: bool,
    /// The setting each worker puts in force at some time.
    pub configure: Option<Setting>,
    /// Wake-ups may be lost, and ticks make it good.
    pub lossy: bool,
    /// How many wake-ups come twice.
    pub duplicates: u8,
    /// How often time jumps by what makes a grant stale.
    pub jumps: u8,
    /// How many living workers are given up for dead.
    pub reaps: u8,
    /// How many workers die.
    pub deaths: u8,
    /// How many clearings of the gate are cut off: who made them died, and another begins anew.
    pub cuts: u8,
    /// The last worker comes up late: it takes the first slot that is free at its first call.
    pub late: bool,
    /// Give up beyond this many steps from the start.
    pub depth: usize,
}

impl Scope {
    /// Calls in the order of `arrivals`, each letter naming its worker: "ABBA".
    pub fn new(grain: Grain, arrivals: &str, cap: u32) -> Scope {
        let mut keys: Vec<Vec<u64>> = Vec::new();
        for (key, letter) in arrivals.bytes().enumerate() {
            let worker = usize::from(letter - b'A');
            keys.resize(keys.len().max(worker + 1), Vec::new());
            keys[worker].push(key as u64 + 1);
        }
        Scope {
            grain,
            keys,
            setting: setting(cap, 100),
            refused: 0,
            pauses: false,
            no_wait: false,
            configure: None,
            lossy: false,
            duplicates: 0,
            jumps: 0,
            reaps: 0,
            deaths: 0,
            cuts: 0,
            late: false,
            depth: usize::MAX,
        }
    }

    pub fn workers(&self) -> usize {
        self.keys.len()
    }

    pub fn is_refused(&self, _worker: usize, call: usize) -> bool {
        call < self.refused
    }

    pub fn is_no_wait(&self, _worker: usize, call: usize) -> bool {
        self.no_wait && call % 2 == 1
    }

    /// Whether it may take a tick: for a wake-up that was lost on its way, or never sent because its
    /// sender died, and for gates that have yet to hear of a worker's new name.
    pub fn has_ticks(&self) -> bool {
        self.lossy || self.reaps > 0 || self.deaths > 0 || self.cuts > 0
    }

    /// The highest limit that may ever be in force.
    pub fn highest_limit(&self) -> u64 {
        let other = self.configure.unwrap_or(self.setting);
        self.setting.limit().max(other.limit())
    }
}

/// Every order in which `each` calls of each of two workers may arrive. The workers are alike, so one
/// of them may be first.
pub fn arrival_orders(each: usize) -> Vec<String> {
    let calls = 2 * each;
    (0_u32..1 << calls)
        .filter(|bits| bits & 1 == 1 && bits.count_ones() as usize == each)
        .map(|bits| {
            let letter = |at: usize| if bits >> at & 1 == 1 { 'A' } else { 'B' };
            (0..calls).map(letter).collect()
        })
        .collect()
}
