//! What Weir would have done, had the surroundings allowed it, and which setting to change.

/// Something Weir would have done, had the surroundings allowed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Avoided {
    /// A retry: the client was still sending the request. `envoy.filters.http.buffer` after the gate
    /// removes the case.
    RequestIncomplete,
    /// A retry: the refusal's body is larger than may be held.
    BodyOverCap,
    /// Reading a refusal's body: it did not end in time.
    BodyWithoutEnd,
    /// Reading an answer's body: `allow_on_headers_stop_iteration` is not set on the attempt half.
    NoStopIteration,
    /// A hold: as many calls are held as may be.
    HoldsFull,
    /// A hold: another attempt of the same call is held already.
    HoldTaken,
    /// Anything after the first start: the attempt half is not installed.
    NoAttemptHalf,
    /// Queueing first starts: the gate half is not installed.
    NoGateHalf,
    /// A retry: the gate has made as many as its recent calls allow.
    RetryBudget,
    /// A retry: the route's timeout leaves no time for it.
    RouteTimeout,
    /// A retry: the route's timeout for each try leaves no time to wait for it.
    PerTryTimeout,
    /// A retry that was granted: the cluster takes no more of them.
    BreakerFull,
    /// A retry that was granted: Envoy had given up keeping the request.
    BodyNotKept,
    /// A retry that was granted: the route has used up those the call may have.
    RetriesUsed,
    /// Keeping to what a client said of its patience: it cannot be read.
    PatienceUnreadable,
    /// Remembering what a call had used of its budget: too many others had to be.
    RepeatsFull,
}

impl Avoided {
    /// Every kind.
    pub const ALL: [Avoided; 16] = [
        Avoided::RequestIncomplete,
        Avoided::BodyOverCap,
        Avoided::BodyWithoutEnd,
        Avoided::NoStopIteration,
        Avoided::HoldsFull,
        Avoided::HoldTaken,
        Avoided::NoAttemptHalf,
        Avoided::NoGateHalf,
        Avoided::RetryBudget,
        Avoided::RouteTimeout,
        Avoided::PerTryTimeout,
        Avoided::BreakerFull,
        Avoided::BodyNotKept,
        Avoided::RetriesUsed,
        Avoided::PatienceUnreadable,
        Avoided::RepeatsFull,
    ];

    /// The name used in stats and logs.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// A line for the log: what happened, and what to change.
    pub fn advice(self, policy: &str) -> String {
        let (kind, advice) = self.words();
        [
            r#"{"weir":"avoided","policy":""#,
            policy,
            r#"","kind":""#,
            kind,
            r#"","advice":""#,
            advice,
            r#""}"#,
        ]
        .concat()
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Avoided::RequestIncomplete => (
                "request_incomplete",
                "a refusal came before the request was sent and was not retried: put \
                 envoy.filters.http.buffer after the gate",
            ),
            Avoided::BodyOverCap => (
                "body_over_cap",
                "a refusal with a body over 16 KiB was not retried",
            ),
            Avoided::BodyWithoutEnd => (
                "body_without_end",
                "the body of a refusal did not end within 1 s: it was classified from its beginning",
            ),
            Avoided::NoStopIteration => (
                "no_stop_iteration",
                "the body of an answer was not shown while its headers were kept back: set \
                 allow_on_headers_stop_iteration on the attempt half",
            ),
            Avoided::HoldsFull => (
                "holds_full",
                "a refusal was not retried because max_waiting calls are held already",
            ),
            Avoided::HoldTaken => (
                "hold_taken",
                "a refusal was not retried because another attempt of its call is held: turn off \
                 hedging on the route",
            ),
            Avoided::NoAttemptHalf => (
                "no_attempt_half",
                "an answer came past no attempt half: install it in the cluster's or the router's \
                 upstream filters, or nothing is retried",
            ),
            Avoided::NoGateHalf => (
                "no_gate_half",
                "an attempt came past no gate half: install it in the listener's filters, or nothing \
                 is queued",
            ),
            Avoided::RetryBudget => (
                "retry_budget",
                "a refusal was not retried because retries have used their share of recent calls: \
                 lower the rate or the cap, or raise retry.retry_ratio_percent or \
                 retry.retry_ratio_min_per_second",
            ),
            Avoided::RouteTimeout => (
                "route_timeout",
                "a refusal was not retried because the route's timeout would have passed: raise the \
                 route's timeout, and set no per_try_timeout",
            ),
            Avoided::PerTryTimeout => (
                "per_try_timeout",
                "a refusal was not retried because the route's per_try_timeout runs while it is held: \
                 set no per_try_timeout and no per_try_idle_timeout",
            ),
            Avoided::BreakerFull => (
                "breaker_full",
                "a granted retry was not made because the cluster's circuit breaker is full: raise \
                 max_retries in circuit_breakers, or retry_budget",
            ),
            Avoided::BodyNotKept => (
                "body_not_kept",
                "a granted retry was not made because Envoy no longer had the request: raise \
                 request_body_buffer_limit on the route or virtual host",
            ),
            Avoided::RetriesUsed => (
                "retries_used",
                "a granted retry was not made because the route's own retry policy had used up the \
                 call's retries: remove that policy",
            ),
            Avoided::PatienceUnreadable => (
                "patience_unreadable",
                "a client's timeout was ignored because it cannot be read: grpc-timeout is a number \
                 and one of HMSmun, x-stainless-read-timeout, x-stainless-timeout and \
                 x-request-timeout are seconds, patience_header is milliseconds",
            ),
            Avoided::RepeatsFull => (
                "repeats_full",
                "what a call had used of its budget was forgotten because too many others were to be \
                 remembered: should its client repeat it, its budget begins anew",
            ),
        }
    }
}
