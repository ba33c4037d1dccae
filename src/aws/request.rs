//! A request to a service: how its client makes it, without retries, and its span.

use std::pin::Pin;

use aws_smithy_runtime_api::client::interceptors::SharedInterceptor;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use tracing::{Instrument, Span};

use super::Transmission;

/// The renewal of a client's identity cache. A macro, because each SDK has types of its own.
macro_rules! renewal {
    ($sdk:ident, $client:expr) => {{
        // A cache of the SDK needs a timer; a client with a cache of its own may lack one.
        let has_timer = $client.config().identity_cache().is_none() || $client.config().sleep_impl().is_some();
        $crate::aws::renewal::Renewal::with(has_timer.then_some(|| $sdk::config::IdentityCache::lazy().build()))
    }};
}

/// The changes for the calls of one service's client. A macro, because each SDK has types of its own.
///
/// The SDK's retries are off: they would multiply the attempts and hide throttles from the delivery, and the adaptive mode
/// would pace the calls a second time. The rest of the retry configuration stays, such as when connections are reused.
macro_rules! single_attempt {
    ($sdk:ident, $client:expr) => {
        $crate::aws::request::single_attempt!($sdk, $client, None)
    };
    ($sdk:ident, $client:expr, $whole_body:expr) => {{
        use $crate::aws::Transmission;
        use $crate::aws::renewal::Changes;
        #[allow(unused_imports, reason = "newer versions of the SDK have a function of this name")]
        use $crate::aws::request::Permanent as _;
        use $crate::aws::request::renewal;
        use $sdk::config::retry::{RetryConfig, RetryMode};
        use $sdk::config::{Layer, SharedInterceptor};
        let retries = $client.config().retry_config().cloned();
        let retries = retries.unwrap_or_else(RetryConfig::standard);
        let mut settings = Layer::new(env!("CARGO_PKG_NAME"));
        settings.store_put(retries.with_retry_mode(RetryMode::Standard).with_max_attempts(1));
        let renewal = renewal!($sdk, $client);
        let transmission = Transmission::renewing(renewal.clone())
            .with_settings(settings.freeze())
            .with_whole_body($whole_body);
        let mut always = $sdk::Config::builder();
        // The SDK looks for no setting that disables it then, which it does before each of its hooks.
        always.push_interceptor(SharedInterceptor::permanent(transmission));
        Changes { always, renewal }
    }};
}

/// An interceptor that the SDK does not look for a setting to disable. Versions of 2025 have none, and look for it.
#[allow(dead_code, reason = "newer versions of the SDK have a function of this name")]
pub(crate) trait Permanent {
    fn permanent(interceptor: Transmission) -> Self;
}

impl Permanent for SharedInterceptor {
    fn permanent(interceptor: Transmission) -> Self {
        Self::new(interceptor)
    }
}

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

/// The span of a call about messages.
#[allow(unused_macros, reason = "not all services need it")]
macro_rules! messaging_span {
    ($service:literal, $system:literal, $method:literal, $type:literal, $destination:expr, $messages:expr) => {
        $crate::aws::request::request_span!(
            $service,
            $method,
            messaging.system = $system,
            messaging.operation.type = $type,
            messaging.operation.name = $method,
            messaging.destination.name = $destination,
            messaging.batch.message_count = $messages,
        )
    };
}

/// Makes a call in its span, with the changes to the client's configuration.
macro_rules! send {
    ($sdk:ident, $call:expr, $changes:expr, $span:expr) => {{
        let call = $call.customize().config_override($changes.clone());
        let request = std::pin::pin!(call.send());
        $crate::aws::request::in_span(request, &$span, $sdk::operation::RequestId::request_id).await
    }};
}

#[allow(unused_imports, reason = "each service uses a part of it")]
pub(crate) use {messaging_span, renewal, request_span, send, single_attempt};

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
