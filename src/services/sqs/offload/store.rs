//! The calls to S3.

use std::pin::pin;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{Builder, Config};
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use tracing::warn;
use uuid::Uuid;

use crate::aws::renewal::Changes;
use crate::aws::request::renewal;
use crate::aws::{Transmission, of_upload};
use crate::contract::{Fault, Rejection, Verdict};
use crate::events::CLEANUP;
use crate::time_limit::within;

/// The bucket that the bodies are stored in.
#[derive(Clone)]
pub(super) struct Store {
    client: Client,
    pub(super) bucket: String,
    pub(super) prefix: String,
    /// How long one call may take.
    pub(super) patience: Duration,
    per_call: Changes<Builder>,
}

impl Store {
    pub(super) fn new(client: Client, bucket: String, patience: Duration) -> Self {
        Self {
            per_call: per_call(&client),
            client,
            bucket,
            prefix: String::new(),
            patience,
        }
    }

    pub(super) fn key(&self, key: Uuid) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Uploads the body. A failure is the verdict on its message.
    pub(super) async fn put(&self, key: Uuid, body: &str) -> Result<(), Verdict> {
        let call = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(self.key(key))
            .body(ByteStream::from(body.as_bytes().to_vec()))
            .customize()
            .config_override(self.per_call.clone());
        match within(self.patience, pin!(call.send())).await {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(of_upload(error)),
            None => Err(Verdict::Rejected(Rejection::Connection, Fault::new("upload timeout"))),
        }
    }

    /// Removes an object that no message points to.
    pub(super) async fn remove(&self, key: Uuid) {
        let call = self
            .client
            .delete_object()
            .bucket(&self.bucket)
            .key(self.key(key))
            .customize()
            .config_override(self.per_call.clone());
        let code = match within(self.patience, pin!(call.send())).await {
            Some(Ok(_)) => return,
            Some(Err(error)) => error.code().unwrap_or("no answer").to_owned(),
            None => "timeout".to_owned(),
        };
        warn!(
            target: CLEANUP,
            bucket = self.bucket,
            key = self.key(key),
            code,
            "the object of an undelivered message could not be removed from the bucket"
        );
    }
}

/// The changes to the client's configuration for these calls. Its retries stay on, because uploading an object twice does no
/// harm. Once S3 has refused the credentials, they are loaded again.
fn per_call(client: &Client) -> Changes<Builder> {
    let renewal = renewal!(aws_sdk_s3, client);
    let always = Config::builder().interceptor(Transmission::renewing(renewal.clone()));
    Changes { always, renewal }
}
