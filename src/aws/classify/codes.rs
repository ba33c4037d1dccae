//! The error codes of the services, and what each means.

use crate::contract::Rejection;

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
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
pub(super) enum Doubt {
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
    // SQS: so the queue has too many messages in flight, and returns none until some are deleted or visible again, from the SDK's model of
    // `ReceiveMessage`.
    "OverLimit",
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
    // CloudWatch: `InternalServiceFault`, from the SDK's model of `PutMetricData`, by its name and by its code.
    "InternalServiceError",
    "InternalServiceFault",
    // Of services in general, such as those behind a `BatchTarget` outside of this crate.
    "ServiceUnavailableException",
];

/// A conflict with another writer: a replica in another region, a transaction, or another operation on the object. It passes within
/// moments, and nothing was applied.
const CONFLICTS: &[&str] = &[
    // S3: "Error responses" of its API reference. The digest of a request that was damaged on its way does not match.
    "BadDigest",
    "ConditionalRequestConflict",
    "OperationAborted",
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
/// references of `PutEventsResultEntry` and of SQS's actions for a single message, those of S3 from its list of error codes.
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
    "InvalidParameterCombination",
    "InvalidParameterCombinationException",
    "InvalidParameterException",
    "InvalidParameterValue",
    "InvalidParameterValueException",
    "ItemCollectionSizeLimitExceededException",
    "KeyTooLongError",
    "MalformedDetail",
    "MalformedHttpRequestException",
    "MalformedXML",
    "MessageNotInflight",
    "MissingParameter",
    "MissingRequiredParameterException",
    "NoSuchVersion",
    "NotAuthorizedForDetailTypeException",
    "NotAuthorizedForSourceException",
    "ParameterValueInvalid",
    "PreconditionFailed",
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
pub(super) const TOO_LARGE: &[&str] = &["BatchRequestTooLong", "RequestEntityTooLarge"];

/// Refused for some of the entries, or for all calls: a policy may deny single keys (`dynamodb:LeadingKeys`) or attributes, and S3 may not
/// have what an entry asks for in this kind of bucket. The last ones are from S3's list of error codes.
const DISPUTES: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "NotAuthorized",
    "InvalidObjectState",
    "InvalidRequest",
    "MethodNotAllowed",
    NOT_IMPLEMENTED,
];

/// S3 does not have this operation, or what a header asks for, in this bucket or at all. Its status is 501, and the same request is never
/// accepted: from S3's list of error codes, "A header you provided implies functionality that is not implemented".
pub(super) const NOT_IMPLEMENTED: &str = "NotImplemented";

/// The same for every call of the client: credentials that were never valid, a request that the service does not know, a client that asks
/// only whether the call would succeed (`DryRun` of Kinesis).
///
/// From the SDK's models of the calls and the common errors of the API references.
const STOPS_OF_CLIENT: &[&str] = &[
    "AuthFailure",
    "AuthorizationHeaderMalformed",
    "DryRunOperationException",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidAccessKeyId",
    "InvalidAction",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "OptInRequired",
    "UnknownOperationException",
    "UnrecognizedClientException",
];

/// The same for every call to one table, queue, stream, topic or bucket: it does not exist, or cannot be written to. If entries
/// [name it](super::of_named_resources), it may be their fault.
///
/// From the SDK's models of the calls and the common errors of the API references.
const STOPS_OF_RESOURCE: &[&str] = &[
    "AllAccessDisabled",
    "EndpointDisabled",
    "InvalidAddress",
    "InvalidBucketName",
    "InvalidKMSResourceException",
    "InvalidSourceException",
    "NoSuchBucket",
    "NonExistentQueue",
    "NotFound",
    "PermanentRedirect",
    "PlatformApplicationDisabled",
    "QueueDeletedRecently",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
];

/// The codes among these that a wrong signing time may cause. The SDK retries them too, in addition to those in [`SETUPS`]:
/// `CLOCK_SKEW_ERROR_CODES` in `aws-runtime`.
pub(super) const FORBIDDEN: &[&str] = &["AccessDenied", "AccessDeniedException", "AuthFailure"];

/// The credentials have expired.
pub(super) const EXPIRED: &[&str] = &["ExpiredToken", "ExpiredTokenException"];

/// The service does not know the access key: it was never valid, or it was rotated and deleted. "Common Error Types" of each
/// service's API reference, and of S3 "Error responses".
pub(super) const UNKNOWN_KEYS: &[&str] = &[
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
];

/// The signature does not match the request: the secret is wrong, or the time.
pub(super) const WRONG_SIGNATURES: &[&str] = &["InvalidSignatureException", "SignatureDoesNotMatch"];

/// The request was signed too long ago, or in the future.
pub(super) const WRONG_TIMES: &[&str] = &["RequestExpired", "RequestTimeTooSkewed"];

/// The key that encrypts the queue is disabled, deleted or not permitted. The services spell these codes in several ways:
/// `KMS.DisabledException`, `KmsDisabled`, `KMSDisabledException`.
const KEY_PREFIXES: &[&str] = &["KMS", "Kms"];

pub(super) const MEANINGS: &[(&[&str], Meaning)] = &[
    (THROTTLES, Meaning::Rejected(Rejection::Throttled)),
    (FAILURES, Meaning::Rejected(Rejection::Transient)),
    (CONFLICTS, Meaning::Rejected(Rejection::Transient)),
    (CONNECTIONS, Meaning::Rejected(Rejection::Connection)),
    (SETUPS, Meaning::Rejected(Rejection::Setup)),
    (REFUSALS, Meaning::Refused),
    (DISPUTES, Meaning::Disputed),
    (STOPS_OF_CLIENT, Meaning::Stop),
    (STOPS_OF_RESOURCE, Meaning::Stop),
];

/// The meaning of the code, and whether the service may have applied the entries; `None` if it is not known.
pub(super) fn known(code: &str) -> Option<(Meaning, Doubt)> {
    let listed = MEANINGS.iter().find(|(codes, _)| codes.contains(&code));
    let meaning = listed.map(|(_, meaning)| *meaning);
    let leaves_doubt = FAILURES.contains(&code) || CONNECTIONS.contains(&code);
    let doubt = if leaves_doubt { Doubt::Applied } else { Doubt::None };
    Some((meaning.or_else(|| is_of_key(code).then_some(Meaning::Stop))?, doubt))
}

/// Whether the code is about the key that encrypts a resource.
fn is_of_key(code: &str) -> bool {
    KEY_PREFIXES.iter().any(|prefix| code.starts_with(prefix))
}

/// Whether a code that stops is about one table, queue, stream or topic, or its key, and not about the client.
#[cfg(any(test, feature = "dynamodb", feature = "eventbridge"))]
pub(super) fn is_of_resource(code: &str) -> bool {
    STOPS_OF_RESOURCE.contains(&code) || is_of_key(code)
}

/// The code without its namespace: SQS writes `AWS.SimpleQueueService.NonExistentQueue` as well as `NonExistentQueue`.
/// `KMS.` stays, because the rest of such a code means something else without it.
pub(super) fn short(code: &str) -> &str {
    let code = code.rsplit('#').next().unwrap_or(code);
    let name = code.rsplit('.').next().unwrap_or(code);
    let of_key = code.len() - name.len();
    match code[..of_key].strip_suffix("KMS.") {
        Some(namespace) => &code[namespace.len()..],
        None => name,
    }
}
