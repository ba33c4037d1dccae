//! The limits that a throttled call has exceeded, as DynamoDB reports them.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::scan::ScanError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::aws::classify;
use crate::contract::{Answer, ThrottlingReason, Verdict};

/// An error of a call that reports which limits the call has exceeded.
pub(super) trait Throttled: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static {
    /// The limits in the types of the SDK.
    fn reasons(&self) -> &[types::ThrottlingReason];
}

macro_rules! throttled {
    ($($error:ident)*) => {$(
        impl Throttled for $error {
            fn reasons(&self) -> &[types::ThrottlingReason] {
                match self {
                    Self::ProvisionedThroughputExceededException(error) => error.throttling_reasons(),
                    Self::RequestLimitExceeded(error) => error.throttling_reasons(),
                    Self::ThrottlingException(error) => error.throttling_reasons(),
                    _ => &[],
                }
            }
        }
    )*};
}

throttled! {
    BatchGetItemError BatchWriteItemError DeleteItemError PutItemError QueryError ScanError TransactWriteItemsError
    UpdateItemError
}

/// The meaning of a failed call for its entries, with the limits that it has exceeded.
pub(super) fn of_call<E: Throttled>(error: SdkError<E, HttpResponse>) -> Answer {
    let reported = error.as_service_error().map_or(&[][..], Throttled::reasons);
    let reasons: Vec<_> = reported.iter().filter_map(reason).collect();
    match classify(error) {
        Answer::Whole(Verdict::Rejected(rejection, fault)) if !reasons.is_empty() => {
            Answer::Whole(Verdict::Rejected(rejection, fault.throttled_by(reasons)))
        }
        answer => answer,
    }
}

fn reason(reported: &types::ThrottlingReason) -> Option<ThrottlingReason> {
    let resource = reported.resource().and_then(without_account);
    Some(ThrottlingReason {
        reason: reported.reason()?.to_owned(),
        resource: resource.map(str::to_owned),
    })
}

/// The part of an ARN after the account id; `None` if it is not an ARN, because the text may then be anything.
fn without_account(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:")?.splitn(5, ':').nth(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_throttled_resource_is_named_without_its_account() {
        let arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/index/by_year";
        assert_eq!(without_account(arn), Some("table/orders/index/by_year"));
        assert_eq!(without_account("123456789012"), None);
        assert_eq!(without_account("arn:aws:dynamodb"), None);
    }
}
