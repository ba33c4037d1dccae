//! Records how far a request got: whether it was handed to the HTTP client, and whether its signature had the right time.
//!
//! The SDK reports a request that could not be made (no credentials, no endpoint, no signature) with the same error as some
//! failures of an HTTP client after the request was sent. Only an interceptor can distinguish them.

use std::error::Error;
use std::iter::successors;
use std::mem::replace;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};
use std::{fmt, io};

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::{AuthScheme, AuthSchemeId};
use aws_smithy_runtime_api::client::dns::ResolveDnsError;
use aws_smithy_runtime_api::client::endpoint::EndpointResolverParams;
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    self, AfterDeserializationInterceptorContextRef, BeforeDeserializationInterceptorContextMut,
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextMut, BeforeTransmitInterceptorContextRef,
    FinalizerInterceptorContextMut,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, FrozenLayer, Storable, StoreReplace};
use aws_smithy_types::endpoint::Endpoint;

use super::answer_limit::{self, AnswerLimit};
use super::renewal::{CredentialsUse, Renewal};
use super::signature::{Clock, Signature, http_date};
use super::whole_body::WholeBody;

/// A request that could not be made, for any other reason.
const NOT_SENT: &str = "request not sent";

/// The header in which the SDK says what makes a request, and what this crate adds to it. Versions of the SDK
/// of 2025 cannot be given such a name.
const USER_AGENT: &str = "x-amz-user-agent";
const CRATE: &str = concat!("lib/", env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// Characters of the time of a signature.
const SIGNING_TIME: usize = "20260921T141320Z".len();

/// How the SDKs of DynamoDB and SQS sign.
const SIGNATURE: AuthSchemeId = AuthSchemeId::new("sigv4");

/// An interceptor that records how far the request of each call got. With it, [`classify`](super::classify) distinguishes a
/// call that was never sent from one whose answer is lost, and a signature with a wrong time from a wrong signature. It also bounds what
/// is read of an answer, as [`AnswerLimit`](super::AnswerLimit) does.
///
/// Use one for all calls of a client; its clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Transmission {
    /// Whether the date of the last answer was far from the time of its request's signature, so that the SDK has corrected
    /// its clock.
    skew_known: Arc<AtomicBool>,
    /// The identity cache of the calls, if it can be renewed.
    renewal: Option<Renewal>,
    /// What the calls have in common, made once: a configuration that is overridden for a call is copied for it.
    settings: Option<FrozenLayer>,
    /// How an answer of success is distinguished from one that was cut off.
    whole_body: Option<WholeBody>,
}

/// The request was handed to the HTTP client.
#[derive(Debug)]
struct TransmittedRequest {
    /// As in its header, to be read if the call fails.
    signed_at: Option<[u8; SIGNING_TIME]>,
    skew_known: bool,
    credentials: Option<CredentialsUse>,
}

impl Storable for TransmittedRequest {
    type Storer = StoreReplace<Self>;
}

/// A request that was never sent.
#[derive(Debug)]
pub(crate) struct UnsentRequest {
    /// Whether another request may succeed without a change of the client's configuration.
    pub(crate) is_passing: bool,
    /// Why, in words.
    pub(crate) code: &'static str,
    error: OrchestratorError<context::Error>,
}

impl fmt::Display for UnsentRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the SDK could not make the request")
    }
}

impl Error for UnsentRequest {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl Transmission {
    /// An interceptor for the calls of this crate, whose identity cache can be renewed. Their user agent names the crate.
    #[cfg(feature = "_service")]
    pub(crate) fn renewing(renewal: Renewal) -> Self {
        Self {
            renewal: Some(renewal),
            ..Self::default()
        }
    }

    /// All calls have these settings, which take precedence over those of the client.
    #[cfg(feature = "_service")]
    pub(crate) fn with_settings(self, settings: FrozenLayer) -> Self {
        Self {
            settings: Some(settings),
            ..self
        }
    }

    /// An answer of success is one only if it has a whole body, unless that is `None`.
    #[cfg(feature = "_service")]
    pub(crate) fn with_whole_body(self, whole_body: Option<WholeBody>) -> Self {
        Self { whole_body, ..self }
    }
}

impl Intercept for Transmission {
    fn name(&self) -> &'static str {
        "Transmission"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(settings) = &self.settings {
            bag.push_shared_layer(settings.clone());
        }
        Ok(())
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.request_mut().headers_mut();
        if self.renewal.is_some()
            && let Some(agent) = headers.get(USER_AGENT)
        {
            let agent = format!("{agent} {CRATE}");
            headers.insert(USER_AGENT, agent);
        }
        Ok(())
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let signed_at = context.request().headers().get("x-amz-date");
        let signed_at = signed_at.and_then(|signed_at| signed_at.as_bytes().try_into().ok());
        bag.interceptor_state().store_put(TransmittedRequest {
            signed_at,
            skew_known: self.skew_known.load(Relaxed),
            credentials: self.renewal.as_ref().map(Renewal::used),
        });
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        AnswerLimit.modify_before_deserialization(context, components, bag)?;
        let Some(transmitted) = bag.load::<TransmittedRequest>() else {
            return Ok(());
        };
        if context.response().status().is_success() {
            // The signature had the right time.
            if transmitted.skew_known {
                self.skew_known.store(false, Relaxed);
            }
            return Ok(());
        }
        let signed_at = transmitted.signed_at.as_ref().map(|text| &text[..]);
        let clock = Clock::of(signed_at, context.response(), transmitted.skew_known);
        if let Some(is_skewed) = clock.is_skewed() {
            self.skew_known.store(is_skewed, Relaxed);
        }
        let credentials = transmitted.credentials.clone();
        Signature { clock, credentials }.attach(context.response_mut());
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        match self.whole_body {
            Some(whole_body) => whole_body.look_at(context),
            None => Ok(()),
        }
    }

    fn modify_before_completion(
        &self,
        context: &mut FinalizerInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if bag.load::<TransmittedRequest>().is_none()
            && let Some(Err(error)) = context.output_or_error_mut()
        {
            let (code, is_passing) = reason(error, components, bag);
            let error = replace(error, OrchestratorError::other("moved"));
            if let Some(Err(moved)) = context.output_or_error_mut() {
                *moved = OrchestratorError::other(UnsentRequest {
                    is_passing,
                    code,
                    error,
                });
            }
        }
        Ok(())
    }
}

/// Why a request could not be made, in words, and whether another may succeed later with the same configuration of the client.
///
/// Credentials are fetched, and the caller's interceptors may do anything. Endpoint and signature depend on the
/// configuration alone.
fn reason(
    error: &OrchestratorError<context::Error>,
    components: &RuntimeComponents,
    bag: &ConfigBag,
) -> (&'static str, bool) {
    if error.is_interceptor_error() || error.is_timeout_error() {
        return (NOT_SENT, true);
    }
    if let Some(error) = chain(error).find_map(<dyn Error>::downcast_ref::<CredentialsError>) {
        return match error {
            CredentialsError::CredentialsNotLoaded(_) => (
                "not sent: there are no AWS credentials: none of the client's providers has any",
                false,
            ),
            CredentialsError::InvalidConfiguration(_) => (
                "not sent: there are no AWS credentials: their provider is not configured correctly",
                false,
            ),
            CredentialsError::ProviderTimedOut(_) => (
                "not sent: there are no AWS credentials: their provider did not answer in time",
                true,
            ),
            _ => ("not sent: there are no AWS credentials: their provider failed", true),
        };
    }
    let params = bag.load::<EndpointResolverParams>();
    let has_identity = bag.load::<Endpoint>().is_some() || params.is_some_and(has_identity);
    let scheme = components.auth_scheme(SIGNATURE);
    let may_have_identity = scheme.is_some_and(|scheme| scheme.identity_resolver(components).is_some());
    if may_have_identity || has_identity {
        (NOT_SENT, !has_identity)
    } else {
        (
            "not sent: there are no AWS credentials: the client has no provider of them",
            false,
        )
    }
}

fn has_identity(params: &EndpointResolverParams) -> bool {
    params.get_property::<Identity>().is_some()
}

/// The request that was never sent, if the error is about one.
pub(super) fn unsent<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a UnsentRequest> {
    chain(error).find_map(<dyn Error>::downcast_ref)
}

/// Whether an HTTP client failed to connect: name resolution, TCP, the tunnel of a proxy, or TLS. Nothing was sent then.
///
/// The SDK's own client reports it with the error of the HTTP library; others at least report a refused connection.
pub(super) fn is_unconnected(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        let client = error.downcast_ref::<hyper_util::client::legacy::Error>();
        let io = error.downcast_ref::<io::Error>();
        client.is_some_and(hyper_util::client::legacy::Error::is_connect)
            || io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused)
            || error.is::<ResolveDnsError>()
    })
}

/// The error and its sources. An `io::Error` holds the error that it was made from, but does not return it as its source.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map_or_else(|| error.source(), |held| Some(held))
    })
}

/// Whether an answer was longer than any of the service.
pub(super) fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(answer_limit::is_too_long)
}

/// The wait that an answer names: in milliseconds in AWS's own header, which the SDK reads too (`aws-runtime`), or as HTTP has
/// it, in seconds or as a date (RFC 9110, 10.2.3).
///
/// A date is compared with the date of the answer, because the clock of this machine may be wrong.
pub(super) fn named_wait(answer: &HttpResponse) -> Option<Duration> {
    let header = |name| answer.headers().get(name).map(str::trim);
    let milliseconds = header("x-amz-retry-after").and_then(|wait| wait.parse().ok());
    if let Some(milliseconds) = milliseconds {
        return Some(Duration::from_millis(milliseconds));
    }
    let wait = header("retry-after")?;
    if let Ok(seconds) = wait.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = header("date").and_then(http_date).unwrap_or_else(SystemTime::now);
    Some(http_date(wait)?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;

    use super::*;

    #[test]
    fn a_source_inside_an_io_error_is_found() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let held = io::Error::other(io::Error::other(refused));
        assert!(is_unconnected(&held));
        assert!(!is_unconnected(&io::Error::from(io::ErrorKind::ConnectionReset)));
        assert!(is_unconnected(&ResolveDnsError::new("no such host")));
    }

    fn read(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let mut answer = HttpResponse::new(503.try_into().unwrap(), SdkBody::empty());
        for (name, value) in headers {
            answer.headers_mut().insert(*name, (*value).to_owned());
        }
        named_wait(&answer)
    }

    #[test]
    fn a_wait_is_in_milliseconds_or_seconds_or_until_a_date() {
        const DATE: (&str, &str) = ("date", "Mon, 21 Sep 2026 14:13:20 GMT");
        let seconds = |count| Some(Duration::from_secs(count));
        for (headers, expected) in [
            (&[("x-amz-retry-after", "1500")][..], Some(Duration::from_millis(1_500))),
            (&[("retry-after", "3")], seconds(3)),
            (&[("retry-after", " 3 ")], seconds(3)),
            (&[("retry-after", "0")], seconds(0)),
            (&[("retry-after", "Mon, 21 Sep 2026 14:13:23 GMT"), DATE], seconds(3)),
            (&[("retry-after", "Mon, 21 Sep 2026 14:13:17 GMT"), DATE], seconds(0)),
            // Far in the past by any clock.
            (&[("retry-after", "Mon, 21 Sep 2020 14:13:20 GMT")], seconds(0)),
            (
                &[("x-amz-retry-after", "200"), ("retry-after", "3")],
                Some(Duration::from_millis(200)),
            ),
            (&[("x-amz-retry-after", "soon"), ("retry-after", "3")], seconds(3)),
            (&[("retry-after", "18446744073709551615")], seconds(u64::MAX)),
            (&[("retry-after", "soon"), DATE], None),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "1.5")], None),
            (&[("retry-after", "")], None),
            (&[], None),
        ] {
            assert_eq!(read(headers), expected, "{headers:?}");
        }
    }
}
