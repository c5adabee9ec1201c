//! What becomes of a burst of calls under every model, load, seed and peer: `docs/simulator.md`.
//!
//!     cargo run --release --example sim -- --models examples/sim/models.json --seeds 1..3

#[path = "../tests/support/sim/mod.rs"]
mod sim;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use sim::cell::Scene;
use sim::options::{Options, USAGE, parse};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args) {
        Ok(Some(options)) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => failed(&error.to_string(), ExitCode::FAILURE),
        },
        Ok(None) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error.to_string(), ExitCode::from(2)),
    }
}

fn failed(what: &str, code: ExitCode) -> ExitCode {
    eprintln!("sim: {what}");
    code
}

fn run(options: &Options) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for model in &options.models {
        for load in &options.loads {
            for seed in &options.seeds {
                let scene = Scene {
                    model,
                    load,
                    seed: *seed,
                    surroundings: &options.surroundings,
                };
                let possible = scene.clairvoyant();
                for peer in &options.peers {
                    let trace = options.is_traced.then_some(&mut out as &mut dyn Write);
                    let tally = scene.run(*peer, trace)?;
                    let line = scene.line(*peer, &tally, &possible);
                    writeln!(out, "{}", serde_json::to_string(&line)?)?;
                    out.flush()?;
                }
            }
        }
    }
    Ok(())
}
