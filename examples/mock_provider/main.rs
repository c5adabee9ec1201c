//! A mock LLM provider with the limits of real ones.
//!
//!     cargo run --example mock_provider -- --port 8080 --concurrency 20 --slope
//!
//! `POST .../chat/completions` and `POST .../messages` answer, `GET /log` tells what happened.

mod options;
#[allow(dead_code, reason = "the demo uses what this program does not")]
mod provider;

use std::process::ExitCode;

use provider::Provider;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("mock_provider: {problem}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let scheme = if options.tls.is_some() {
        "https"
    } else {
        "http"
    };
    match Provider::start(options).await {
        Ok(provider) => {
            println!("{scheme}://localhost:{}", provider.addr.port());
            let _ = tokio::signal::ctrl_c().await;
            let count = provider.count();
            println!(
                "{} accepted, {} refused, peak {}",
                count.accepted, count.refused, count.peak
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("mock_provider: cannot listen: {error}");
            ExitCode::FAILURE
        }
    }
}
