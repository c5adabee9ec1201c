//! AWS Bedrock: the type stands in the header `x-amzn-errortype`, in `__type`, or in the header
//! `:exception-type` of a frame of an event stream.

use super::{BUSY, PASSES, PLAIN, Profile, QUOTA, RATE, weak};

pub(super) const PROFILES: &[Profile] = &[Profile {
    names: &["aws-bedrock"],
    hosts: &["amazonaws.com", "api.aws"],
    codes: &[
        ("ServiceQuotaExceededException", QUOTA),
        ("ModelNotReadyException", BUSY),
        ("ServiceUnavailableException", BUSY),
        ("ProvisionedThroughputExceededException", RATE),
        ("ThrottlingException", weak(RATE)),
        ("TooManyRequestsException", weak(RATE)),
        ("LimitExceededException", weak(RATE)),
        ("InternalServerException", PASSES),
        ("ModelStreamErrorException", PASSES),
        ("ModelTimeoutException", PASSES),
    ],
    ..PLAIN
}];
