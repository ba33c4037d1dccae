//! Error codes and what they mean for the entries, for all services in one place.
//!
//! A code decides wherever it is known. What else an error says of itself (the HTTP status, SQS's `SenderFault`) is asked
//! only for codes that are not: SQS reports throttles as the sender's fault.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

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
    "NonExistentQueue",
    "NotAuthorized",
    "OptInRequired",
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
    let source: Arc<dyn Error + Send + Sync> = Arc::new(error);
    let fault = Fault::new(code).caused_by(source);
    match meaning {
        Meaning::Rejected(rejection) => Answer::Whole(Verdict::Rejected(rejection, fault)),
        Meaning::Unclear(rejection) => Answer::Whole(Verdict::Rejected(rejection, fault.may_have_been_applied())),
        Meaning::Refused => Answer::Whole(Verdict::Refused(fault)),
        Meaning::Stop => Answer::Stop(fault),
    }
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
        fault = fault.caused_by(Box::<dyn Error + Send + Sync>::from(message));
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
mod tests {
    use aws_smithy_runtime_api::client::connection::ConnectionMetadata;
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;

    use super::*;

    fn answered(status: u16, code: Option<&str>) -> Answer {
        let mut error = ErrorMetadata::builder();
        if let Some(code) = code {
            error = error.code(code);
        }
        let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::empty());
        of_call(SdkError::service_error(error.build(), response))
    }

    fn failed(error: SdkError<ErrorMetadata, HttpResponse>) -> Answer {
        of_call(error)
    }

    /// One word for each answer, so that tables of them can be read.
    fn told(answer: &Answer) -> String {
        match answer {
            Answer::Whole(verdict) => told_of(verdict),
            Answer::Stop(_) => "stop".to_owned(),
            Answer::Each(_) => "each".to_owned(),
        }
    }

    fn told_of(verdict: &Verdict) -> String {
        match verdict {
            Verdict::Accepted => "accepted".to_owned(),
            Verdict::Rejected(rejection, fault) if fault.is_ambiguous() => format!("{rejection:?}, perhaps applied"),
            Verdict::Rejected(rejection, _) => format!("{rejection:?}"),
            Verdict::Refused(_) => "refused".to_owned(),
        }
    }

    #[test]
    fn calls_are_judged_by_their_code() {
        let table = [
            (400, "ProvisionedThroughputExceededException", "Throttled"),
            (400, "ThrottlingException", "Throttled"),
            (400, "RequestLimitExceeded", "Throttled"),
            (403, "RequestThrottled", "Throttled"),
            (400, "KMS.ThrottlingException", "Throttled"),
            (400, "com.amazonaws.sqs#KmsThrottled", "Throttled"),
            (503, "ThrottlingException", "Throttled"),
            (500, "InternalServerError", "Transient, perhaps applied"),
            (503, "ServiceUnavailable", "Transient, perhaps applied"),
            (400, "ReplicatedWriteConflictException", "Transient"),
            (400, "RequestTimeout", "Connection, perhaps applied"),
            (400, "ExpiredTokenException", "Setup"),
            (400, "InvalidSignatureException", "Setup"),
            (400, "ValidationException", "refused"),
            (400, "com.amazonaws.dynamodb.v20120810#ValidationException", "refused"),
            (400, "AWS.SimpleQueueService.BatchRequestTooLong", "refused"),
            (400, "BatchRequestTooLong", "refused"),
            (400, "ItemCollectionSizeLimitExceededException", "refused"),
            (400, "InvalidParameterValue", "refused"),
            (400, "AccessDeniedException", "stop"),
            (403, "AccessDenied", "stop"),
            (400, "ResourceNotFoundException", "stop"),
            (400, "AWS.SimpleQueueService.NonExistentQueue", "stop"),
            (400, "QueueDoesNotExist", "stop"),
            (400, "UnrecognizedClientException", "stop"),
            (400, "MissingAuthenticationToken", "stop"),
            (400, "AWS.SimpleQueueService.UnsupportedOperation", "stop"),
            (400, "InvalidAddress", "stop"),
            (400, "InvalidSecurity", "stop"),
            (400, "KMS.DisabledException", "stop"),
            (400, "KmsNotFound", "stop"),
            (400, "NeverHeardOf", "refused"),
            (500, "NeverHeardOf", "Transient, perhaps applied"),
            (429, "NeverHeardOf", "Throttled"),
            (413, "NeverHeardOf", "refused"),
        ];
        for (status, code, expected) in table {
            assert_eq!(told(&answered(status, Some(code))), expected, "{status} {code}");
        }
    }

    #[test]
    fn answers_without_a_code_are_judged_by_their_status() {
        let table = [
            (200, "Transient, perhaps applied"),
            (400, "refused"),
            (403, "Setup"),
            (408, "Connection, perhaps applied"),
            (413, "refused"),
            (429, "Throttled"),
            (500, "Transient, perhaps applied"),
            (502, "Transient, perhaps applied"),
            (503, "Transient, perhaps applied"),
            (504, "Transient, perhaps applied"),
        ];
        for (status, expected) in table {
            assert_eq!(told(&answered(status, None)), expected, "{status}");
        }
    }

    #[test]
    fn failures_before_an_answer_are_judged_by_what_was_sent() {
        let source = || Box::<dyn Error + Send + Sync>::from("boom");
        let response = HttpResponse::new(200.try_into().unwrap(), SdkBody::empty());
        let connection = ConnectionMetadata::builder().proxied(false).poison_fn(|| ()).build();
        let table = [
            (SdkError::construction_failure(source()), "stop"),
            (SdkError::timeout_error(source()), "Connection, perhaps applied"),
            (
                SdkError::dispatch_failure(ConnectorError::timeout(source())),
                "Connection, perhaps applied",
            ),
            (
                SdkError::dispatch_failure(ConnectorError::io(source())),
                "Connection, perhaps applied",
            ),
            (SdkError::dispatch_failure(ConnectorError::user(source())), "stop"),
            (
                SdkError::dispatch_failure(ConnectorError::other(source(), None)),
                "Setup",
            ),
            // The connection closed before the answer came: how the HTTP client tells it, and how it tells what else goes
            // wrong on a connection.
            (
                SdkError::dispatch_failure(ConnectorError::other(source(), Some(ErrorKind::TransientError))),
                "Connection, perhaps applied",
            ),
            (
                SdkError::dispatch_failure(ConnectorError::other(source(), None).with_connection(connection)),
                "Connection, perhaps applied",
            ),
            (
                SdkError::response_error(source(), response),
                "Connection, perhaps applied",
            ),
        ];
        for (error, expected) in table {
            let shown = error.to_string();
            assert_eq!(told(&failed(error)), expected, "{shown}");
        }
    }

    #[test]
    fn faults_carry_the_short_code_and_the_original_error() {
        let Answer::Stop(fault) = answered(400, Some("AWS.SimpleQueueService.NonExistentQueue")) else {
            panic!("a missing queue stops the delivery");
        };
        assert_eq!(fault.code(), "NonExistentQueue");
        let source = fault
            .source()
            .and_then(<dyn Error>::downcast_ref::<SdkError<ErrorMetadata, HttpResponse>>);
        assert_eq!(
            source.and_then(ProvideErrorMetadata::code),
            Some("AWS.SimpleQueueService.NonExistentQueue")
        );

        let Answer::Stop(fault) = answered(400, Some("KMS.NotFoundException")) else {
            panic!("a missing key stops the delivery");
        };
        assert_eq!(fault.code(), "KMS.NotFoundException");

        let Answer::Whole(Verdict::Rejected(_, fault)) = answered(200, None) else {
            panic!("an answer that cannot be read is sent again");
        };
        assert_eq!(fault.code(), "unreadable answer");
    }

    #[cfg(feature = "sqs")]
    #[test]
    fn entries_are_judged_by_their_code_whatever_the_sender_fault() {
        let table = [
            ("RequestThrottled", "Throttled"),
            ("ThrottlingException", "Throttled"),
            ("Throttling", "Throttled"),
            ("KMS.ThrottlingException", "Throttled"),
            ("InternalError", "Transient, perhaps applied"),
            ("AWS.SimpleQueueService.InternalError", "Transient, perhaps applied"),
            ("ServiceUnavailable", "Transient, perhaps applied"),
            ("InvalidMessageContents", "refused"),
            ("InvalidParameterValue", "refused"),
            ("KMS.AccessDeniedException", "refused"),
            ("AccessDenied", "refused"),
        ];
        for (code, expected) in table {
            for sender_fault in [true, false] {
                assert_eq!(
                    told_of(&of_entry(code, sender_fault, None)),
                    expected,
                    "{code} {sender_fault}"
                );
            }
        }
    }

    #[cfg(feature = "sqs")]
    #[test]
    fn entries_with_an_unknown_code_are_judged_by_the_sender_fault() {
        assert_eq!(told_of(&of_entry("NeverHeardOf", true, None)), "refused");
        assert_eq!(
            told_of(&of_entry("NeverHeardOf", false, None)),
            "Transient, perhaps applied"
        );
    }

    #[cfg(feature = "sqs")]
    #[test]
    fn the_message_of_an_entry_is_in_the_source_alone() {
        let Verdict::Refused(fault) = of_entry("InvalidMessageContents", true, Some("secret")) else {
            panic!("invalid contents are refused");
        };
        assert!(!format!("{fault} {fault:?}").contains("secret"));
        assert_eq!(fault.source().map(ToString::to_string).as_deref(), Some("secret"));
    }

    #[test]
    fn no_code_has_two_meanings() {
        let mut codes: Vec<&str> = MEANINGS.iter().flat_map(|(codes, _)| codes.iter().copied()).collect();
        codes.sort_unstable();
        let all = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }
}
