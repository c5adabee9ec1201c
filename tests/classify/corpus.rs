//! Every answer has its class, its retryability and its wait.

use weir::core::classify::Provider;

use crate::cases::{Case, corpus};

/// Cases that the classifier is known to judge otherwise, and why.
const DEVIATIONS: &[(&str, &str)] = &[];

fn check(cases: &[Case], as_auto: bool) {
    let mut missed = Vec::new();
    for case in cases {
        let verdict = match as_auto {
            true => case.classify_as(Provider::AUTO, &case.body()),
            false => case.classify(),
        };
        let misses = case.misses(&verdict);
        let is_known = DEVIATIONS.iter().any(|(id, _)| *id == case.id);
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

/// The envelope tells whose numbers and words they are.
#[test]
fn the_profile_need_not_be_named() {
    check(&corpus(), true);
}
