//! Who calls: tenants of one account, and how urgent they say it is.

use serde::Serialize;
use weir::core::config::Config;

use super::draw::{Draw, For};
use super::tally::{Tally, Waits};

/// The header that names a call's tenant: `tenant-0` and so on.
pub(crate) const TENANT: &str = "x-tenant";

/// The header that names its class: one of [`CLASSES`].
pub(crate) const PRIORITY: &str = "x-priority";

/// Classes of priority.
pub(crate) const CLASSES: [&str; 3] = ["high", "normal", "low"];

/// Which share of calls comes from whom; nobody is told apart where a list is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Crowd {
    /// Of each tenant, in any unit.
    pub(crate) tenants: Vec<f64>,
    /// Of each class.
    pub(crate) priorities: Vec<f64>,
    /// As many numbers of calls in a row are one client's.
    pub(crate) calls_of_one: u64,
}

/// Whose call it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whose {
    pub(crate) tenant: usize,
    pub(crate) class: usize,
}

impl Default for Crowd {
    fn default() -> Crowd {
        Crowd {
            tenants: Vec::new(),
            priorities: Vec::new(),
            calls_of_one: 1,
        }
    }
}

impl Crowd {
    /// Whether all are alike.
    pub(crate) fn is_plain(&self) -> bool {
        self.tenants.is_empty() && self.priorities.is_empty()
    }

    /// Whose the call of this number is.
    pub(crate) fn of(&self, seed: u64, number: u64) -> Whose {
        if self.is_plain() {
            return Whose::default();
        }
        let mut draw = Draw::of_call(seed, For::Tenant, number / self.calls_of_one);
        Whose {
            tenant: pick(&self.tenants, draw.unit()),
            class: pick(&self.priorities, draw.unit()),
        }
    }

    /// The headers of a call.
    pub(crate) fn headers(&self, whose: Whose) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if !self.tenants.is_empty() {
            headers.push((TENANT, tenant_name(whose.tenant)));
        }
        if let Some(class) = CLASSES
            .get(whose.class)
            .filter(|_| !self.priorities.is_empty())
        {
            headers.push((PRIORITY, (*class).to_owned()));
        }
        headers
    }
}

/// The place of the share that `part` of all falls into.
fn pick(shares: &[f64], part: f64) -> usize {
    let mut left = part * shares.iter().sum::<f64>();
    let inside = |share: &f64| {
        left -= share;
        left <= 0.0
    };
    let found = shares.iter().position(inside);
    found.unwrap_or(shares.len().saturating_sub(1))
}

fn tenant_name(tenant: usize) -> String {
    format!("tenant-{tenant}")
}

/// What was made of the calls of a tenant or a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) offered: u64,
    /// Of those that were accepted.
    pub(crate) waits: Waits,
    pub(crate) lost: u64,
}

impl Counted {
    pub(crate) fn served(&self) -> u64 {
        (self.waits.len() as u64).saturating_sub(self.lost)
    }
}

/// What each was served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Parts {
    pub(crate) tenants: Vec<Part>,
    pub(crate) priorities: Vec<Part>,
    /// Jain's index of what tenants were served over their fair parts of it: 1 if all got those,
    /// 1 / n if one of n got all. 1 where there are no tenants.
    pub(crate) fairness: f64,
}

/// What one was served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) offered: u64,
    pub(crate) served: u64,
    /// Of all that was served.
    pub(crate) share: f64,
    pub(crate) wait_p95_ms: Option<f64>,
}

impl Parts {
    /// Of counts by tenant and by class, where calls come from a crowd.
    pub(crate) fn new(tally: &Tally, crowd: &Crowd, config: &Config) -> Parts {
        let tenants = counted(&tally.tenants, crowd.tenants.len());
        let classes = counted(&tally.classes, crowd.priorities.len());
        let names = (0..tenants.len()).map(tenant_name);
        let queue = config.policies().first().map(|policy| policy.queue());
        let weight = |name: String| queue.map_or(1, |queue| queue.weight_of(name.as_bytes()));
        let weights: Vec<f64> = names.clone().map(|name| f64::from(weight(name))).collect();
        let demands: Vec<f64> = tenants.iter().map(|t| t.offered as f64).collect();
        let served: Vec<f64> = tenants.iter().map(|t| t.served() as f64).collect();
        let fair = max_min(&demands, &weights, served.iter().sum());
        let ratios = served.iter().zip(&fair).filter(|(_, fair)| **fair > 0.0);
        Parts {
            fairness: jain(ratios.map(|(served, fair)| served / fair)),
            tenants: parts(names, &tenants),
            priorities: parts(CLASSES.map(str::to_owned).into_iter(), &classes),
        }
    }
}

/// The counts of the first `count`, some of whom may never have called.
fn counted(all: &[Counted], count: usize) -> Vec<Counted> {
    let mut all = all.to_vec();
    all.resize_with(count, Counted::default);
    all
}

fn parts(names: impl Iterator<Item = String>, counted: &[Counted]) -> Vec<Part> {
    let all: u64 = counted.iter().map(Counted::served).sum();
    let part = |(name, of): (String, &Counted)| Part {
        name,
        offered: of.offered,
        served: of.served(),
        share: of.served() as f64 / (all as f64).max(1.0),
        wait_p95_ms: of.waits.percentile_ms(95),
    };
    names.zip(counted).map(part).collect()
}

/// Jain's index: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination
/// for Resource Allocation in Shared Computer Systems", 1984.
pub(crate) fn jain(parts: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for part in parts {
        count += 1.0;
        sum += part;
        squares += part * part;
    }
    match squares > 0.0 {
        true => sum * sum / (count * squares),
        false => 1.0,
    }
}

/// What each gets of `all` if nobody gets more than it asks for, and what others leave is parted by
/// weight among those who want more.
pub(crate) fn max_min(demands: &[f64], weights: &[f64], all: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by(|a, b| (demands[*a] / weights[*a]).total_cmp(&(demands[*b] / weights[*b])));
    let mut left = all;
    let mut weight: f64 = weights.iter().sum();
    let mut parts = vec![0.0; demands.len()];
    for at in order {
        parts[at] = demands[at].min(left * weights[at] / weight);
        left -= parts[at];
        weight -= weights[at];
    }
    parts
}
