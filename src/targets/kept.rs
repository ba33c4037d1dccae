//! What a client keeps from call to call.
//!
//! A client that is derived from another one's configuration has connections and credentials of its own, unless the other
//! one's are set in it. Only a call tells which these are, since most clients make them by default.

use std::sync::{OnceLock, Weak};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector};
use aws_smithy_runtime_api::client::identity::SharedIdentityCache;
use aws_smithy_runtime_api::client::interceptors::context::BeforeSerializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, SharedInterceptor, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// The interceptor by which a client remembers how far its clock is from the service's, by its name in `aws-runtime`.
const CLOCK: &str = "ServiceClockSkewInterceptor";

/// What a client keeps from call to call.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its connections.
    pub(crate) http_client: Approved,
    /// Its credentials.
    pub(crate) identity_cache: SharedIdentityCache,
    /// How far its clock is from the service's. A client that does not have it signs its first call for the wrong time.
    pub(crate) clock: Option<SharedInterceptor>,
}

/// Learns what a client keeps from the first call that it sees. It does not hold what it has learnt: it is a part of that call,
/// and what a client keeps may hold a call's parts.
#[derive(Debug, Clone)]
pub(crate) struct Learner(pub(crate) Weak<OnceLock<Kept>>);

#[dyn_dispatch_hint]
impl Intercept for Learner {
    fn name(&self) -> &'static str {
        "Learner"
    }

    // Before the call waits for anything, so that a call that begins later can be made with it.
    fn read_before_serialization(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        components: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let (Some(learnt), Some(http_client)) = (self.0.upgrade(), components.http_client()) {
            learnt.get_or_init(|| Kept {
                http_client: Approved(http_client),
                identity_cache: components.identity_cache(),
                clock: components
                    .interceptors()
                    .find(|interceptor| interceptor.name() == CLOCK),
            });
        }
        Ok(())
    }
}

/// An HTTP client that a client was made with. To make another one with it does not check the two once more, for which it may
/// have to load all certificates.
#[derive(Debug, Clone)]
pub(crate) struct Approved(SharedHttpClient);

impl HttpClient for Approved {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        self.0.http_connector(settings, components)
    }

    fn validate_final_config(&self, components: &RuntimeComponents, config: &ConfigBag) -> Result<(), BoxError> {
        self.0.validate_final_config(components, config)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.0.connector_metadata()
    }
}
