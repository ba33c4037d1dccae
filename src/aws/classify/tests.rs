//! The meaning of each code, status and failure.

use std::io;

use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::error::ErrorMetadata;
use aws_smithy_types::retry::ErrorKind;

use super::codes::MEANINGS;
use super::*;

fn answered(status: u16, code: Option<&str>) -> Answer {
    let mut error = ErrorMetadata::builder();
    if let Some(code) = code {
        error = error.code(code);
    }
    let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::empty());
    classify(SdkError::service_error(error.build(), response))
}

fn failed(error: SdkError<ErrorMetadata, HttpResponse>) -> Answer {
    classify(error)
}

/// One word for each answer, for readable tables.
fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Whole(verdict) => verdict_in_words(verdict),
        Answer::Disputed(fault) if fault.is_ambiguous() => "disputed, perhaps applied".to_owned(),
        Answer::Disputed(_) => "disputed".to_owned(),
        Answer::Stop(_) => "stop".to_owned(),
        Answer::Each(_) => "each".to_owned(),
    }
}

fn verdict_in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted | Verdict::Acknowledged(_) => "accepted".to_owned(),
        Verdict::Rejected(rejection, fault) if fault.is_ambiguous() => format!("{rejection:?}, perhaps applied"),
        Verdict::Rejected(rejection, _) => format!("{rejection:?}"),
        Verdict::Refused(fault) if fault.is_ambiguous() => "refused, perhaps applied".to_owned(),
        Verdict::Refused(_) => "refused".to_owned(),
        Verdict::ConditionFailed => "condition failed".to_owned(),
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
        (400, "LimitExceededException", "Throttled"),
        (403, "OverLimit", "Throttled"),
        (503, "ThrottlingException", "Throttled, perhaps applied"),
        (504, "ValidationException", "Transient, perhaps applied"),
        (502, "ResourceNotFoundException", "Transient, perhaps applied"),
        (301, "PermanentRedirect", "stop"),
        // What the server does not have: S3, an emulator that does not know the call, and a proxy.
        (501, "NotImplemented", "disputed"),
        (501, "InternalFailure", "disputed, perhaps applied"),
        (505, "HTTPVersionNotSupported", "disputed, perhaps applied"),
        (500, "InternalServerError", "Transient, perhaps applied"),
        (503, "ServiceUnavailable", "Transient, perhaps applied"),
        (400, "InternalFailureException", "Transient, perhaps applied"),
        (400, "InternalException", "Transient, perhaps applied"),
        (400, "ReplicatedWriteConflictException", "Transient"),
        (400, "RequestTimeout", "Connection, perhaps applied"),
        (400, "RequestAbortedException", "Connection, perhaps applied"),
        (400, "ExpiredTokenException", "Setup"),
        (400, "InvalidSignatureException", "Setup"),
        (400, "ValidationException", "refused"),
        (400, "com.amazonaws.dynamodb.v20120810#ValidationException", "refused"),
        (400, "AWS.SimpleQueueService.BatchRequestTooLong", "refused"),
        (400, "BatchRequestTooLong", "refused"),
        (400, "ItemCollectionSizeLimitExceededException", "refused"),
        (400, "InvalidParameterValue", "refused"),
        (400, "InvalidParameterException", "refused"),
        (400, "MalformedXML", "refused"),
        (412, "PreconditionFailed", "refused"),
        (409, "OperationAborted", "Transient"),
        (200, "SlowDown", "Throttled, perhaps applied"),
        (503, "SlowDown", "Throttled, perhaps applied"),
        (500, "InternalServiceError", "Transient, perhaps applied"),
        (400, "AuthorizationHeaderMalformed", "stop"),
        (400, "AccessDeniedException", "disputed"),
        (403, "AccessDenied", "disputed"),
        (400, "ResourceNotFoundException", "stop"),
        (400, "AWS.SimpleQueueService.NonExistentQueue", "stop"),
        (400, "QueueDoesNotExist", "stop"),
        (400, "UnrecognizedClientException", "stop"),
        (400, "MissingAuthenticationToken", "stop"),
        (400, "AWS.SimpleQueueService.UnsupportedOperation", "refused"),
        (400, "InvalidAddress", "stop"),
        (400, "InvalidSecurity", "stop"),
        (400, "KMS.DisabledException", "stop"),
        (400, "KmsNotFound", "stop"),
        (400, "NeverHeardOf", "disputed"),
        (500, "NeverHeardOf", "Transient, perhaps applied"),
        (429, "NeverHeardOf", "Throttled"),
        (413, "NeverHeardOf", "refused"),
    ];
    for (status, code, expected) in table {
        assert_eq!(in_words(&answered(status, Some(code))), expected, "{status} {code}");
    }
}

#[test]
fn answers_without_a_code_are_judged_by_their_status() {
    let table = [
        (200, "Transient, perhaps applied"),
        (101, "Setup, perhaps applied"),
        (302, "Setup, perhaps applied"),
        (400, "disputed, perhaps applied"),
        (403, "Transient, perhaps applied"),
        (404, "Setup, perhaps applied"),
        (408, "Connection, perhaps applied"),
        (413, "refused, perhaps applied"),
        (429, "Throttled, perhaps applied"),
        (500, "Transient, perhaps applied"),
        (501, "disputed, perhaps applied"),
        (505, "disputed, perhaps applied"),
        (502, "Transient, perhaps applied"),
        (503, "Transient, perhaps applied"),
        (504, "Transient, perhaps applied"),
    ];
    for (status, expected) in table {
        assert_eq!(in_words(&answered(status, None)), expected, "{status}");
    }
}

#[test]
fn failures_before_an_answer_are_judged_by_what_was_sent() {
    let source = || Box::<dyn Error + Send + Sync>::from("boom");
    let response = HttpResponse::new(200.try_into().unwrap(), SdkBody::empty());
    let refused = || Box::new(io::Error::from(io::ErrorKind::ConnectionRefused));
    let other = |kind| SdkError::dispatch_failure(ConnectorError::other(source(), kind));
    let table = [
        (SdkError::construction_failure(source()), "Unconfigured"),
        (SdkError::timeout_error(source()), "Connection, perhaps applied"),
        (
            SdkError::dispatch_failure(ConnectorError::timeout(source())),
            "Connection, perhaps applied",
        ),
        (
            SdkError::dispatch_failure(ConnectorError::io(source())),
            "Connection, perhaps applied",
        ),
        (SdkError::dispatch_failure(ConnectorError::io(refused())), "Setup"),
        // Errors that an HTTP client may also report after it has sent the request.
        (
            SdkError::dispatch_failure(ConnectorError::user(source())),
            "Connection, perhaps applied",
        ),
        (other(None), "Connection, perhaps applied"),
        (other(Some(ErrorKind::ServerError)), "Connection, perhaps applied"),
        (other(Some(ErrorKind::TransientError)), "Connection, perhaps applied"),
        (
            SdkError::response_error(source(), response),
            "Connection, perhaps applied",
        ),
    ];
    for (error, expected) in table {
        let shown = format!("{error:?}");
        assert_eq!(in_words(&failed(error)), expected, "{shown}");
    }
}

#[test]
fn failures_before_an_answer_are_named() {
    let source = || Box::<dyn Error + Send + Sync>::from("boom");
    let response = HttpResponse::new(200.try_into().unwrap(), SdkBody::empty());
    let refused = Box::new(io::Error::from(io::ErrorKind::ConnectionRefused));
    let table = [
        (SdkError::construction_failure(source()), "request not built"),
        (SdkError::timeout_error(source()), "timeout"),
        (
            SdkError::dispatch_failure(ConnectorError::timeout(source())),
            "connection timeout",
        ),
        (
            SdkError::dispatch_failure(ConnectorError::io(source())),
            "connection failed",
        ),
        (SdkError::dispatch_failure(ConnectorError::io(refused)), "no connection"),
        (SdkError::response_error(source(), response), "answer cut short"),
    ];
    for (error, expected) in table {
        let Answer::Whole(Verdict::Rejected(_, fault)) = failed(error) else {
            panic!("{expected}: the entries are sent again");
        };
        assert_eq!(fault.code(), expected);
    }
    let Answer::Whole(Verdict::Rejected(_, fault)) = answered(503, None) else {
        panic!("the entries are sent again");
    };
    assert_eq!(fault.code(), "HTTP 503");
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
        ("Throttled", "Throttled"),
        ("KMSThrottling", "Throttled"),
        ("KMSThrottlingException", "Throttled"),
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
                verdict_in_words(&classify_entry(code, sender_fault, None)),
                expected,
                "{code} {sender_fault}"
            );
        }
    }
}

#[cfg(feature = "sqs")]
#[test]
fn entries_with_an_unknown_code_are_judged_by_the_sender_fault() {
    assert_eq!(verdict_in_words(&classify_entry("NeverHeardOf", true, None)), "refused");
    assert_eq!(
        verdict_in_words(&classify_entry("NeverHeardOf", false, None)),
        "Transient, perhaps applied"
    );
}

#[cfg(feature = "sqs")]
#[test]
fn the_message_of_an_entry_is_in_the_source_alone() {
    let Verdict::Refused(fault) = classify_entry("InvalidMessageContents", true, Some("secret")) else {
        panic!("invalid contents are refused");
    };
    assert!(!format!("{fault} {fault:?}").contains("secret"));
    assert_eq!(fault.source().map(ToString::to_string).as_deref(), Some("secret"));
}

#[test]
fn what_the_sdk_sends_again_is_sent_again() {
    use aws_runtime::retries::classifiers::{THROTTLING_ERRORS, TRANSIENT_ERRORS};
    for code in THROTTLING_ERRORS.iter().chain(TRANSIENT_ERRORS) {
        let meaning = in_words(&answered(400, Some(code)));
        // The transaction is another writer's; a slower pace does not end it.
        let expected = match *code {
            "TransactionInProgressException" => "Transient",
            code if TRANSIENT_ERRORS.contains(&code) => "Connection, perhaps applied",
            _ => "Throttled",
        };
        assert_eq!(meaning, expected, "{code}");
    }
}

/// The errors of the calls in the SDK's models, by the codes that the services send.
#[test]
fn every_error_of_the_calls_is_known() {
    let of_calls = [
        // BatchWriteItem, BatchGetItem
        "InternalServerError InvalidEndpointException ItemCollectionSizeLimitExceededException \
         ProvisionedThroughputExceededException ReplicatedWriteConflictException RequestLimitExceeded \
         ResourceNotFoundException ThrottlingException",
        // SendMessageBatch, DeleteMessageBatch, ChangeMessageVisibilityBatch
        "BatchEntryIdsNotDistinct BatchRequestTooLong EmptyBatchRequest InvalidAddress InvalidBatchEntryId InvalidSecurity \
         KmsAccessDenied KmsDisabled KmsInvalidKeyUsage KmsInvalidState KmsNotFound KmsOptInRequired KmsThrottled \
         QueueDoesNotExist RequestThrottled TooManyEntriesInBatchRequest UnsupportedOperation",
        // PutRecords
        "AccessDeniedException DryRunOperationException InternalFailureException InvalidArgumentException \
         KMSAccessDeniedException KMSDisabledException KMSInvalidStateException KMSNotFoundException KMSOptInRequired \
         KMSThrottlingException ProvisionedThroughputExceededException ResourceNotFoundException",
        // PutRecordBatch
        "InvalidArgumentException InvalidKMSResourceException InvalidSourceException ResourceNotFoundException \
         ServiceUnavailableException",
        // PutEvents
        "InternalException",
        // PublishBatch
        "AuthorizationError BatchEntryIdsNotDistinct BatchRequestTooLong EmptyBatchRequest EndpointDisabled InternalError \
         InvalidBatchEntryId InvalidParameter ParameterValueInvalid InvalidSecurity KMSAccessDenied KMSDisabled KMSInvalidState \
         KMSNotFound KMSOptInRequired KMSThrottling NotFound PlatformApplicationDisabled Throttled \
         TooManyEntriesInBatchRequest ValidationException",
        // PutMetricData, by name and by code
        "InternalServiceFault InternalServiceError InvalidParameterCombinationException InvalidParameterCombination \
         InvalidParameterValueException InvalidParameterValue MissingRequiredParameterException MissingParameter",
        // PutLogEvents
        "InvalidParameterException ResourceNotFoundException ServiceUnavailableException UnrecognizedClientException",
        // DeleteObjects, from the list of error codes of S3
        "AccessDenied AllAccessDisabled AuthorizationHeaderMalformed BadDigest ConditionalRequestConflict ExpiredToken InternalError \
         InvalidAccessKeyId InvalidArgument InvalidBucketName KeyTooLongError MalformedXML NoSuchBucket NoSuchVersion OperationAborted \
         PermanentRedirect PreconditionFailed RequestTimeTooSkewed RequestTimeout ServiceUnavailable SignatureDoesNotMatch SlowDown \
         InvalidObjectState InvalidRequest MethodNotAllowed NotImplemented",
        // Single entries: PutRecords, PutRecordBatch, PutEvents
        "InternalFailure ServiceUnavailableException ThrottlingException AccessDeniedException InvalidAccountIdException \
         InvalidArgument MalformedDetail RedactionFailure NotAuthorizedForSourceException NotAuthorizedForDetailTypeException",
        // All services
        "AccessDeniedException ExpiredTokenException IncompleteSignature InternalFailure MalformedHttpRequestException \
         NotAuthorized OptInRequired RequestAbortedException RequestEntityTooLargeException RequestExpired \
         RequestTimeoutException ServiceUnavailable ThrottlingException UnrecognizedClientException \
         UnknownOperationException ValidationError",
    ];
    for code in of_calls.iter().flat_map(|codes| codes.split_whitespace()) {
        assert!(known(code).is_some(), "{code}");
    }
}

#[test]
fn no_code_has_two_meanings() {
    let mut codes: Vec<&str> = MEANINGS.iter().flat_map(|(codes, _)| codes.iter().copied()).collect();
    codes.sort_unstable();
    let all = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), all);
}

#[test]
fn a_refusal_says_whether_it_is_for_the_size_of_the_call() {
    for (status, code, is_for_its_size) in [
        (400, Some("AWS.SimpleQueueService.BatchRequestTooLong"), true),
        (413, Some("RequestEntityTooLarge"), true),
        (413, Some("SerializationException"), true),
        (413, None, true),
        (400, Some("ValidationException"), false),
        (400, None, false),
    ] {
        let (Answer::Whole(Verdict::Refused(fault)) | Answer::Disputed(fault)) = answered(status, code) else {
            panic!("{code:?}");
        };
        assert_eq!(
            fault.is_for_the_size_of_the_call(),
            is_for_its_size,
            "{status} {code:?}"
        );
    }
}
