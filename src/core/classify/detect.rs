//! Whose answer it is: by name, by host, by the shape of the envelope.

use super::facts::{Facts, Shape};
use super::profiles::{self, Profile};

/// The profile of a name.
pub(super) fn named(name: &str) -> Option<&'static Profile> {
    profiles::all().find(|profile| profile.names.contains(&name))
}

/// The name of the profile whose host this is.
pub(super) fn by_host(host: &[u8]) -> Option<&'static str> {
    let host = std::str::from_utf8(host).ok()?;
    let host = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let profile =
        profiles::all().find(|profile| profile.hosts.iter().any(|own| is_under(host, own)))?;
    profile.names.first().copied()
}

/// Whether a host is this domain or one below it, or one whose first label ends so, as Vertex has
/// `us-central1-aiplatform.googleapis.com`.
fn is_under(host: &str, domain: &str) -> bool {
    let Some(at) = host.len().checked_sub(domain.len()) else {
        return false;
    };
    let is_end = host
        .get(at..)
        .is_some_and(|end| end.eq_ignore_ascii_case(domain));
    is_end
        && (at == 0
            || host
                .get(..at)
                .is_some_and(|head| head.ends_with(['.', '-'])))
}

/// The name of the profile whose envelope this is, where its numbers or words need one.
pub(super) fn by_shape(facts: &Facts) -> Option<&'static str> {
    let has = |shape: Shape| facts.shape.has(shape);
    if has(Shape::BASE_RESP) {
        return Some("minimax");
    }
    if has(Shape::RESPONSE_ERROR) {
        return Some("tencent");
    }
    if has(Shape::HEADER_CODE) || (has(Shape::SID) && has(Shape::TOP_CODE_IS_NUMBER)) {
        return Some("iflytek-spark");
    }
    if has(Shape::ERROR_CODE) && has(Shape::ERROR_MSG) {
        return Some("baidu-qianfan");
    }
    let code = |test: &dyn Fn(&str) -> bool| facts.codes.iter().any(|code| test(&code.text));
    if code(&|code| code.starts_with("Throttling") && !code.starts_with("ThrottlingE"))
        || (has(Shape::REQUEST_ID) && has(Shape::CHAT_ID))
        || (code(&|code| code == "insufficient_quota") && says_alibaba(facts))
    {
        return Some("dashscope");
    }
    if code(&|code| matches!(code, "RESOURCE_EXHAUSTED" | "MODEL_CAPACITY_EXHAUSTED")) {
        return Some("gemini");
    }
    if code(&|code| code == "TooManyRequests") && has(Shape::ERROR_OBJECT) {
        return Some("volcano-ark");
    }
    if has(Shape::SOURCE) && code(&|code| code.len() == 6 && is_number(code)) {
        return Some("tencent");
    }
    let is_four =
        |code: &str, first: &str| code.len() == 4 && is_number(code) && code.starts_with(first);
    if has(Shape::TYPE_ERROR) && code(&|code| is_four(code, "20")) {
        return Some("minimax");
    }
    if code(&|code| is_four(code, "11") || is_four(code, "13")) {
        if has(Shape::ERROR_OBJECT) || code(&|code| is_four(code, "131")) || !has(Shape::TOP_CODE) {
            return Some("zhipu");
        }
        if has(Shape::TOP_CODE_IS_NUMBER) && has(Shape::REQUEST_ID) {
            return Some("kling");
        }
    }
    if has(Shape::SUCCESS) && has(Shape::ERRORS_LIST) {
        return Some("cloudflare");
    }
    if has(Shape::RAW_STATUS) {
        return Some("mistral");
    }
    if has(Shape::TOP_CODE_IS_NUMBER) && code(&|code| code.len() == 5 && is_number(code)) {
        return Some("siliconflow");
    }
    let is_flat = has(Shape::TOP_CODE) && has(Shape::STATUS) && !has(Shape::ERROR_OBJECT);
    if is_flat && !has(Shape::TOP_CODE_IS_NUMBER) && !has(Shape::REQUEST_ID) {
        return Some("dify");
    }
    None
}

/// Whether a message leads to Alibaba's help, or speaks in its words.
fn says_alibaba(facts: &Facts) -> bool {
    let marks = ["aliyun.com", "alibabacloud.com", "llocated quota exceeded"];
    let mut messages = facts.messages.iter();
    messages.any(|message| marks.iter().any(|mark| message.text.contains(mark)))
}

/// The name shown for a profile that was found by a shape which needs no table of its own.
pub(super) fn by_look(facts: &Facts) -> Option<&'static str> {
    let has = |shape: Shape| facts.shape.has(shape);
    if has(Shape::METADATA) {
        return Some("openrouter");
    }
    if has(Shape::EXCEPTION) {
        return Some("aws-bedrock");
    }
    if has(Shape::TYPE_ERROR) && has(Shape::ERROR_OBJECT) {
        return Some("anthropic");
    }
    None
}

fn is_number(code: &str) -> bool {
    code.bytes().all(|b| b.is_ascii_digit())
}
