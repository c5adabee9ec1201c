//! A headless Chromium, which the variable `CHROMIUM` names, and what it finds in a page.

#![allow(dead_code, reason = "each test uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Loads a page; its document afterwards, and all that reached the console.
pub(crate) fn browse(page: &Path, more: &[&str]) -> (String, Vec<String>) {
    let program = std::env::var("CHROMIUM").expect("CHROMIUM names a browser: `make page-test`");
    let profile = page.with_extension("profile");
    let output = Command::new(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=10000",
            "--dump-dom",
        ])
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("a browser that runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {log}", output.status);
    let console = log.lines().filter(|l| l.contains(":CONSOLE"));
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    (dom, console.map(str::to_owned).collect())
}

/// A page with a script that looks into `page`, its constant `PAGE`.
pub(crate) fn harness(dir: &Path, page: &str, inspector: &str) -> PathBuf {
    let quoted = serde_json::to_string(page).expect("text");
    // A "</script>" in it would end it, and a "<!--" would change what ends it.
    let quoted = quoted.replace("</", "<\\/").replace("<!--", "<\\!--");
    let harness = dir.join("harness.html");
    let html = format!("<!doctype html><body><script>const PAGE = {quoted};{inspector}</script>");
    std::fs::write(&harness, html).expect("a writable folder");
    harness
}

/// An empty folder of this process.
pub(crate) fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a writable temporary folder");
    dir
}

/// The end of a long text.
pub(crate) fn tail(text: &str) -> String {
    let from = text.chars().count().saturating_sub(500);
    text.chars().skip(from).collect()
}
