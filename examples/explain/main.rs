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

use args::{Asked, Problem, Source};
use given::{Body, Given};
use weir::core::classify::classify;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    let args = args.map(|arg| arg.into_encoded_bytes());
    // Nobody types an answer.
    let mut stdin: Box<dyn Read> = match io::stdin().is_terminal() {
        true => Box::new(io::empty()),
        false => Box::new(io::stdin()),
    };
    ExitCode::from(run(
        args,
        &mut stdin,
        &mut io::stdout().lock(),
        &mut io::stderr(),
    ))
}

/// The whole program; returns its exit code.
pub(crate) fn run(
    args: impl Iterator<Item = Vec<u8>>,
    stdin: &mut impl Read,
    out: &mut impl Write,
    err: &mut impl Write,
) -> u8 {
    let (code, said) = match args::parse(args).and_then(|asked| answer(asked, stdin, out)) {
        Ok(is_right) => return u8::from(!is_right),
        Err(Problem::Help) => (0, args::USAGE.to_owned()),
        // Whoever read the results has seen enough.
        Err(Problem::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
        Err(problem) if problem.is_usage() => (2, format!("explain: {problem}\n\n{}", args::USAGE)),
        Err(problem) => (2, format!("explain: {problem}")),
    };
    // If nobody hears it there is nobody to tell.
    let _ = writeln!(err, "{said}");
    code
}

/// Writes what was asked for; returns whether all cases are as expected.
fn answer(asked: Asked, stdin: &mut impl Read, out: &mut impl Write) -> Result<bool, Problem> {
    match asked {
        Asked::Cases { path } => cases::run(&path, out),
        Asked::One { given, as_json } => {
            let given = match given {
                Source::Options(given) => given,
                Source::Stdin(given) => from_curl(given, stdin)?,
            };
            let verdict = classify(&given.answer());
            let text = match as_json {
                true => json::verdict(&verdict),
                false => prose::explain(&given, &verdict),
            };
            writeln!(out, "{text}").map_err(Problem::Output)?;
            Ok(true)
        }
    }
}

/// Fills in what `curl -i` printed.
fn from_curl(given: Given, stdin: &mut impl Read) -> Result<Given, Problem> {
    let mut printed = Vec::new();
    stdin.read_to_end(&mut printed).map_err(Problem::Input)?;
    if printed.is_empty() {
        return Err(Problem::Nothing);
    }
    let (status, headers, body) = curl::read(&printed).ok_or(Problem::NotCurl)?;
    Ok(Given {
        status,
        headers,
        body: Body::cut(body.to_vec()),
        ..given
    })
}
