//! What the terminal shows while a load runs.

use std::io::{IsTerminal, Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::load::Live;
use super::path::Path;
use super::provider::Provider;

/// Between two pictures on a terminal.
const FRAME: Duration = Duration::from_millis(500);
/// Between two tables in a file, where nothing can be drawn over.
const FRAME_IN_FILE: Duration = Duration::from_secs(5);

/// One path to watch.
pub(crate) struct Watched<'a> {
    pub(crate) path: Path,
    pub(crate) live: Arc<Live>,
    /// Its provider, if that can be asked.
    pub(crate) provider: Option<&'a Provider>,
}

/// Shows how all go until it is dropped.
pub(crate) async fn show(all: &[Watched<'_>], start: Instant) {
    let terminal = stdout().is_terminal();
    let frame = if terminal { FRAME } else { FRAME_IN_FILE };
    println!(
        "\n  {:>4}  {:<14} {:>8} {:>8} {:>10} {:>8}  {:>8}",
        "time", "path", "offered", "waiting", "succeeded", "failed", "refused by provider"
    );
    let mut drawn = false;
    loop {
        if terminal && drawn {
            print!("\x1b[{}A", all.len());
        }
        for watched in all {
            line(watched, start);
        }
        let _ = stdout().flush();
        drawn = true;
        sleep(frame).await;
    }
}

fn line(watched: &Watched<'_>, start: Instant) {
    let live = &watched.live;
    let refused = watched.provider.map(|p| p.count().refused.to_string());
    println!(
        "  {:>3}s  {:<14} {:>8} {:>8} {:>10} {:>8}  {:>8}",
        start.elapsed().as_secs(),
        watched.path.title(),
        live.offered(),
        live.waiting(),
        live.succeeded(),
        live.failed(),
        refused.as_deref().unwrap_or("?"),
    );
}
