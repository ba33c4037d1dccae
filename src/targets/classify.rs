//! The meaning of error codes for the entries of a call, for all services in one place.
//!
//! A known code decides. Everything else in an error (the HTTP status, `SenderFault` of SQS) counts only if the code is not
//! known: SQS reports throttles as the sender's fault.
//!
//! Whether the service may have the entries is decided separately. It does not have them if the request is known not to
//! have been sent, or if the service says so with a code and a status of 4xx. In all other cases it is in doubt.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::renewal::Used;
use super::transmission::named_wait;
use super::transmission::{Clock, Signature, is_unconnected, signature, unsent};
use super::{Answer, Fault, Rejection, Verdict};

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The entries are sent again.
    Rejected(Rejection),
    /// Sending the same entries again cannot help.
    Refused,
    /// Some of the entries may be refused, or all calls.
    Disputed,
    /// No call can succeed, whatever it carries.
    Stop,
}

/// Whether the service may have applied the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    Applied,
}

/// No capacity at the moment, and nothing of the call or entry was applied. DynamoDB returns such a code only if it could
/// process nothing at all.
///
/// `ServiceUnavailableException` of Firehose is one more: see `targets::firehose`.
const THROTTLES: &[&str] = &[
    // What the SDK retries as a throttle, for all services: `THROTTLING_ERRORS` in `aws-runtime`.
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    // SNS: the code of its `ThrottledException`, from the SDK's model.
    "Throttled",
    // The throttles of KMS, which the services pass on: SNS, Kinesis and SQS, from the SDK's models of `PublishBatch`, `PutRecords`
    // and `SendMessageBatch`; the one with a point is from SQS's API reference.
    "KMSThrottling",
    "KMSThrottlingException",
    "KmsThrottled",
    "KMS.ThrottlingException",
];

/// The service failed, perhaps after it had applied the entries.
///
/// This is so for a single entry, too: "If there is an internal server error or a timeout, the write might have completed or
/// it might have failed" (API reference of `PutRecordBatch`, whose records fail with `InternalFailure`), "an unknown error,
/// exception or failure" (of `PutEventsResultEntry`). The other services do not say that such an entry was not stored.
const FAILURES: &[&str] = &[
    // All services: the common errors of their API references.
    "InternalFailure",
    "ServiceUnavailable",
    // DynamoDB, SQS and SNS, Kinesis, EventBridge: the SDK's models of the calls.
    "InternalServerError",
    "InternalError",
    "InternalFailureException",
    "InternalException",
    // Of services in general, such as those behind a `BatchTarget` outside of this crate.
    "ServiceUnavailableException",
];

/// A conflict with another writer: a replica in another region, or a transaction. It passes within moments, and nothing was
/// applied.
const CONFLICTS: &[&str] = &[
    "ReplicatedWriteConflictException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

/// The service did not receive the whole request in time, or the connection was closed before its answer: the SDK's
/// `TRANSIENT_ERRORS`, and the common errors of the API references.
const CONNECTIONS: &[&str] = &["RequestAbortedException", "RequestTimeout", "RequestTimeoutException"];

/// The SDK corrects the reason itself before one of the next calls: it fetches fresh credentials, sets its clock by the
/// `Date` of the answer (a wrong clock shows as a wrong signature; with the right time, the secret is wrong), or resolves the
/// endpoint again.
const SETUPS: &[&str] = &[
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidEndpointException",
    "InvalidSignatureException",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
];

/// The entries themselves are at fault, or their number or total size. `UnsupportedOperation` may also mean an operation
/// that the queue does not know; then no entry is ever accepted.
///
/// From the SDK's models of the calls and the common errors of the API references; those of single entries from the API
/// references of `PutEventsResultEntry` and of SQS's actions for a single message.
const REFUSALS: &[&str] = &[
    "BatchEntryIdsNotDistinct",
    "BatchRequestTooLong",
    "EmptyBatchRequest",
    "InvalidAccountIdException",
    "InvalidArgument",
    "InvalidArgumentException",
    "InvalidAttributeValue",
    "InvalidBatchEntryId",
    "InvalidMessageContents",
    "InvalidParameter",
    "InvalidParameterValue",
    "InvalidParameterValueException",
    "ItemCollectionSizeLimitExceededException",
    "MalformedDetail",
    "MalformedHttpRequestException",
    "MessageNotInflight",
    "MissingParameter",
    "MissingRequiredParameterException",
    "NotAuthorizedForDetailTypeException",
    "NotAuthorizedForSourceException",
    "ParameterValueInvalid",
    "ReceiptHandleIsInvalid",
    "RedactionFailure",
    "RequestEntityTooLarge",
    "RequestEntityTooLargeException",
    "SerializationException",
    "TooManyEntriesInBatchRequest",
    "UnsupportedOperation",
    "ValidationError",
    "ValidationException",
];

/// The codes among these that refuse the size of the whole call.
const TOO_LARGE: &[&str] = &["BatchRequestTooLong", "RequestEntityTooLarge"];

/// Refused for some of the entries, or for all calls: a policy may deny single keys (`dynamodb:LeadingKeys`) or attributes.
const DISPUTES: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "NotAuthorized",
];

/// The same for every call: no such table, queue, stream or topic, credentials that were never valid, a client that asks only
/// whether the call would succeed (`DryRun` of Kinesis).
///
/// From the SDK's models of the calls and the common errors of the API references.
const STOPS: &[&str] = &[
    "AuthFailure",
    "DryRunOperationException",
    "EndpointDisabled",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidAccessKeyId",
    "InvalidAction",
    "InvalidAddress",
    "InvalidClientTokenId",
    "InvalidKMSResourceException",
    "InvalidSecurity",
    "InvalidSourceException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "NoSuchBucket",
    "NonExistentQueue",
    "NotFound",
    "OptInRequired",
    "PermanentRedirect",
    "PlatformApplicationDisabled",
    "QueueDeletedRecently",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
    "UnknownOperationException",
    "UnrecognizedClientException",
];

/// The codes among these that a wrong signing time may cause. The SDK retries them too, in addition to those in [`SETUPS`]:
/// `CLOCK_SKEW_ERROR_CODES` in `aws-runtime`.
const FORBIDDEN: &[&str] = &["AccessDenied", "AccessDeniedException", "AuthFailure"];

/// The credentials have expired.
const EXPIRED: &[&str] = &["ExpiredToken", "ExpiredTokenException"];

/// The service does not know the access key: it was never valid, or it was rotated and deleted. "Common Error Types" of each
/// service's API reference, and of S3 "Error responses".
const UNKNOWN_KEYS: &[&str] = &[
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
];

/// The signature does not match the request: the secret is wrong, or the time.
const WRONG_SIGNATURES: &[&str] = &["InvalidSignatureException", "SignatureDoesNotMatch"];

/// The request was signed too long ago, or in the future.
const WRONG_TIMES: &[&str] = &["RequestExpired", "RequestTimeTooSkewed"];

/// The key that encrypts the queue is disabled, deleted or not permitted. The services spell these codes in several ways:
/// `KMS.DisabledException`, `KmsDisabled`, `KMSDisabledException`.
const KEY_PREFIXES: &[&str] = &["KMS", "Kms"];

const MEANINGS: &[(&[&str], Meaning)] = &[
    (THROTTLES, Meaning::Rejected(Rejection::Throttled)),
    (FAILURES, Meaning::Rejected(Rejection::Transient)),
    (CONFLICTS, Meaning::Rejected(Rejection::Transient)),
    (CONNECTIONS, Meaning::Rejected(Rejection::Connection)),
    (SETUPS, Meaning::Rejected(Rejection::Setup)),
    (REFUSALS, Meaning::Refused),
    (DISPUTES, Meaning::Disputed),
    (STOPS, Meaning::Stop),
];

/// What a failed call of an AWS SDK means for the entries of its chunk, by the error code, the HTTP status, or the failure
/// to get an answer.
///
/// It knows the codes that all AWS services share, and those of DynamoDB, SQS, S3, Kinesis, Firehose, SNS and EventBridge.
/// With an unknown code, a status of 4xx is [disputed](Answer::Disputed), and any other status rejects the entries. The wait that
/// the answer names by `x-amz-retry-after` or `Retry-After` is in the [fault](Fault::named_wait).
///
/// Make the call without retries of the SDK and with the interceptor [`Transmission`](super::Transmission), which
/// distinguishes a call that was never sent from one whose answer is lost:
///
/// ```
/// # #[cfg(feature = "sqs")]
/// # mod example {
/// # use aws_batch_delivery::targets::Verdict;
/// use aws_batch_delivery::targets::{Answer, Transmission, classify};
/// use aws_sdk_sqs::config::retry::RetryConfig;
/// use aws_sdk_sqs::config::{Builder, Config};
/// # use aws_sdk_sqs::operation::delete_message_batch::DeleteMessageBatchOutput;
/// # use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;
///
/// /// Made once for each client: `Transmission` remembers what it has seen of the clock.
/// fn once() -> Builder {
///     Config::builder().retry_config(RetryConfig::disabled()).interceptor(Transmission::default())
/// }
///
/// # async fn send(client: &aws_sdk_sqs::Client, once: &Builder, entries: Vec<DeleteMessageBatchRequestEntry>) -> Answer {
/// let call = client.delete_message_batch().queue_url("…").set_entries(Some(entries));
/// match call.customize().config_override(once.clone()).send().await {
///     Ok(output) => Answer::Each(verdicts(&output)),
///     Err(error) => classify(error),
/// }
/// # }
/// # fn verdicts(_: &DeleteMessageBatchOutput) -> Vec<Verdict> {
/// #     Vec::new()
/// # }
/// # }
/// ```
///
/// `examples/own_target.rs` is a whole target.
pub fn classify<E>(error: SdkError<E, HttpResponse>) -> Answer
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (meaning, fault) = of_error(error);
    match meaning {
        Meaning::Rejected(rejection) => Answer::Whole(Verdict::Rejected(rejection, fault)),
        Meaning::Refused => Answer::Whole(Verdict::Refused(fault)),
        Meaning::Disputed => Answer::Disputed(fault),
        Meaning::Stop => Answer::Stop(fault),
    }
}

/// The verdict on a message whose body could not be uploaded before the message is sent.
///
/// The queue does not have the message, whatever happened to the upload. And a reason that every later upload shares does
/// not concern messages without an upload, so it does not stop the delivery.
#[cfg(feature = "s3-offload")]
pub(crate) fn of_upload<E>(error: SdkError<E, HttpResponse>) -> Verdict
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (meaning, fault) = of_error(error);
    let fault = fault.was_not_applied();
    match meaning {
        Meaning::Rejected(Rejection::Unconfigured) | Meaning::Refused | Meaning::Disputed | Meaning::Stop => {
            Verdict::Refused(fault)
        }
        Meaning::Rejected(Rejection::Setup) => Verdict::Rejected(Rejection::Transient, fault),
        Meaning::Rejected(rejection) => Verdict::Rejected(rejection, fault),
    }
}

fn of_error<E>(error: SdkError<E, HttpResponse>) -> (Meaning, Fault)
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let mut signature = Signature::default();
    let (meaning, doubt, code) = match &error {
        SdkError::ServiceError(answer) => {
            signature = self::signature(answer.raw());
            let code = answer.err().code();
            of_service(code, answer.raw().status().as_u16(), &signature)
        }
        SdkError::ConstructionFailure(_) => (
            Meaning::Rejected(Rejection::Unconfigured),
            Doubt::None,
            "request not built".into(),
        ),
        other => {
            let (rejection, doubt, code) = of_failure(other);
            (Meaning::Rejected(rejection), doubt, code.into())
        }
    };
    let wait = wait(&error, meaning);
    let explanation = explanation(&code, signature.clock);
    let message = error
        .as_service_error()
        .and_then(ProvideErrorMetadata::message)
        .map(str::to_owned);
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    let is_too_large = status == Some(413) || TOO_LARGE.contains(&&*code);
    let mut fault = Fault::new(code).caused_by(error);
    if is_too_large {
        fault = fault.for_the_size_of_the_call();
    }
    if let Some(message) = message {
        fault = fault.with_message(message);
    }
    if let Some(explanation) = explanation {
        fault = fault.explained(explanation);
    }
    if doubt == Doubt::Applied {
        fault = fault.may_have_been_applied();
    }
    (meaning, wait.into_iter().fold(fault, Fault::retry_after))
}

/// The wait that the service names in an answer by which it is throttled or fails.
fn wait<E>(error: &SdkError<E, HttpResponse>, meaning: Meaning) -> Option<Duration> {
    let is_due = matches!(meaning, Meaning::Rejected(Rejection::Throttled | Rejection::Transient));
    let answer = error
        .raw_response()
        .filter(|answer| is_due && !answer.status().is_success())?;
    named_wait(answer)
}

/// The meaning of a call without an answer.
///
/// An HTTP client may report any error after it has sent the request, so only known errors count as not sent.
fn of_failure<E>(error: &SdkError<E, HttpResponse>) -> (Rejection, Doubt, &'static str)
where
    E: Error + 'static,
{
    if let Some(unsent) = unsent(error) {
        let rejection = if unsent.is_passing {
            Rejection::Setup
        } else {
            Rejection::Unconfigured
        };
        return (rejection, Doubt::None, unsent.code);
    }
    if is_unconnected(error) {
        return (Rejection::Setup, Doubt::None, "no connection");
    }
    let code = match error {
        SdkError::TimeoutError(_) => "timeout",
        SdkError::DispatchFailure(failure) if failure.is_timeout() => "connection timeout",
        SdkError::DispatchFailure(_) => "connection failed",
        SdkError::ResponseError(_) => "answer cut short",
        // The SDK may add kinds of failures. Sending again loses nothing.
        _ => "unknown failure",
    };
    (Rejection::Connection, Doubt::Applied, code)
}

/// The verdict on an entry with an error code of its own in the answer to its call.
///
/// A [known](classify) code decides. With any other, the entry is refused if the service says that the sender is at fault
/// (`SenderFault` of SQS); otherwise it is sent again and is in doubt. For a service that does not tell whose fault it is,
/// `sender_fault` is false. The message is the [message](Fault::message) and the source of the
/// fault, because it may quote the entry.
///
/// ```
/// use aws_batch_delivery::targets::{Rejection, Verdict, classify_entry};
///
/// let verdict = classify_entry("ProvisionedThroughputExceededException", false, Some("Rate exceeded for shard"));
/// assert!(matches!(verdict, Verdict::Rejected(Rejection::Throttled, _)));
/// ```
pub fn classify_entry(code: &str, sender_fault: bool, message: Option<&str>) -> Verdict {
    let code = short(code);
    let (meaning, doubt) = known(code).unwrap_or(if sender_fault {
        (Meaning::Refused, Doubt::None)
    } else {
        (Meaning::Rejected(Rejection::Transient), Doubt::Applied)
    });
    let mut fault = Fault::new(code.to_owned());
    if let Some(message) = message {
        fault = fault.caused_by(message).with_message(message);
    }
    if doubt == Doubt::Applied {
        fault = fault.may_have_been_applied();
    }
    match meaning {
        Meaning::Rejected(rejection) => Verdict::Rejected(rejection, fault),
        // The code of an entry holds for this entry only; others may have been accepted by the same answer.
        Meaning::Refused | Meaning::Disputed | Meaning::Stop => Verdict::Refused(fault),
    }
}

/// The meaning of an error answer, by its code or else by its HTTP status, and whether the entries are in doubt.
fn of_service(code: Option<&str>, status: u16, signature: &Signature) -> (Meaning, Doubt, Cow<'static, str>) {
    let Some(code) = code.map(short).filter(|code| !code.is_empty()) else {
        let code = match status {
            // Success, with a body that cannot be read.
            200..=299 => "unreadable answer".into(),
            _ => format!("HTTP {status}").into(),
        };
        return (without_code(status), Doubt::Applied, code);
    };
    let (meaning, doubt) = match status {
        400..=499 => known(code).unwrap_or_else(|| (by_status(status).unwrap_or(Meaning::Disputed), Doubt::None)),
        // Whatever the code says: with such a status the service did not refuse the call.
        500..=599 => match known(code) {
            Some((throttled @ Meaning::Rejected(Rejection::Throttled), _)) => (throttled, Doubt::Applied),
            _ => (Meaning::Rejected(Rejection::Transient), Doubt::Applied),
        },
        _ => {
            let known = known(code).map(|(meaning, _)| meaning);
            (known.unwrap_or_else(|| without_code(status)), Doubt::Applied)
        }
    };
    (of_signature(meaning, code, signature), doubt, code.to_owned().into())
}

/// The meaning of a refusal that the next call may not meet, because it will have another time or other credentials.
fn of_signature(meaning: Meaning, code: &str, signature: &Signature) -> Meaning {
    let setup = Meaning::Rejected(Rejection::Setup);
    if EXPIRED.contains(&code) {
        if let Some(used) = &signature.credentials {
            used.have_expired();
        }
        return meaning;
    }
    let is_forbidden = matches!(meaning, Meaning::Disputed | Meaning::Stop) && FORBIDDEN.contains(&code);
    if is_forbidden && signature.clock == Clock::Corrected {
        return setup;
    }
    let is_wrong_secret = meaning == setup && WRONG_SIGNATURES.contains(&code) && signature.clock == Clock::Right;
    let is_unknown_key = meaning == Meaning::Stop && UNKNOWN_KEYS.contains(&code);
    if is_wrong_secret || is_unknown_key {
        let may_be_rotated = signature.credentials.as_ref().is_some_and(Used::are_unknown);
        return if may_be_rotated { setup } else { Meaning::Stop };
    }
    meaning
}

/// What a code says of the caller, in words that say what to do.
fn explanation(code: &str, clock: Clock) -> Option<&'static str> {
    const CLOCK: &str = "the clock of this machine is wrong";
    if EXPIRED.contains(&code) {
        return Some("the AWS credentials have expired");
    }
    if UNKNOWN_KEYS.contains(&code) {
        return Some("AWS does not know the access key or its session token: it was deleted or deactivated");
    }
    if WRONG_SIGNATURES.contains(&code) {
        return Some(match clock {
            Clock::Right => "the secret access key does not belong to the access key",
            Clock::Corrected | Clock::Wrong => CLOCK,
            Clock::Unknown => "the secret access key or the clock of this machine is wrong",
        });
    }
    let is_late = WRONG_TIMES.contains(&code) || FORBIDDEN.contains(&code) && clock == Clock::Corrected;
    is_late.then_some(CLOCK)
}

fn known(code: &str) -> Option<(Meaning, Doubt)> {
    let listed = MEANINGS.iter().find(|(codes, _)| codes.contains(&code));
    let of_key = || KEY_PREFIXES.iter().any(|prefix| code.starts_with(prefix));
    let meaning = listed.map(|(_, meaning)| *meaning);
    let leaves_doubt = FAILURES.contains(&code) || CONNECTIONS.contains(&code);
    let doubt = if leaves_doubt { Doubt::Applied } else { Doubt::None };
    Some((meaning.or_else(|| of_key().then_some(Meaning::Stop))?, doubt))
}

/// The meaning of an answer without a code. The services send a code, so the answer comes from something in between, such
/// as a proxy or a firewall, from a wrong endpoint, or from a service that is failing.
fn without_code(status: u16) -> Meaning {
    match status {
        // The request counts as malformed, which may be because of an entry.
        400 => Meaning::Disputed,
        200..=299 | 403 => Meaning::Rejected(Rejection::Transient),
        _ => by_status(status).unwrap_or(Meaning::Rejected(Rejection::Setup)),
    }
}

fn by_status(status: u16) -> Option<Meaning> {
    match status {
        408 => Some(Meaning::Rejected(Rejection::Connection)),
        413 => Some(Meaning::Refused),
        429 => Some(Meaning::Rejected(Rejection::Throttled)),
        500..=599 => Some(Meaning::Rejected(Rejection::Transient)),
        _ => None,
    }
}

/// The code without its namespace: SQS writes `AWS.SimpleQueueService.NonExistentQueue` as well as `NonExistentQueue`.
/// `KMS.` stays, because the rest of such a code means something else without it.
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
