//! The HTTP client of all contestants: without TLS, or the SDK's own with one more certificate to trust.

use std::fs;

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use peers::{Failure, Work};

pub fn client(work: &Work) -> Result<SharedHttpClient, Failure> {
    let Some(certificate) = &work.certificate else {
        return Ok(Builder::new().build_http());
    };
    let trusted = TrustStore::default().with_pem_certificate(fs::read(certificate)?);
    let context = TlsContext::builder().with_trust_store(trusted).build()?;
    Ok(Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .tls_context(context)
        .build_https())
}
