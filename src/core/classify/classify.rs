use super::decide::{Case, Decision};
use super::facts::{Facts, Shape};
use super::frames::{self, Event};
use super::profiles::{self, Kind, Profile, Spoken, spoken};
use super::status::{Trust, may_pass};
use super::words::Words;
use super::{
    Answer, Class, Confidence, Evidence, Provider, Scope, StatedLimits, Verdict, decode, detect,
    numbers, wait,
};

/// Says whether an answer is a refusal, of which class, and how long the provider asks to wait.
///
/// Takes any bytes: time is linear in the body's length, memory a small multiple of it. Of a body, no
/// more than 16 KiB are looked at.
pub fn classify(answer: &Answer<'_>) -> Verdict {
    let body = answer.body.get(..MAX_BODY).unwrap_or(answer.body);
    let answer = &Answer { body, ..*answer };
    let document = decode::document(answer);
    if let Some(verdict) = super::rule::tried(answer, &document) {
        return verdict;
    }
    match Trust::of(answer.status) {
        Trust::None => other(answer),
        Trust::Success => in_success(answer, &document),
        trust => judge(answer, trust, &in_refusal(answer, &document)),
    }
}

/// How much of a body is looked at.
const MAX_BODY: usize = 16 * 1024;

/// No refusal.
fn other(answer: &Answer<'_>) -> Verdict {
    Verdict {
        retryable: may_pass(answer.status),
        profile: name_of(answer),
        evidence: Evidence::status(answer.status),
        ..Verdict::NOT_A_REFUSAL
    }
}

/// What the body of an error says.
fn in_refusal(answer: &Answer<'_>, document: &[u8]) -> Facts {
    let mut facts = Facts::default();
    for value in answer.header("x-amzn-errortype") {
        facts.code(
            "header:x-amzn-errortype",
            &String::from_utf8_lossy(value),
            false,
        );
    }
    let start = document.trim_ascii_start();
    if frames::is_binary_stream(document) {
        for exception in frames::exceptions(document) {
            facts.exception(&exception);
        }
    } else if frames::is_stream(document) {
        for event in frames::events(document) {
            facts.read_json(&event.data, false);
        }
    } else if is_json(start) {
        facts.read_json(start, false);
    } else {
        facts.read_text(start);
    }
    facts.settle(true);
    facts
}

/// Whether a document is JSON rather than text that begins with a bracket.
fn is_json(document: &[u8]) -> bool {
    match document.split_first() {
        Some((b'{' | b'"', _)) => true,
        Some((b'[', rest)) => {
            let rest = rest.trim_ascii_start();
            matches!(rest.first(), None | Some(b'{' | b'"' | b'[' | b']'))
        }
        _ => false,
    }
}

/// Judges a success: any error in it counts, whether it is the body or an event of it.
fn in_success(answer: &Answer<'_>, document: &[u8]) -> Verdict {
    if frames::is_binary_stream(document) {
        let mut exceptions = frames::exceptions(document).map(|exception| {
            let mut facts = Facts::default();
            facts.exception(&exception);
            facts.settle(true);
            judge(answer, Trust::Success, &facts)
        });
        return exceptions.next().unwrap_or(other(answer));
    }
    if frames::is_stream(document) {
        let errors = frames::events(document).filter_map(|event| in_event(answer, &event));
        // A refusal rather than an error of another kind, the first of each.
        let found = errors.reduce(|first, next| match first.refusal || !next.refusal {
            true => first,
            false => next,
        });
        return found.unwrap_or(other(answer));
    }
    let start = document.trim_ascii_start();
    // A body that is not whole may still turn out to be an answer.
    if !answer.is_whole || !is_json(start) {
        return other(answer);
    }
    in_json(answer, start, false).unwrap_or(other(answer))
}

/// The verdict on an event of a stream under a success, if it is an error.
pub(super) fn in_event(answer: &Answer<'_>, event: &Event) -> Option<Verdict> {
    let is_error = event.name == b"error" || event.status.is_some_and(|status| status >= 400);
    let answer = Answer {
        status: event.status.filter(|_| is_error).unwrap_or(answer.status),
        ..*answer
    };
    in_json(&answer, &event.data, is_error)
}

/// The verdict on JSON under a success, if it is an error.
pub(super) fn in_json(answer: &Answer<'_>, json: &[u8], is_error: bool) -> Option<Verdict> {
    let mut facts = Facts::default();
    facts.read_json(json, false);
    let is_spark = facts.shape.has(Shape::SID)
        && facts.shape.has(Shape::TOP_CODE_IS_NUMBER)
        && !facts
            .codes
            .iter()
            .any(|code| code.place == "body:code" && code.text == "0");
    facts.settle(is_error || is_spark);
    let is_error = is_error || is_spark || facts.has_error();
    is_error.then(|| judge(answer, Trust::Success, &facts))
}

fn judge(answer: &Answer<'_>, trust: Trust, facts: &Facts) -> Verdict {
    let mut words = Words::default();
    for message in &facts.messages {
        match trust {
            Trust::Error => words.add_unquoted(&message.text),
            _ => words.add(&message.text),
        }
    }
    let spoken = spoken(&words);
    let limits = numbers::stated(facts.messages.iter().map(|message| message.text.as_str()));
    let found = [
        detect::named(name_of(answer).name()),
        detect::by_shape(facts).and_then(detect::named),
    ];
    let profiles: Vec<&'static Profile> = found.into_iter().flatten().collect();
    let case = Case {
        status: answer.status,
        trust,
        facts,
        headers: answer.headers,
        profiles: &profiles,
        words: &words,
        spoken: &spoken,
        limits,
    };
    let decision = case.decide();
    finish(answer, &case, decision)
}

/// Adds to a decision what follows from it.
fn finish(answer: &Answer<'_>, case: &Case<'_>, decision: Decision) -> Verdict {
    let Decision {
        mut class,
        mut confidence,
        mut evidence,
        ..
    } = decision;
    let profile = shown_profile(answer, case, decision.profile);
    if class == Class::Other {
        let should = header_says(answer);
        return Verdict {
            retryable: should.unwrap_or(decision.may_pass || may_pass(answer.status)),
            confidence,
            profile,
            evidence,
            retry_evidence: should.map(|_| SHOULD_RETRY),
            ..Verdict::NOT_A_REFUSAL
        };
    }
    let zone = case.profiles.iter().map(|profile| profile.zone_hours);
    let zone = zone.max_by_key(|hours| hours.abs()).unwrap_or(0);
    let wait = wait::server_minimum(answer.headers, case.facts, answer.now_ms, zone, None);
    let long_wait = case
        .profiles
        .iter()
        .map(|profile| profile.long_wait_s)
        .min();
    let is_long = wait.is_some_and(|wait| {
        wait.is_asked && wait.ms >= u64::from(long_wait.unwrap_or(u32::MAX)).saturating_mul(1000)
    });
    if class == Class::Rate && is_long {
        class = Class::QuotaExhausted;
        confidence = Confidence::Status;
        evidence = wait.map_or(evidence, |wait| wait.evidence);
    }
    let (retryable, retry_evidence) = retry(answer, case, class);
    let never_fits = class == Class::Rate && !retryable && retry_evidence != Some(SHOULD_RETRY);
    Verdict {
        refusal: true,
        class,
        retryable,
        wait_ms: wait.map(|wait| wait.ms),
        scope: match never_fits {
            true => Scope::Request,
            false => scope(class, case),
        },
        confidence,
        profile,
        limits: case.limits.map(|limits| StatedLimits {
            unit: numbers::unit(class, case.words),
            ..limits
        }),
        evidence,
        wait_evidence: wait.map(|wait| wait.evidence),
        retry_evidence,
    }
}

const SHOULD_RETRY: Evidence = Evidence::word("header", "x-should-retry");

/// What the provider itself says of retries.
fn header_says(answer: &Answer<'_>) -> Option<bool> {
    match answer.header("x-should-retry").last()?.trim_ascii() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// Whether sending it again can succeed, and what says so if it is not the class.
fn retry(answer: &Answer<'_>, case: &Case<'_>, class: Class) -> (bool, Option<Evidence>) {
    if !class.is_retryable() {
        return (false, None);
    }
    if class == Class::Rate {
        if case
            .limits
            .is_some_and(|limits| numbers::can_never_fit(&limits))
        {
            return (
                false,
                Some(Evidence::word("body:message", "requested > limit")),
            );
        }
        if let Some(phrase) = case.spoken.of(Kind::TooLarge) {
            return (false, Some(Evidence::word("body:message", phrase)));
        }
        if answer.status == 413 {
            return (false, Some(Evidence::status(413)));
        }
    }
    match header_says(answer) {
        Some(false) => (false, Some(SHOULD_RETRY)),
        _ => (true, None),
    }
}

fn scope(class: Class, case: &Case<'_>) -> Scope {
    let mut codes = Words::default();
    for code in &case.facts.codes {
        codes.add(&code.text);
    }
    let codes: Spoken = spoken(&codes);
    let speaks = |kind| case.spoken.of(kind).or(codes.of(kind)).is_some();
    match class {
        Class::Other => Scope::Request,
        _ if speaks(Kind::OfKey) => Scope::Key,
        Class::QuotaExhausted => Scope::Account,
        _ if speaks(Kind::OfModel) => Scope::Model,
        Class::Overloaded => Scope::Provider,
        _ => Scope::Account,
    }
}

/// The name of the profile that was asked for, or that the host belongs to.
pub(super) fn name_of(answer: &Answer<'_>) -> Provider {
    match (answer.provider, answer.host) {
        (Provider::AUTO, Some(host)) => detect::by_host(host)
            .and_then(Provider::named)
            .unwrap_or(Provider::AUTO),
        (provider, _) => provider,
    }
}

fn shown_profile(
    answer: &Answer<'_>,
    case: &Case<'_>,
    decided: Option<&'static Profile>,
) -> Provider {
    let asked = name_of(answer);
    let is_asked = |profile: &Profile| profile.names.contains(&asked.name());
    let named = |name: &str| Provider::named(name);
    match decided {
        Some(profile) if !is_asked(profile) => profile.names.first().and_then(|name| named(name)),
        Some(_) => None,
        None if asked == Provider::AUTO => detect::by_shape(case.facts)
            .or_else(|| detect::by_look(case.facts))
            .and_then(named),
        None => None,
    }
    .unwrap_or(asked)
}

/// Whether answers of this provider are worth a look under a success: it is known to refuse there.
///
/// `auto` goes by the host.
pub fn looks_into_success(provider: Provider, host: Option<&[u8]>) -> bool {
    let answer = Answer {
        provider,
        host,
        ..Answer::of_status(200)
    };
    detect::named(name_of(&answer).name()).is_some_and(|profile| profile.looks_into_success)
}

/// How many concurrent calls a server of this kind is known to work on at a time.
pub(super) fn declared_concurrency(name: &str) -> u16 {
    profiles::all()
        .find(|profile| profile.names.contains(&name))
        .map_or(0, |profile| profile.concurrency)
}
