//! The picture for a README: all paths and providers, readable at half its size.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};

use super::super::error::Error;
use super::super::measure::Series;
use super::super::peak::Compared;
use super::super::plan::Plan;
use super::scale::{Axis, axes, points};
use super::words;

const WIDTH: u32 = 1600;
const HEAD: u32 = 130;
const ROW: u32 = 470;
/// Length of a dash and of a gap.
const DASH: (i32, i32) = (14, 8);
/// Height of a row's own title.
const ROW_TITLE: u32 = 52;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(27, 31, 36);
const SOFT: RGBColor = RGBColor(87, 96, 106);
const LINE: RGBColor = RGBColor(216, 222, 228);
// Okabe and Ito's palette, told apart by every kind of eye.
const OFFERED: RGBColor = RGBColor(140, 149, 159);
const SUCCEEDED: RGBColor = RGBColor(0, 114, 178);
const REFUSED: RGBColor = RGBColor(213, 94, 0);

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type Plane<'a> = Cartesian2d<RangedCoordf64, RangedCoordf64>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

pub(super) fn write(file: &Path, plan: &Plan, all: &[Compared]) -> Result<(), Error> {
    let failed = |problem: String| Error::Picture(problem);
    for (style, bytes) in [
        (FontStyle::Normal, dejavu::sans::regular()),
        (FontStyle::Bold, dejavu::sans::bold()),
    ] {
        register_font(FONT, style, bytes).map_err(|_| failed("the font is broken".into()))?;
    }
    let rows = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let size = (WIDTH, HEAD + rows.saturating_mul(ROW));
    let root = BitMapBackend::new(file, size).into_drawing_area();
    draw(&root, plan, all).map_err(|e| failed(e.to_string()))
}

fn draw(root: &Area<'_>, plan: &Plan, all: &[Compared]) -> Drawn {
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD);
    heading(&head, plan)?;
    for (compared, area) in all.iter().zip(body.split_evenly((all.len().max(1), 1))) {
        row(&area, compared)?;
    }
    root.present()?;
    Ok(())
}

fn heading(area: &Area<'_>, plan: &Plan) -> Drawn {
    let title = format!(
        "The morning peak: 0 to {} calls a second within {} s",
        plan.rate,
        plan.rise.as_secs_f64()
    );
    area.draw(&Text::new(title, (24, 22), bold(36)))?;
    let mut x = 26;
    for (color, text) in [
        (OFFERED, "offered"),
        (SUCCEEDED, "succeeded"),
        (REFUSED, "refused by the provider"),
    ] {
        let from = (x, 96);
        let to = (x + 56, 96);
        if color == REFUSED {
            let (dash, gap) = DASH;
            let style = color.stroke_width(4);
            area.draw(&DashedPathElement::new([from, to], dash, gap, style))?;
        } else {
            let width = if color == OFFERED { 3 } else { 5 };
            area.draw(&PathElement::new([from, to], color.stroke_width(width)))?;
        }
        let centred = plain(26).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(text, (x + 70, 100), centred))?;
        let size = area.estimate_text_size(text, &plain(26))?;
        x += 70 + i32::try_from(size.0).unwrap_or(200) + 60;
    }
    Ok(())
}

fn row(area: &Area<'_>, compared: &Compared) -> Drawn {
    let (title, body) = area.split_vertically(ROW_TITLE);
    title.draw(&Text::new(compared.scenario.title(), (26, 12), bold(30)))?;
    let series: Vec<Series> = compared.runs.iter().map(|r| r.series()).collect();
    let (x, y) = axes(&series);
    let panels = body.split_evenly((1, compared.runs.len().max(1)));
    let rows = compared.rows();
    for (((area, run), row), series) in panels.iter().zip(&compared.runs).zip(&rows).zip(&series) {
        let result = words::summary(row);
        panel(area, (run.path.title(), &result), series, (x, y))?;
    }
    Ok(())
}

fn panel(
    area: &Area<'_>,
    (title, result): (&str, &str),
    series: &Series,
    (x, y): (Axis, Axis),
) -> Drawn {
    area.draw(&Text::new(title, (26, 4), bold(26)))?;
    area.draw(&Text::new(result, (26, 38), plain(24)))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(104)
        .margin_right(26)
        .margin_left(14)
        .margin_bottom(4)
        .x_label_area_size(66)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..x.max as f64, 0.0..y.max as f64)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(LINE.stroke_width(2))
        .axis_style(LINE.stroke_width(2))
        .x_labels(x.marks().count())
        .y_labels(y.marks().count())
        .x_label_formatter(&|v| format!("{v:.0}"))
        .y_label_formatter(&|v| format!("{v:.0}"))
        .label_style(plain(22))
        .draw()?;
    area.draw(&Text::new("calls per second", (26, 76), soft(22)))?;
    let (width, height) = area.dim_in_pixel();
    let middle = i32::try_from(width / 2 + 20).unwrap_or(0);
    let bottom = i32::try_from(height.saturating_sub(8)).unwrap_or(0);
    let centred = soft(22).pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw(&Text::new("seconds", (middle, bottom), centred))?;
    curves(&mut chart, series)
}

fn curves(chart: &mut ChartContext<'_, BitMapBackend<'_>, Plane<'_>>, series: &Series) -> Drawn {
    let offered = points(&series.offered);
    chart.draw_series(AreaSeries::new(offered.clone(), 0.0, OFFERED.mix(0.18)))?;
    chart.draw_series(LineSeries::new(offered, OFFERED.stroke_width(3)))?;
    let refused = points(&series.refused);
    let (dash, gap) = DASH;
    chart.draw_series(DashedLineSeries::new(
        refused,
        dash,
        gap,
        REFUSED.stroke_width(4),
    ))?;
    let succeeded = points(&series.succeeded);
    chart.draw_series(LineSeries::new(succeeded, SUCCEEDED.stroke_width(5)))?;
    Ok(())
}

fn plain(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

fn soft(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&SOFT)
}

fn bold(size: i32) -> TextStyle<'static> {
    (FONT, size, FontStyle::Bold).into_font().color(&INK)
}
