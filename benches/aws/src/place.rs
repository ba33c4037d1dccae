//! Where the parts run: AWS, an emulator, or the simulator.

use std::time::Duration;

use anyhow::{Context, Result};
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::config::SharedHttpClient;

use crate::belongings::Belongings;
use crate::name::{PREFIX, RunId};
use crate::parts::Part;
use crate::tally::Tally;

/// Of emulators, which ask for some and look at none.
pub(crate) const TEST_KEY: &str = "test";
/// Attempts of the calls that make and delete.
const ATTEMPTS: u32 = 8;
const ATTEMPT: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(10);

/// A service, and what a run has there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) region: String,
    /// `None`: that of AWS.
    pub(crate) endpoint: Option<String>,
    /// Whose calls are counted, without retries of the SDK.
    pub(crate) dynamo: aws_sdk_dynamodb::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) tally: Tally,
    pub(crate) belongings: Belongings,
    config: SdkConfig,
}

impl Place {
    /// AWS, with the credentials of the environment.
    pub(crate) async fn aws(region: &str) -> Result<Self> {
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .load()
            .await;
        anyhow::ensure!(
            config.endpoint_url().is_none(),
            "the environment or the profile names an endpoint ({}): unset AWS_ENDPOINT_URL, or name it by --endpoint-url",
            config.endpoint_url().unwrap_or_default()
        );
        Ok(Self::new("AWS", region, None, &config))
    }

    /// What answers at a URL, with credentials of the environment if there are any.
    pub(crate) async fn emulator(name: &str, url: &str) -> Self {
        let region = "us-east-1";
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::from_static(region))
            .endpoint_url(url)
            .credentials_provider(Credentials::new(TEST_KEY, TEST_KEY, None, None, "emulator"));
        Self::new(name, region, Some(url.to_owned()), &config.load().await)
    }

    fn new(name: &str, region: &str, endpoint: Option<String>, config: &SdkConfig) -> Self {
        let tally = Tally::default();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .operation_attempt_timeout(ATTEMPT)
            .build();
        let config = config.to_builder().timeout_config(timeouts).build();
        let patient = config
            .to_builder()
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .build();
        let belongings = Belongings::new(
            RunId::random(),
            aws_sdk_dynamodb::Client::new(&patient),
            aws_sdk_sqs::Client::new(&patient),
            endpoint.is_none(),
        );
        let (dynamo, sqs) = counted(&config, &tally);
        Self {
            name: name.to_owned(),
            region: region.to_owned(),
            endpoint,
            dynamo,
            sqs,
            tally,
            belongings,
            config,
        }
    }

    /// A client for tables whose calls are counted, too, and go another way.
    pub(crate) fn dynamo_by(&self, endpoint: Option<&str>, http: SharedHttpClient) -> aws_sdk_dynamodb::Client {
        let mut config = self.config.to_builder().http_client(http);
        if let Some(endpoint) = endpoint {
            config = config.endpoint_url(endpoint);
        }
        counted(&config.build(), &self.tally).0
    }

    /// Whether the services of these parts answer: nothing is made if they do not.
    pub(crate) async fn check(&self, parts: &[Part]) -> Result<()> {
        if !parts.iter().all(|part| part.is_of_queues()) {
            let listed = self.dynamo.list_tables().limit(1).send().await;
            listed.context("ListTables")?;
        }
        if parts.iter().any(|part| part.is_of_queues()) {
            let listed = self.sqs.list_queues().queue_name_prefix(PREFIX).send().await;
            listed.context("ListQueues")?;
        }
        Ok(())
    }

    /// The account of the credentials.
    pub(crate) async fn account(&self) -> Result<String> {
        let identity = aws_sdk_sts::Client::new(&self.config)
            .get_caller_identity()
            .send()
            .await?;
        Ok(identity.account.unwrap_or_default())
    }
}

fn counted(config: &SdkConfig, tally: &Tally) -> (aws_sdk_dynamodb::Client, aws_sdk_sqs::Client) {
    let dynamo = aws_sdk_dynamodb::config::Builder::from(config)
        .retry_config(RetryConfig::disabled())
        .interceptor(tally.clone());
    let sqs = aws_sdk_sqs::config::Builder::from(config)
        .retry_config(RetryConfig::disabled())
        .interceptor(tally.clone());
    (
        aws_sdk_dynamodb::Client::from_conf(dynamo.build()),
        aws_sdk_sqs::Client::from_conf(sqs.build()),
    )
}
