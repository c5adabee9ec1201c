//! The page: one file, no scripts, light and dark, readable on a phone.

use super::super::envoy::{retry_policy, weir_config};
use super::super::measure::{Row, Series};
use super::super::peak::Compared;
use super::super::plan::Plan;
use super::chart::svg;
use super::scale::axes;
use super::table::wait;
use super::words;

const STYLE: &str = include_str!("page.css");

const LEGEND: [(&str, &str); 3] = [
    ("offered", "offered: calls the clients send"),
    ("succeeded", "succeeded: calls answered to the end"),
    ("refused", "refused: attempts the provider refused"),
];

pub(super) fn page(plan: &Plan, all: &[Compared]) -> String {
    let sections: String = all.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Weir: the morning peak</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>The morning peak</h1>\n\
         <p>A fleet of clients wakes up: {plan}. Each call is one client, and takes 0.6 s at the \
         provider on average. The same calls went three ways at the same time, each to a mock \
         provider of its own.</p>\n{sections}{}</body>\n</html>\n",
        definitions(plan, all)
    )
}

fn section(compared: &Compared) -> String {
    let series: Vec<Series> = compared
        .runs
        .iter()
        .map(super::super::measure::Run::series)
        .collect();
    let (x, y) = axes(&series);
    let rows = compared.rows();
    let mut charts = String::new();
    for ((run, row), series) in compared.runs.iter().zip(&rows).zip(&series) {
        let (title, summary) = (run.path.title(), words::summary(row));
        let label = format!("{title}: calls per second over time. {summary}.");
        let chart = svg(series, x, y, &label.replace('\'', "&#39;"));
        charts += &format!(
            "<figure><figcaption><h3>{title}</h3><p>{summary}</p></figcaption>\n{chart}\n</figure>\n"
        );
    }
    format!(
        "<section>\n<h2>{}</h2>\n<p class=\"soft\">{}</p>\n<p>{}</p>\n{}\
         <div class=\"charts\">\n{charts}</div>\n{}</section>\n",
        compared.scenario.title(),
        words::provider(compared.scenario),
        words::verdict(compared),
        legend(),
        table(compared, &rows),
    )
}

fn legend() -> String {
    let items = LEGEND.map(|(class, text)| {
        format!(
            "<li><svg viewBox=\"0 0 32 12\" aria-hidden=\"true\"><path class=\"{class}\" \
             d=\"M0,6H32\"/></svg>{text}</li>\n"
        )
    });
    format!("<ul class=\"legend\">\n{}</ul>\n", items.concat())
}

fn table(compared: &Compared, rows: &[Row]) -> String {
    const NAMES: [&str; 7] = [
        "offered",
        "could serve",
        "succeeded",
        "refused upstream",
        "peak at provider",
        "wait, median",
        "wait, 95th percentile",
    ];
    let head: String = NAMES.map(|name| format!("<th>{name}</th>")).concat();
    let body = compared.runs.iter().zip(rows).map(|(run, row)| {
        let cells = [
            row.offered.to_string(),
            row.could_serve.to_string(),
            row.succeeded.to_string(),
            row.refused_upstream.to_string(),
            row.peak.to_string(),
            wait(row.wait_p50_ms),
            wait(row.wait_p95_ms),
        ];
        let named = NAMES.iter().zip(cells);
        let cells: String = named
            .map(|(name, cell)| format!("<td data-name=\"{name}\">{cell}</td>"))
            .collect();
        format!("<tr><td>{}</td>{cells}</tr>\n", run.path.title())
    });
    format!(
        "<div class=\"table\"><table>\n<thead><tr><th>path</th>{head}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
        body.collect::<String>()
    )
}

fn definitions(plan: &Plan, all: &[Compared]) -> String {
    let configs = all
        .iter()
        .map(|c| weir_config(c.scenario.cap()).to_string());
    let configs: Vec<String> = configs
        .map(|c| format!(" <code>{}</code>", escape(&c)))
        .collect();
    format!(
        "<section>\n<h2>What the words mean</h2>\n<dl>\n\
         <dt>Could serve</dt><dd>What a first-come queue in front of the same provider would \
         have served within the clients' patience, reckoned from the same limits and the same \
         service times.</dd>\n\
         <dt>Wait</dt><dd>From a client's sending its call to the first byte of its answer, over \
         the calls that succeeded. A client without a first byte after {} s goes away.</dd>\n\
         <dt>Refused upstream</dt><dd>Attempts that the provider answered with 429. A call that \
         is retried can be refused several times.</dd>\n\
         <dt>Peak</dt><dd>The most calls that ran at the provider at once.</dd>\n\
         <dt>No protection</dt><dd>Envoy passes every call on.</dd>\n\
         <dt>Envoy's retry</dt><dd>Envoy with its own retry policy, circuit breakers wide open: \
         <code>{}</code></dd>\n\
         <dt>Weir</dt><dd>Envoy with this filter, a cap, and its defaults for the rest:{}</dd>\n\
         </dl>\n</section>\n",
        plan.patience.as_secs_f64(),
        escape(&retry_policy().to_string()),
        configs.join(" and"),
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
