//! Every answer has its class, its retryability and its wait.

use weir::core::classify::Provider;

use crate::cases::{Case, corpus, more};

/// Cases that the classifier is known to judge otherwise if nobody names the profile, and why.
const DEVIATIONS: &[(&str, &str)] = &[(
    "w-031",
    "nothing in it says that it is Google's, who call a rate a quota",
)];

fn check(cases: &[Case], as_auto: bool) {
    let mut missed = Vec::new();
    for case in cases {
        let verdict = match as_auto {
            true => case.classify_as(Provider::AUTO, &case.body()),
            false => case.classify(),
        };
        let misses = case.misses(&verdict);
        let is_known = as_auto && DEVIATIONS.iter().any(|(id, _)| *id == case.id);
        if misses.is_empty() == is_known {
            missed.push(format!("{} {misses:?}: {verdict:?}", case.id));
        }
    }
    assert!(missed.is_empty(), "{}\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_answer_is_read_for_what_it_is() {
    let cases = corpus();
    assert_eq!(cases.len(), 242);
    check(&cases, false);
}

#[test]
fn so_are_answers_that_came_later() {
    let cases = more();
    assert!(cases.len() > 250);
    check(&cases, false);
    check(&cases, true);
}

/// The envelope tells whose numbers and words they are.
#[test]
fn the_profile_need_not_be_named() {
    check(&corpus(), true);
}
