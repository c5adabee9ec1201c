//! What may happen, and how often.

use proptest::prelude::*;

use super::world::WORKERS;

/// One thing that happens. Numbers pick among those it can happen to.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Arrive {
        worker: usize,
        cluster: usize,
        header: usize,
        uploading: bool,
    },
    /// A call on a connection and under a configuration that drain.
    ArriveLate(usize),
    CompleteRequest(usize),
    Answer(usize, usize),
    Head(usize, usize),
    Part(usize, usize, bool),
    Trailers(usize),
    Abort(usize, bool),
    Hedge(usize),
    TryAgain(usize),
    LocalReply(usize),
    Run(u64),
    Jump(u64),
    Reload(usize),
    BackOff(u64),
    Break(bool),
    Block(usize, bool),
    Conflicts(u32),
    LoseWakes(bool),
    Dark(bool),
    /// One in so many host calls fails, drawn from a seed; none if 0.
    #[allow(dead_code, reason = "a host of the core alone has no such calls")]
    Fail(u64, u64),
}

pub(crate) fn calm() -> impl Strategy<Value = Op> {
    let n = 0usize..16;
    let arrive = (0..WORKERS, 0usize..2, 0usize..8, prop::bool::weighted(0.1)).prop_map(
        |(worker, cluster, header, uploading)| Op::Arrive {
            worker,
            cluster,
            header,
            uploading,
        },
    );
    prop_oneof![
        12 => arrive,
        1 => n.clone().prop_map(Op::ArriveLate),
        1 => n.clone().prop_map(Op::CompleteRequest),
        10 => (n.clone(), n.clone()).prop_map(|(n, which)| Op::Answer(n, which)),
        3 => (n.clone(), n.clone()).prop_map(|(n, which)| Op::Head(n, which)),
        3 => (n.clone(), 0usize..20_000, any::<bool>()).prop_map(|(n, s, e)| Op::Part(n, s, e)),
        1 => n.clone().prop_map(Op::Trailers),
        3 => (n.clone(), any::<bool>()).prop_map(|(n, first)| Op::Abort(n, first)),
        1 => n.clone().prop_map(Op::LocalReply),
        4 => (0u64..1200).prop_map(Op::Run),
        1 => (0u64..3000).prop_map(Op::Jump),
        1 => (0usize..4).prop_map(Op::Reload),
        1 => prop_oneof![Just(0u64), Just(25)].prop_map(Op::BackOff),
        1 => any::<bool>().prop_map(Op::Break),
    ]
}

/// Envoy starts attempts on its own.
pub(crate) fn hedged() -> impl Strategy<Value = Op> {
    let n = 0usize..16;
    prop_oneof![
        10 => calm(),
        1 => n.clone().prop_map(Op::Hedge),
        1 => n.prop_map(Op::TryAgain),
    ]
}

/// Wake-ups are lost, writes are beaten, threads are blocked.
pub(crate) fn rough() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => calm(),
        1 => (0..WORKERS, any::<bool>()).prop_map(|(w, blocked)| Op::Block(w, blocked)),
        1 => (0u32..4).prop_map(Op::Conflicts),
        1 => any::<bool>().prop_map(Op::LoseWakes),
    ]
}

/// And shared data may refuse every call.
pub(crate) fn dark() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => rough(),
        2 => hedged(),
        1 => any::<bool>().prop_map(Op::Dark),
    ]
}

pub(crate) fn runs(op: impl Strategy<Value = Op>) -> impl Strategy<Value = (Vec<Op>, u64, bool)> {
    (
        prop::collection::vec(op, 1..60),
        any::<u64>(),
        any::<bool>(),
    )
}
