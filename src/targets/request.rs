//! The span of a request to a service.

use std::pin::Pin;

use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use tracing::{Instrument, Span};

/// A span for one request, with OpenTelemetry's names for requests to AWS and with fields of its service. A field without a
/// value is recorded later. Nothing is evaluated unless a subscriber is interested in the span.
macro_rules! request_span {
    ($service:literal, $method:literal, $($fields:tt)*) => {
        tracing::debug_span!(
            target: $crate::events::REQUEST,
            "request",
            otel.kind = "client",
            otel.name = concat!($service, ".", $method),
            otel.status_code = tracing::field::Empty,
            rpc.system = "aws-api",
            rpc.service = $service,
            rpc.method = $method,
            aws.request_id = tracing::field::Empty,
            error.type = tracing::field::Empty,
            $($fields)*
        )
    };
}

pub(crate) use request_span;

/// Makes a request in its span and records why it failed. The request is pinned, because the future of an SDK call is
/// several kilobytes large and would otherwise be moved.
pub(crate) async fn in_span<F, O, E, R>(
    request: Pin<&mut F>,
    span: &Span,
    request_id: impl FnOnce(&Result<O, SdkError<E, R>>) -> Option<&str>,
) -> Result<O, SdkError<E, R>>
where
    F: Future<Output = Result<O, SdkError<E, R>>>,
    E: ProvideErrorMetadata,
{
    let result = request.instrument(span.clone()).await;
    if !span.is_disabled() {
        if let Some(id) = request_id(&result) {
            span.record("aws.request_id", id);
        }
        if let Err(error) = &result {
            span.record("error.type", kind(error));
            span.record("otel.status_code", "ERROR");
        }
    }
    result
}

/// The code of the service, or a description of the failure.
fn kind<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> &str {
    match error {
        SdkError::ServiceError(answer) => answer.err().code().unwrap_or("unreadable answer"),
        SdkError::ConstructionFailure(_) => "request not built",
        SdkError::TimeoutError(_) => "timeout",
        SdkError::DispatchFailure(_) => "connection failed",
        SdkError::ResponseError(_) => "answer cut short",
        _ => "unknown failure",
    }
}
