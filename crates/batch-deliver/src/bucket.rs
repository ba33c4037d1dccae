//! The client for a bucket, in the bucket's own region.

use std::env;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_s3::config::{Builder, ConfigBag, Intercept, Region, RuntimeComponents};
use aws_sdk_s3::error::BoxError;

use crate::arguments::Service;
use crate::connect;
use crate::outcome::Failure;

/// The header in which S3 names the region of a bucket, also if the request was sent to another region or is not permitted.
const REGION: &str = "x-amz-bucket-region";

/// The header of a request that its sender pays for.
const PAYER: (&str, &str) = ("x-amz-request-payer", "requester");

/// The client for this bucket. The SDK does not follow S3 to another region, so the region is looked up if it is not given.
pub(crate) async fn client(service: &Service, bucket: &str) -> Result<Client, Failure> {
    let config = connect::config(service).await?;
    // Emulators do not resolve bucket names as hosts.
    let is_emulator = config.endpoint_url().is_some() || env::var_os("AWS_ENDPOINT_URL_S3").is_some();
    let mut builder = Builder::from(&config).force_path_style(is_emulator);
    if service.request_payer {
        builder = builder.interceptor(RequestPayer);
    }
    if let Some(region) = &service.s3_region {
        return Ok(Client::from_conf(builder.region(Region::new(region.clone())).build()));
    }
    let client = Client::from_conf(builder.clone().build());
    match region(&client, bucket).await? {
        Some(region) => Ok(Client::from_conf(builder.region(Region::new(region)).build())),
        None => Ok(client),
    }
}

/// The region that S3 names; `None` if it names none, as for a bucket that does not exist.
async fn region(client: &Client, bucket: &str) -> Result<Option<String>, Failure> {
    let error = match client.head_bucket().bucket(bucket).send().await {
        Ok(answer) => return Ok(answer.bucket_region),
        Err(error) => error,
    };
    match error.raw_response() {
        Some(answer) => Ok(answer.headers().get(REGION).map(ToOwned::to_owned)),
        None => Err(Failure::Failed(format!(
            "the bucket {bucket} cannot be reached: {}",
            connect::words(&error)
        ))),
    }
}

/// Says in each request that its sender pays, as buckets with Requester Pays demand. Other buckets ignore it.
#[derive(Debug)]
struct RequestPayer;

impl Intercept for RequestPayer {
    fn name(&self) -> &'static str {
        "RequestPayer"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (name, value) = PAYER;
        context.request_mut().headers_mut().insert(name, value);
        Ok(())
    }
}
