//! Refusals inside a success: some providers answer 200 and say no in the body.

use super::{Answer, Provider, Verdict};

/// What one event of a stream, or one small JSON body, under a success turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Says nothing yet: a comment, a blank, a ping, the opening of a message. Look at the next.
    Prelude,
    /// The answer has begun; the look is over.
    Innocent,
    /// An error, with what it says. Its class may be `other`.
    Error(Verdict),
}

/// Whether answers of this provider are worth a look under a success: it is known to refuse there.
///
/// `auto` goes by the host, without a port.
pub fn looks_into_success(provider: Provider, host: Option<&[u8]>) -> bool {
    let _ = host;
    matches!(
        provider.name(),
        "minimax"
            | "baidu-qianfan"
            | "tencent"
            | "iflytek-spark"
            | "volcano-ark"
            | "byteplus-modelark"
            | "openai"
            | "openai-codex"
            | "anthropic"
            | "dashscope"
            | "openrouter"
    )
}

/// The first complete event of a stream, up to and with its blank line, and what follows it.
pub fn next_event(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut line_start = 0;
    for (at, byte) in stream.iter().enumerate() {
        if *byte != b'\n' {
            continue;
        }
        let line = stream.get(line_start..at)?;
        if line_start > 0 && matches!(line, b"" | b"\r") {
            return stream.split_at_checked(at + 1);
        }
        line_start = at + 1;
    }
    None
}

/// Judges what came under a success: `answer.body` is one event of a stream, or one JSON body.
pub fn judge_event(answer: &Answer<'_>) -> Look {
    let _ = answer;
    Look::Innocent
}
