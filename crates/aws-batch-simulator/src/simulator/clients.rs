//! SDK clients that talk to a simulator.

use super::Simulator;

/// A macro, because the configuration is a type of its own in the SDK of each service.
macro_rules! clients {
    ($($feature:tt $client:ident $sdk:ident;)*) => {$(
        /// An SDK client that talks to this simulator. Its retries are the SDK's default: three attempts.
        #[cfg(feature = $feature)]
        pub fn $client(&self) -> $sdk::Client {
            use $sdk::config::{BehaviorVersion, Config, Credentials, IdentityCache, Region};
            let config = Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::from_static(crate::registry::REGION))
                .credentials_provider(Credentials::new("simulator", "simulator", None, None, "simulator"))
                .identity_cache(IdentityCache::no_cache())
                .sleep_impl(aws_smithy_async::rt::sleep::TokioSleep::new())
                .http_client(self.http_client())
                .build();
            $sdk::Client::from_conf(config)
        }
    )*};
}

impl Simulator {
    clients! {
        "cloudwatch" cloudwatch_client aws_sdk_cloudwatch;
        "cloudwatch-logs" cloudwatch_logs_client aws_sdk_cloudwatchlogs;
        "dynamodb" dynamo_client aws_sdk_dynamodb;
        "eventbridge" eventbridge_client aws_sdk_eventbridge;
        "firehose" firehose_client aws_sdk_firehose;
        "kinesis" kinesis_client aws_sdk_kinesis;
        "s3" s3_client aws_sdk_s3;
        "sns" sns_client aws_sdk_sns;
        "sqs" sqs_client aws_sdk_sqs;
    }
}
