//! A failure in the service's words: its code, and why it throttles.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::ThrottlingReason;
use aws_sdk_dynamodb::types::error::{
    ProvisionedThroughputExceededException, RequestLimitExceeded, ThrottlingException, TransactionCanceledException,
};

/// Without a code, such as an error of HTTP.
const NO_CODE: &str = "no code";

/// The code and the reasons of an error of the service, without resources, whose names have the account.
pub(crate) fn code_of(code: Option<&str>, error: &(dyn Error + 'static)) -> String {
    let code = code.unwrap_or(NO_CODE);
    let source = error.source();
    let reasons = source.map(reasons).unwrap_or_default();
    if reasons.is_empty() {
        code.to_owned()
    } else {
        format!("{code} ({})", reasons.join(", "))
    }
}

fn reasons(error: &(dyn Error + 'static)) -> Vec<String> {
    let named = |reasons: &[ThrottlingReason]| {
        reasons
            .iter()
            .map(|reason| reason.reason().unwrap_or("no reason").to_owned())
            .collect()
    };
    if let Some(error) = error.downcast_ref::<ProvisionedThroughputExceededException>() {
        named(error.throttling_reasons())
    } else if let Some(error) = error.downcast_ref::<ThrottlingException>() {
        named(error.throttling_reasons())
    } else if let Some(error) = error.downcast_ref::<RequestLimitExceeded>() {
        named(error.throttling_reasons())
    } else if let Some(error) = error.downcast_ref::<TransactionCanceledException>() {
        error
            .cancellation_reasons()
            .iter()
            .map(|reason| reason.code().unwrap_or("no code").to_owned())
            .collect()
    } else {
        Vec::new()
    }
}

/// The same of a whole call.
pub(crate) fn of_call<E: ProvideErrorMetadata + Error + 'static>(error: &SdkError<E>) -> String {
    match error {
        SdkError::ServiceError(failed) => code_of(failed.err().code(), failed.err()),
        SdkError::TimeoutError(_) => "timeout".to_owned(),
        SdkError::DispatchFailure(failed) if failed.is_io() => "connection lost".to_owned(),
        SdkError::DispatchFailure(failed) if failed.is_timeout() => "timeout".to_owned(),
        SdkError::ResponseError(_) => "answer cut off".to_owned(),
        _ => "not sent".to_owned(),
    }
}
