//! The morning peak: what a burst of calls becomes without protection, with Envoy's own retry and
//! with Weir, against two mock providers; or a few calls to a real endpoint, if `PROVIDER_URL`
//! names one. Run it with `make demo`.

#[allow(
    dead_code,
    reason = "the mock provider has limits that the demo leaves out"
)]
mod app;

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    // Whatever ends the run drops what it started: every Envoy is killed by its pid.
    tokio::select! {
        ended = app::run() => match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("\ndemo: {error}");
                ExitCode::FAILURE
            }
        },
        () = stopped() => {
            eprintln!("\ndemo: stopped");
            ExitCode::from(130)
        }
    }
}

async fn stopped() {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
