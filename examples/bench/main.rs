//! One measurement of `make bench`: one model of a provider, one way to it through one Envoy, one
//! repetition. Prints a line of JSON.
//!
//! ```text
//! cargo run --example bench -- MODEL PATH REPETITION
//! ```

#[path = "../demo/app/mod.rs"]
#[allow(dead_code, reason = "it takes its own part of the demo")]
mod app;
mod cell;
mod models;

use std::process::ExitCode;

const USAGE: &str = "bench MODEL PATH REPETITION, or --list for the names";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let measured = match arguments.as_slice() {
        ["--list"] => Ok(models::names()),
        [model, path, repetition] => match (models::named(model, path), repetition.parse()) {
            (Some((model, path)), Ok(seed)) => cell::measure(&model, path, seed)
                .await
                .map_err(|error| error.to_string()),
            _ => Err(USAGE.into()),
        },
        _ => Err(USAGE.into()),
    };
    match measured {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
