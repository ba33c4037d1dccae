//! The SDK's clients: their own HTTP client, a name that may not be resolvable, and credentials that may be unavailable.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;

use super::conditions::Conditions;
use super::fault::Outage;
use super::witness::Witness;

/// How to reach the service.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) port: u16,
    pub(crate) conditions: Conditions,
    /// The attempt timeout, if the SDK enforces it.
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) witness: Option<Witness>,
}

/// Resolves the name of the service, except during an outage of the name.
#[derive(Debug, Clone)]
struct Resolver(Conditions);

impl ResolveDns for Resolver {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::ready(if self.0.has(Outage::Unresolved) {
            Err(ResolveDnsError::new(format!("{name} cannot be resolved")))
        } else {
            Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
        })
    }
}

impl Access {
    /// A client of its own for each, so that each has its own connections.
    fn http_client(&self) -> SharedHttpClient {
        // The SDK accepts a resolver only together with TLS. The URL has no TLS, so no certificate is checked.
        let context = TlsContext::builder().with_trust_store(TrustStore::empty()).build();
        Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
            .tls_context(context.expect("a context without certificates"))
            .build_with_resolver(Resolver(self.conditions.clone()))
    }

    fn credentials(&self) -> SharedCredentialsProvider {
        let conditions = self.conditions.clone();
        SharedCredentialsProvider::new(provide_credentials_fn(move || {
            let away = conditions.has(Outage::NoCredentials);
            async move {
                if away {
                    return Err(CredentialsError::provider_error("the provider is away"));
                }
                Ok(Credentials::new("key", "secret", None, None, "test"))
            }
        }))
    }
}

macro_rules! client {
    ($sdk:ident, $access:ident) => {{
        use $sdk::config::{BehaviorVersion, Config, IdentityCache, Region};
        let mut timeouts = TimeoutConfig::builder();
        timeouts.set_operation_attempt_timeout($access.attempt_timeout);
        let mut config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider($access.credentials())
            .identity_cache(IdentityCache::no_cache())
            .endpoint_url(format!("http://service.test:{}", $access.port))
            .http_client($access.http_client())
            .sleep_impl(TokioSleep::new())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts.build());
        if let Some(witness) = &$access.witness {
            config = config.interceptor(witness.clone());
        }
        $sdk::Client::from_conf(config.build())
    }};
}

impl Access {
    pub(crate) fn dynamo(&self) -> aws_sdk_dynamodb::Client {
        client!(aws_sdk_dynamodb, self)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        client!(aws_sdk_sqs, self)
    }
}
