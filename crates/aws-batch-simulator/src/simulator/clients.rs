//! SDK clients that talk to a simulator.

#![cfg(any(
    feature = "cloudwatch",
    feature = "cloudwatch-logs",
    feature = "dynamodb",
    feature = "eventbridge",
    feature = "firehose",
    feature = "kinesis",
    feature = "s3",
    feature = "sns",
    feature = "sqs"
))]

use aws_smithy_async::rt::sleep::TokioSleep;

use super::Simulator;
use crate::registry::REGION;

/// A macro, because the configuration is a type of its own in the SDK of each service.
macro_rules! client {
    ($sdk:ident, $simulator:expr) => {{
        use $sdk::config::{BehaviorVersion, Config, Credentials, IdentityCache, Region};
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .credentials_provider(Credentials::new("simulator", "simulator", None, None, "simulator"))
            .identity_cache(IdentityCache::no_cache())
            .sleep_impl(TokioSleep::new())
            .http_client($simulator.http_client())
            .build();
        $sdk::Client::from_conf(config)
    }};
}

impl Simulator {
    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "cloudwatch")]
    pub fn cloudwatch_client(&self) -> aws_sdk_cloudwatch::Client {
        client!(aws_sdk_cloudwatch, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "cloudwatch-logs")]
    pub fn cloudwatch_logs_client(&self) -> aws_sdk_cloudwatchlogs::Client {
        client!(aws_sdk_cloudwatchlogs, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "dynamodb")]
    pub fn dynamo_client(&self) -> aws_sdk_dynamodb::Client {
        client!(aws_sdk_dynamodb, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "sqs")]
    pub fn sqs_client(&self) -> aws_sdk_sqs::Client {
        client!(aws_sdk_sqs, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "s3")]
    pub fn s3_client(&self) -> aws_sdk_s3::Client {
        client!(aws_sdk_s3, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "kinesis")]
    pub fn kinesis_client(&self) -> aws_sdk_kinesis::Client {
        client!(aws_sdk_kinesis, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "firehose")]
    pub fn firehose_client(&self) -> aws_sdk_firehose::Client {
        client!(aws_sdk_firehose, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "sns")]
    pub fn sns_client(&self) -> aws_sdk_sns::Client {
        client!(aws_sdk_sns, self)
    }

    /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
    #[cfg(feature = "eventbridge")]
    pub fn eventbridge_client(&self) -> aws_sdk_eventbridge::Client {
        client!(aws_sdk_eventbridge, self)
    }
}
