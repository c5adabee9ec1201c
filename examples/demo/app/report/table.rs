//! A table for the terminal.

use super::super::measure::Row;

const HEAD: [&str; 8] = [
    "path",
    "offered",
    "could serve",
    "succeeded",
    "refused upstream",
    "peak",
    "wait p50",
    "wait p95",
];

/// One line per path, columns aligned.
pub(crate) fn table(rows: &[Row]) -> String {
    let cells = rows.iter().map(|r| {
        [
            r.path.to_owned(),
            r.offered.to_string(),
            r.could_serve.to_string(),
            r.succeeded.to_string(),
            r.refused_upstream.to_string(),
            r.peak.to_string(),
            wait(r.wait_p50_ms),
            wait(r.wait_p95_ms),
        ]
    });
    let lines = std::iter::once(HEAD.map(str::to_owned)).chain(cells);
    let text: Vec<String> = lines.map(line).collect();
    text.join("\n")
}

/// A wait as a person reads it.
pub(super) fn wait(ms: Option<u64>) -> String {
    match ms {
        None => "none".into(),
        Some(ms) => format!("{:.1} s", ms as f64 / 1000.0),
    }
}

fn line([path, numbers @ ..]: [String; 8]) -> String {
    let mut line = format!("  {path:<14}");
    for (number, head) in numbers.iter().zip(HEAD.iter().skip(1)) {
        let width = head.len().max(8) + 2;
        line += &format!("{number:>width$}");
    }
    line
}
