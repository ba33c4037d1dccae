//! What became of a call that writes one item, or several in a transaction.

use aws_sdk_dynamodb::error::SdkError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::attempts::FailedCondition;
use crate::targets::Answer;

/// What became of a call that writes.
pub(super) enum Reply {
    /// Applied, with the units that it consumed if the answer tells.
    Applied(Option<f64>),
    /// Not applied, because these conditions do not hold.
    ConditionFailed(Vec<FailedCondition>),
    /// Anything else.
    Failed(Answer),
}

/// Whether the status is one by which the service refuses a call; with any other, the call may have been applied.
pub(super) fn is_refusal<E>(error: &SdkError<E, HttpResponse>) -> bool {
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    matches!(status, Some(400..=499))
}
