//! What Weir makes of a provider's answer, and what it would do.
//!
//!     curl -i https://api.example.com/v1/... | cargo run -q --release --no-default-features --example explain
//!
//! Results go to stdout, everything else to stderr. Exit code 0, 1 if a case of `--jsonl` was missed,
//! 2 if the command line or what it names cannot be used.

mod args;
mod cases;
mod curl;
mod given;
mod json;
mod prose;

use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;

use args::{Asked, Problem};
use given::{Body, Given};
use weir::core::classify::classify;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    let asked = args::parse(args.map(|arg| arg.into_encoded_bytes()));
    match asked.and_then(|asked| answer(asked, &mut io::stdout().lock())) {
        Ok(code) => code,
        Err(Problem::Help) => {
            eprintln!("{}", args::USAGE);
            ExitCode::SUCCESS
        }
        // Whoever read the results has seen enough.
        Err(Problem::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("explain: {problem}");
            if problem.is_usage() {
                eprintln!("\n{}", args::USAGE);
            }
            ExitCode::from(2)
        }
    }
}

fn answer(asked: Asked, out: &mut impl Write) -> Result<ExitCode, Problem> {
    match asked {
        Asked::Cases { path } => {
            let missed = cases::run(&path, out)?;
            Ok(ExitCode::from(u8::from(missed)))
        }
        Asked::One { given, as_json } => {
            let given = match given {
                args::Source::Options(given) => given,
                args::Source::Stdin(given) => from_stdin(given)?,
            };
            let verdict = classify(&given.answer());
            let text = match as_json {
                true => json::verdict(&verdict),
                false => prose::explain(&given, &verdict),
            };
            writeln!(out, "{text}").map_err(Problem::Output)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Fills in what `curl -i` printed.
fn from_stdin(given: Given) -> Result<Given, Problem> {
    let mut stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Problem::Nothing);
    }
    let mut printed = Vec::new();
    stdin.read_to_end(&mut printed).map_err(Problem::Input)?;
    let (status, headers, body) = curl::read(&printed).ok_or(Problem::NotCurl)?;
    Ok(Given {
        status,
        headers,
        body: Body::cut(body.to_vec()),
        ..given
    })
}
