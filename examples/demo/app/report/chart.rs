//! One chart as SVG: calls per second over time. Colours come from the page's style sheet.

use std::fmt::Write as _;

use super::super::measure::Series;
use super::scale::{Axis, points};

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;

/// The chart of one path; `label` says in words what it shows.
pub(super) fn svg(series: &Series, x: Axis, y: Axis, label: &str) -> String {
    let frame = Frame { x, y };
    let mut out =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\">\n");
    grid(&mut out, &frame);
    let _ = writeln!(
        out,
        "<path class=\"offered-area\" d=\"{}Z\"/>",
        frame.path(&series.offered)
    );
    for (class, curve) in [
        ("offered", &series.offered),
        ("refused", &series.refused),
        ("succeeded", &series.succeeded),
    ] {
        let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\"/>", frame.path(curve));
    }
    out + "</svg>"
}

fn grid(out: &mut String, frame: &Frame) {
    let (left, right) = (LEFT, WIDTH - RIGHT);
    for mark in frame.y.marks() {
        let y = frame.at_y(mark as f64);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{left},{y:.1}H{right}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>",
            left - 6.0,
            y + 4.0
        );
    }
    for mark in frame.x.marks() {
        let x = frame.at_x(mark as f64);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark}</text>",
            HEIGHT - BOTTOM + 16.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"0\" y=\"12\">calls per second</text>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">seconds since the first call</text>",
        f64::midpoint(left, right),
        HEIGHT - 6.0
    );
}

/// Where values lie in the drawing.
struct Frame {
    x: Axis,
    y: Axis,
}

impl Frame {
    fn at_x(&self, second: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * second / self.x.max as f64
    }

    fn at_y(&self, calls: f64) -> f64 {
        let height = HEIGHT - TOP - BOTTOM;
        TOP + height * (1.0 - calls / self.y.max as f64)
    }

    fn path(&self, curve: &[usize]) -> String {
        let mut path = String::new();
        for (x, y) in points(curve) {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1},{:.1}", self.at_x(x), self.at_y(y));
        }
        path
    }
}
