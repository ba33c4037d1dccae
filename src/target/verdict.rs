//! Error codes and what they mean for the entries, for all services in one place.
//!
//! A code decides wherever it is known. What else an error says of itself (the HTTP status, SQS's `SenderFault`) is asked
//! only for codes that are not: SQS reports throttles as the sender's fault.

use std::borrow::Cow;
use std::error::Error;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::{ConnectorError, DispatchFailure, SdkError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::ErrorKind;

use super::answer::{Answer, Fault, Rejection, Verdict};

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Nothing was applied; the entries are sent again.
    Rejected(Rejection),
    /// The entries may have been applied; they are sent again.
    Unclear(Rejection),
    /// Sending the same entries again cannot help.
    Refused,
    /// No call can succeed, whatever it carries.
    Stop,
}

/// Too much at the moment, and nothing of the call or entry was applied. Thrown by DynamoDB only if it could process
/// nothing at all.
const THROTTLES: &[&str] = &[
    "BandwidthLimitExceeded",
    "KMS.ThrottlingException",
    "KmsThrottled",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// The service failed, perhaps after it had done its work.
const FAILURES: &[&str] = &[
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "ServiceUnavailable",
    "ServiceUnavailableException",
];

/// Another writer was faster: a replica in another region, a transaction. It is over in a moment, and nothing was applied.
const CONFLICTS: &[&str] = &[
    "ReplicatedWriteConflictException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// The service did not get the whole request in time.
const CONNECTIONS: &[&str] = &["RequestTimeout", "RequestTimeoutException"];

/// What the SDK puts right by itself before one of the next calls: it fetches fresh credentials, sets its clock by the
/// answer's `Date` (a wrong clock shows as a wrong signature), finds the endpoint again.
const SETUPS: &[&str] = &[
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidEndpointException",
    "InvalidSignatureException",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
];

/// The entries themselves are at fault, or their number and sum.
const REFUSALS: &[&str] = &[
    "BatchEntryIdsNotDistinct",
    "BatchRequestTooLong",
    "EmptyBatchRequest",
    "InvalidAttributeValue",
    "InvalidBatchEntryId",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "InvalidParameterValueException",
    "ItemCollectionSizeLimitExceededException",
    "MissingParameter",
    "MissingRequiredParameterException",
    "RequestEntityTooLarge",
    "SerializationException",
    "TooManyEntriesInBatchRequest",
    "ValidationException",
];

/// The same for every call: no permission, no such table or queue, credentials that never were valid.
///
/// `UnsupportedOperation` is among them since it speaks of the operation on this queue and not of the entries: looking for a
/// guilty entry would cost calls and find none.
const STOPS: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidAction",
    "InvalidAddress",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "NoSuchBucket",
    "NonExistentQueue",
    "NotAuthorized",
    "OptInRequired",
    "PermanentRedirect",
    "QueueDeletedRecently",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
    "UnknownOperationException",
    "UnrecognizedClientException",
    "UnsupportedOperation",
];

/// The key that encrypts the queue: disabled, deleted, not permitted. SQS spells its codes both ways.
const KEY_PREFIXES: &[&str] = &["KMS.", "Kms"];

const MEANINGS: &[(&[&str], Meaning)] = &[
    (THROTTLES, Meaning::Rejected(Rejection::Throttled)),
    (FAILURES, Meaning::Unclear(Rejection::Transient)),
    (CONFLICTS, Meaning::Rejected(Rejection::Transient)),
    (CONNECTIONS, Meaning::Unclear(Rejection::Connection)),
    (SETUPS, Meaning::Rejected(Rejection::Setup)),
    (REFUSALS, Meaning::Refused),
    (STOPS, Meaning::Stop),
];

/// What a failed call means for its entries.
pub(crate) fn of_call<E>(error: SdkError<E, HttpResponse>) -> Answer
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (meaning, fault) = of_error(error);
    match meaning {
        Meaning::Rejected(rejection) => Answer::Whole(Verdict::Rejected(rejection, fault)),
        Meaning::Unclear(rejection) => Answer::Whole(Verdict::Rejected(rejection, fault.may_have_been_applied())),
        Meaning::Refused => Answer::Whole(Verdict::Refused(fault)),
        Meaning::Stop => Answer::Stop(fault),
    }
}

/// What it means for a message that its body could not be put where it has to be before the message is sent.
///
/// So the queue does not have it, whatever became of the upload. And what every later upload shares concerns no message that
/// needs none: it stops no delivery.
#[cfg(feature = "s3-offload")]
pub(crate) fn of_upload<E>(error: SdkError<E, HttpResponse>) -> Verdict
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (meaning, fault) = of_error(error);
    match meaning {
        Meaning::Rejected(Rejection::Setup) => Verdict::Rejected(Rejection::Transient, fault),
        Meaning::Rejected(rejection) | Meaning::Unclear(rejection) => Verdict::Rejected(rejection, fault),
        Meaning::Refused | Meaning::Stop => Verdict::Refused(fault),
    }
}

fn of_error<E>(error: SdkError<E, HttpResponse>) -> (Meaning, Fault)
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (meaning, code) = match &error {
        SdkError::ConstructionFailure(_) => (Meaning::Stop, "request not built".into()),
        SdkError::TimeoutError(_) => (Meaning::Unclear(Rejection::Connection), "timeout".into()),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            (Meaning::Unclear(Rejection::Connection), "connection timeout".into())
        }
        SdkError::DispatchFailure(failure) if failure.is_user() => (Meaning::Stop, "request not valid".into()),
        SdkError::DispatchFailure(failure) if failure.is_io() || had_connection(failure) => {
            (Meaning::Unclear(Rejection::Connection), "connection failed".into())
        }
        SdkError::DispatchFailure(_) => (Meaning::Rejected(Rejection::Setup), "request not sent".into()),
        SdkError::ResponseError(_) => (Meaning::Unclear(Rejection::Connection), "answer cut short".into()),
        SdkError::ServiceError(answer) => of_service(answer.err().code(), answer.raw().status().as_u16()),
        // The SDK may tell more kinds of failure apart one day. Sending again loses nothing.
        _ => (Meaning::Unclear(Rejection::Transient), "unknown failure".into()),
    };
    (meaning, Fault::new(code).caused_by(error))
}

/// Whether the request had a connection, so that it may have reached the service. A connection that closed instead of an
/// answer is for the HTTP client neither I/O nor a timeout but something other, of a passing kind.
fn had_connection(failure: &DispatchFailure) -> bool {
    let connection = failure
        .as_connector_error()
        .and_then(ConnectorError::connection_metadata);
    failure.as_other() == Some(ErrorKind::TransientError) || connection.is_some()
}

/// What SQS's `Failed` means for one entry.
#[cfg(feature = "sqs")]
pub(crate) fn of_entry(code: &str, sender_fault: bool, message: Option<&str>) -> Verdict {
    let code = short(code);
    let meaning = known(code).unwrap_or(if sender_fault {
        Meaning::Refused
    } else {
        Meaning::Unclear(Rejection::Transient)
    });
    let mut fault = Fault::new(code.to_owned());
    if let Some(message) = message {
        fault = fault.caused_by(message);
    }
    match meaning {
        Meaning::Rejected(rejection) => Verdict::Rejected(rejection, fault),
        Meaning::Unclear(rejection) => Verdict::Rejected(rejection, fault.may_have_been_applied()),
        // What an entry is told holds for this entry: its neighbours may have been accepted by the same answer.
        Meaning::Refused | Meaning::Stop => Verdict::Refused(fault),
    }
}

/// What an error answer means, by its code or else by its HTTP status.
fn of_service(code: Option<&str>, status: u16) -> (Meaning, Cow<'static, str>) {
    let Some(code) = code.map(short).filter(|code| !code.is_empty()) else {
        let meaning = match status {
            // The service says "done", in words that cannot be read.
            200..=299 => return (Meaning::Unclear(Rejection::Transient), "unreadable answer".into()),
            400 => Meaning::Refused,
            // The service always gives its code. This is someone before it: a proxy, a firewall, a wrong endpoint.
            _ => by_status(status).unwrap_or(Meaning::Rejected(Rejection::Setup)),
        };
        return (meaning, format!("HTTP {status}").into());
    };
    let meaning = known(code)
        .or_else(|| by_status(status))
        .unwrap_or(if (400..=499).contains(&status) {
            Meaning::Refused
        } else {
            Meaning::Unclear(Rejection::Transient)
        });
    (meaning, code.to_owned().into())
}

fn known(code: &str) -> Option<Meaning> {
    let listed = MEANINGS.iter().find(|(codes, _)| codes.contains(&code));
    let of_key = || KEY_PREFIXES.iter().any(|prefix| code.starts_with(prefix));
    listed
        .map(|(_, meaning)| *meaning)
        .or_else(|| of_key().then_some(Meaning::Stop))
}

fn by_status(status: u16) -> Option<Meaning> {
    match status {
        408 => Some(Meaning::Unclear(Rejection::Connection)),
        413 => Some(Meaning::Refused),
        429 => Some(Meaning::Rejected(Rejection::Throttled)),
        500..=599 => Some(Meaning::Unclear(Rejection::Transient)),
        _ => None,
    }
}

/// The code without its namespace: SQS writes `AWS.SimpleQueueService.NonExistentQueue` as well as `NonExistentQueue`.
/// `KMS.` stays, since the rest of such a code means something else without it.
fn short(code: &str) -> &str {
    let code = code.rsplit('#').next().unwrap_or(code);
    let name = code.rsplit('.').next().unwrap_or(code);
    let of_key = code.len() - name.len();
    match code[..of_key].strip_suffix("KMS.") {
        Some(namespace) => &code[namespace.len()..],
        None => name,
    }
}

#[cfg(test)]
mod tests;
