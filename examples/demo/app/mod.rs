//! The demo, apart from its `main`, so that tests can run it at a smaller scale.

pub(crate) mod client;
pub(crate) mod envoy;
pub(crate) mod error;
pub(crate) mod load;
pub(crate) mod measure;
pub(crate) mod path;
pub(crate) mod peak;
pub(crate) mod plan;
mod progress;
#[path = "../../mock_provider/provider/mod.rs"]
pub(crate) mod provider;
pub(crate) mod real;
pub(crate) mod report;
pub(crate) mod served;
pub(crate) mod target;

use error::Error;
use peak::Scenario;
use plan::Plan;

/// The whole demo, as the environment asks for it.
pub(crate) async fn run() -> Result<(), Error> {
    if let Some(target) = target::Target::from_environment()? {
        return real::run(&target, &real::Settings::from_environment()?).await;
    }
    let plan = Plan::morning_peak();
    println!("The morning peak: {plan}.");
    println!("Three paths side by side, each with a mock provider of its own. About 90 seconds.");
    let mut runs = vec![];
    for scenario in [Scenario::Concurrency, Scenario::Slope] {
        runs.push(peak::run(scenario, &plan).await?);
    }
    report::write(std::path::Path::new("out/demo"), &plan, &runs)
}
