//! Error codes and what they mean for the entries, for all services in one place.
//!
//! A code decides wherever it is known. What else an error says of itself (the HTTP status, SQS's `SenderFault`) is asked
//! only for codes that are not: SQS reports throttles as the sender's fault.
//!
//! Whether the service may have the entries is a question of its own. It has not if the request is known not to have left, or
//! if the service says so: by a code, with a status of 4xx. Whatever else happens leaves it in doubt.

use std::borrow::Cow;
use std::error::Error;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::answer::{Answer, Fault, Rejection, Verdict};
use super::transmission::{is_skewed, is_unconnected, unsent};

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The entries are sent again.
    Rejected(Rejection),
    /// Sending the same entries again cannot help.
    Refused,
    /// No call can succeed, whatever it carries.
    Stop,
}

/// Whether the service may have applied the entries all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    Applied,
}

/// Too much at the moment, and nothing of the call or entry was applied. Thrown by DynamoDB only if it could process
/// nothing at all.
const THROTTLES: &[&str] = &[
    "BandwidthLimitExceeded",
    "KMS.ThrottlingException",
    "KMSThrottling",
    "KMSThrottlingException",
    "KmsThrottled",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttled",
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

/// The entries themselves are at fault, or their number and sum. `UnsupportedOperation` also speaks of an operation that the
/// queue does not know, and then no entry is accepted.
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
    "MessageNotInflight",
    "MissingParameter",
    "MissingRequiredParameterException",
    "NotAuthorizedForDetailTypeException",
    "NotAuthorizedForSourceException",
    "ParameterValueInvalid",
    "ReceiptHandleIsInvalid",
    "RedactionFailure",
    "RequestEntityTooLarge",
    "SerializationException",
    "TooManyEntriesInBatchRequest",
    "UnsupportedOperation",
    "ValidationException",
];

/// The same for every call: no permission, no such table, queue, stream or topic, credentials that never were valid.
const STOPS: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "AuthorizationError",
    "IncompleteSignature",
    "IncompleteSignatureException",
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
    "NotAuthorized",
    "NotFound",
    "OptInRequired",
    "PermanentRedirect",
    "QueueDeletedRecently",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
    "UnknownOperationException",
    "UnrecognizedClientException",
];

/// Of these, the ones that a wrong signing time may be the reason of. The SDK tries them again as well, beside those that are
/// listed with [`SETUPS`]: `CLOCK_SKEW_ERROR_CODES` in `aws-runtime`.
const FORBIDDEN: &[&str] = &["AccessDenied", "AccessDeniedException", "AuthFailure"];

/// The key that encrypts the queue: disabled, deleted, not permitted. The services spell its codes in several ways: `KMS.DisabledException`,
/// `KmsDisabled`, `KMSDisabledException`.
const KEY_PREFIXES: &[&str] = &["KMS", "Kms"];

const MEANINGS: &[(&[&str], Meaning)] = &[
    (THROTTLES, Meaning::Rejected(Rejection::Throttled)),
    (FAILURES, Meaning::Rejected(Rejection::Transient)),
    (CONFLICTS, Meaning::Rejected(Rejection::Transient)),
    (CONNECTIONS, Meaning::Rejected(Rejection::Connection)),
    (SETUPS, Meaning::Rejected(Rejection::Setup)),
    (REFUSALS, Meaning::Refused),
    (STOPS, Meaning::Stop),
];

/// What a failed call of an SDK of AWS means for the entries of its chunk: its service's error codes, the HTTP status, and what
/// became of a call without an answer.
///
/// It knows the codes that the services of AWS share, and those of DynamoDB, SQS, S3, Kinesis, Firehose, SNS and EventBridge. Of a code that it does not know a
/// status of 4xx refuses the entries, and any other rejects them.
///
/// The call is to be made without retries of the SDK's own, and with [`Transmission`](super::Transmission) among its interceptors,
/// by which a call that never left is told from one whose answer is lost:
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
    let fault = fault.was_not_applied();
    match meaning {
        Meaning::Rejected(Rejection::Unconfigured) | Meaning::Refused | Meaning::Stop => Verdict::Refused(fault),
        Meaning::Rejected(Rejection::Setup) => Verdict::Rejected(Rejection::Transient, fault),
        Meaning::Rejected(rejection) => Verdict::Rejected(rejection, fault),
    }
}

fn of_error<E>(error: SdkError<E, HttpResponse>) -> (Meaning, Fault)
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (meaning, doubt, code) = match &error {
        SdkError::ServiceError(answer) => {
            let code = answer.err().code();
            of_service(code, answer.raw().status().as_u16(), is_skewed(answer.raw()))
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
    let fault = Fault::new(code).caused_by(error);
    match doubt {
        Doubt::None => (meaning, fault),
        Doubt::Applied => (meaning, fault.may_have_been_applied()),
    }
}

/// What it means that there is no answer.
///
/// An HTTP client may report anything after it has sent, so that only what is known is taken for not sent.
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
        return (rejection, Doubt::None, "request not sent");
    }
    if is_unconnected(error) {
        return (Rejection::Setup, Doubt::None, "no connection");
    }
    let code = match error {
        SdkError::TimeoutError(_) => "timeout",
        SdkError::DispatchFailure(failure) if failure.is_timeout() => "connection timeout",
        SdkError::DispatchFailure(_) => "connection failed",
        SdkError::ResponseError(_) => "answer cut short",
        // The SDK may tell more kinds of failure apart one day. Sending again loses nothing.
        _ => "unknown failure",
    };
    (Rejection::Connection, Doubt::Applied, code)
}

/// What it means for an entry that it has an error code of its own in the answer to its call.
///
/// A code that is [known](classify) decides. Any other is refused where the service says that the sender is at fault
/// (`SenderFault` of SQS), and else sent again, with the doubt whether it was applied. Where a service does not say whose fault
/// it is, `sender_fault` is false. The message is the source of the fault, since it may quote the entry.
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
        fault = fault.caused_by(message);
    }
    if doubt == Doubt::Applied {
        fault = fault.may_have_been_applied();
    }
    match meaning {
        Meaning::Rejected(rejection) => Verdict::Rejected(rejection, fault),
        // What an entry is told holds for this entry: its neighbours may have been accepted by the same answer.
        Meaning::Refused | Meaning::Stop => Verdict::Refused(fault),
    }
}

/// What an error answer means, by its code or else by its HTTP status, and whether it leaves in doubt what was applied.
fn of_service(code: Option<&str>, status: u16, is_skewed: bool) -> (Meaning, Doubt, Cow<'static, str>) {
    let Some(code) = code.map(short).filter(|code| !code.is_empty()) else {
        let code = match status {
            // The service says "done", in words that cannot be read.
            200..=299 => "unreadable answer".into(),
            _ => format!("HTTP {status}").into(),
        };
        return (without_code(status), Doubt::Applied, code);
    };
    let (meaning, doubt) = match status {
        400..=499 => known(code).unwrap_or_else(|| (by_status(status).unwrap_or(Meaning::Refused), Doubt::None)),
        // Whatever it says, it is not the service that refuses with such a status.
        500..=599 => match known(code) {
            Some((throttled @ Meaning::Rejected(Rejection::Throttled), _)) => (throttled, Doubt::Applied),
            _ => (Meaning::Rejected(Rejection::Transient), Doubt::Applied),
        },
        _ => {
            let known = known(code).map(|(meaning, _)| meaning);
            (known.unwrap_or_else(|| without_code(status)), Doubt::Applied)
        }
    };
    let meaning = match meaning {
        Meaning::Stop if is_skewed && FORBIDDEN.contains(&code) => Meaning::Rejected(Rejection::Setup),
        meaning => meaning,
    };
    (meaning, doubt, code.to_owned().into())
}

fn known(code: &str) -> Option<(Meaning, Doubt)> {
    let listed = MEANINGS.iter().find(|(codes, _)| codes.contains(&code));
    let of_key = || KEY_PREFIXES.iter().any(|prefix| code.starts_with(prefix));
    let meaning = listed.map(|(_, meaning)| *meaning);
    let leaves_doubt = FAILURES.contains(&code) || CONNECTIONS.contains(&code);
    let doubt = if leaves_doubt { Doubt::Applied } else { Doubt::None };
    Some((meaning.or_else(|| of_key().then_some(Meaning::Stop))?, doubt))
}

/// What an answer without a code means. The service gives one, so this comes from something before it, such as a proxy or a
/// firewall, from a wrong endpoint, or from a service that is out of order.
fn without_code(status: u16) -> Meaning {
    match status {
        // The request is taken for malformed, which may be on account of an entry.
        400 => Meaning::Refused,
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
