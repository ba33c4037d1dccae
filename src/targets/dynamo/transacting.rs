//! A transaction that a token recognizes when it is sent again.

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::attempts::Attempts;
use super::calls::Calls;
use super::reply::Reply;
use crate::targets::{Answer, Fault, Verdict};

/// How many times the write units of its writes a transaction consumes. From the developer guide of DynamoDB.
pub(super) const TRANSACTION: usize = 2;

/// Makes all of the actions or none, once for all attempts. Returns what the answer means, and the consumed units.
///
/// A condition that fails after a lost answer has failed: if the lost attempt had been applied, its token would be recognized, and the
/// answer would be that of the attempt.
pub(super) async fn transact(
    calls: &Calls,
    attempts: &Attempts,
    actions: Vec<TransactWriteItem>,
) -> (Answer, Option<f64>) {
    let Some(token) = attempts.token() else {
        return (token_expired(), None);
    };
    let attempt = attempts.begin();
    let (answer, units) = match calls.transact(actions, &token).await {
        Reply::Applied(units) => (Answer::Whole(Verdict::Accepted), units),
        Reply::ConditionFailed(failed) => {
            attempts.failed(failed);
            (Answer::Whole(Verdict::ConditionFailed), None)
        }
        Reply::Failed(answer) => (answer, None),
    };
    attempts.end(attempt, &answer);
    (answer, units)
}

/// The entry is handed back, because its token may no longer be recognized.
fn token_expired() -> Answer {
    let fault = Fault::new("request token expired")
        .explained("an attempt whose answer was lost lies so far back that the next one might be applied as well")
        .may_have_been_applied();
    // The verdict on the entry, not a refusal of a call.
    Answer::Each(vec![Verdict::Refused(fault)])
}
