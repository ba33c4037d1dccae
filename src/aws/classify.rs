//! The meaning of error codes for the entries of a call, for all services in one place.
//!
//! A known code decides. Everything else in an error (the HTTP status, `SenderFault` of SQS) counts only if the code is not
//! known: SQS reports throttles as the sender's fault.
//!
//! Whether the service may have the entries is decided separately. It does not have them if the request is known not to
//! have been sent, or if the service says so with a code and a status of 4xx. In all other cases it is in doubt.

mod codes;

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use self::codes::{
    Doubt, EXPIRED, FORBIDDEN, Meaning, NOT_IMPLEMENTED, TOO_LARGE, UNKNOWN_KEYS, WRONG_SIGNATURES, WRONG_TIMES, known,
    short,
};
use super::renewal::CredentialsUse;
use super::signature::{Clock, Signature};
use super::transmission::{is_too_long, is_unconnected, named_wait, unsent};
use crate::contract::{Answer, Fault, Rejection, Verdict};

/// What a failed call of an AWS SDK means for the entries of its chunk, by the error code, the HTTP status, or the failure
/// to get an answer.
///
/// It knows the codes that all AWS services share, and those of DynamoDB, SQS, S3, Kinesis, Firehose, SNS, EventBridge,
/// CloudWatch and CloudWatch Logs. With an unknown code, a status of 4xx is [disputed](Answer::Disputed), as are 501 and 505 with any code; any
/// other status rejects the entries. The wait that the answer names by `x-amz-retry-after` or `Retry-After` is in the [fault](Fault::retry_after).
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

/// The meaning of a failed call whose entries name the tables or buses that they are for: that one of them is missing or cannot be written to
/// is the fault of entries of this call, and says nothing about other calls.
#[cfg(any(feature = "dynamodb", feature = "eventbridge"))]
pub(crate) fn of_named_resources(answer: Answer) -> Answer {
    match answer {
        Answer::Stop(fault) if codes::is_of_resource(fault.code()) => Answer::Whole(Verdict::Refused(fault)),
        answer => answer,
    }
}

/// The verdict on a message whose body could not be uploaded before the message is sent.
///
/// The queue does not have the message, whatever happened to the upload. And a reason that every later upload shares does
/// not concern messages without an upload, so it neither stops the delivery nor lowers its pace: the S3 client retries by itself.
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
        Meaning::Rejected(Rejection::Setup | Rejection::Throttled) => Verdict::Rejected(Rejection::Transient, fault),
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
            signature = Signature::of(answer.raw());
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
        fault = fault.ambiguous();
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
        SdkError::ResponseError(_) if is_too_long(error) => ENDLESS,
        SdkError::ResponseError(_) => "answer cut short",
        // The SDK may add kinds of failures. Sending again loses nothing.
        _ => "unknown failure",
    };
    (Rejection::Connection, Doubt::Applied, code)
}

/// The verdict on an entry with an error code of its own in the answer to its call.
///
/// A [known](classify) code decides. With any other, the entry is refused if the service says that the sender is at fault
/// (`SenderFault` of SQS); otherwise it is sent again and is in doubt. For a service that does not say whose fault it is,
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
        fault = fault.ambiguous();
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
        _ if NEVER.contains(&status) => match code {
            NOT_IMPLEMENTED => (Meaning::Disputed, Doubt::None),
            _ => (Meaning::Disputed, Doubt::Applied),
        },
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
        let may_be_rotated = signature.credentials.as_ref().is_some_and(CredentialsUse::are_unknown);
        return if may_be_rotated { setup } else { Meaning::Stop };
    }
    meaning
}

/// An answer that is longer than any of the service.
const ENDLESS: &str = "answer too long";

/// What a code means for the caller, in words that say what to do.
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
    if code == ENDLESS {
        return Some("it is longer than any answer of the service: see what else answers at the endpoint");
    }
    let is_late = WRONG_TIMES.contains(&code) || FORBIDDEN.contains(&code) && clock == Clock::Corrected;
    is_late.then_some(CLOCK)
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

/// Statuses of a server that does not have the operation, something that the request asks for, or the version of HTTP: the same request is
/// never accepted. From RFC 9110.
const NEVER: [u16; 2] = [501, 505];

/// The codes that stop, each with whether it is about a table, queue, stream or topic.
#[cfg(all(test, feature = "dynamodb", feature = "eventbridge"))]
pub(crate) fn stops() -> impl Iterator<Item = (&'static str, bool)> {
    let listed = codes::MEANINGS.iter().filter(|(_, meaning)| *meaning == Meaning::Stop);
    let codes = listed.flat_map(|(codes, _)| codes.iter().copied());
    let of_keys = ["KMSDisabledException", "KmsNotFound"];
    codes.chain(of_keys).map(|code| (code, codes::is_of_resource(code)))
}

fn by_status(status: u16) -> Option<Meaning> {
    match status {
        _ if NEVER.contains(&status) => Some(Meaning::Disputed),
        408 => Some(Meaning::Rejected(Rejection::Connection)),
        413 => Some(Meaning::Refused),
        429 => Some(Meaning::Rejected(Rejection::Throttled)),
        500..=599 => Some(Meaning::Rejected(Rejection::Transient)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
