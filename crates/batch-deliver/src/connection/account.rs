//! The account in which a service is called.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_sdk_dynamodb::config::ProvideCredentials;
use aws_sdk_sts::Client;
use aws_sdk_sts::config::Builder;
use tokio::time::timeout;

use super::{AnswerLimit, OF_AWS, endpoint_of};

/// How long STS is asked: an account that is not known is only not compared and not shown.
const ASKED: Duration = Duration::from_secs(5);

/// The account in which a service is called that does not say its own: as the credentials say, or STS. `None` if neither does, and for
/// an emulator of that service alone, whose credentials STS does not know.
pub(crate) async fn account(config: &SdkConfig, service: &str) -> Option<String> {
    let asked = async {
        if let Some(provider) = config.credentials_provider()
            && let Ok(credentials) = provider.provide_credentials().await
            && let Some(account) = credentials.account_id()
        {
            return Some(account.as_str().to_owned());
        }
        let is_of_emulator = |service| endpoint_of(config, service) != OF_AWS;
        if is_of_emulator(service) && !is_of_emulator("STS") {
            return None;
        }
        let config = Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .interceptor(AnswerLimit);
        let client = Client::from_conf(config.build());
        client.get_caller_identity().send().await.ok()?.account
    };
    timeout(ASKED, asked).await.ok()?
}

/// The account in an ARN.
pub(crate) fn account_of_arn(arn: &str) -> Option<&str> {
    let account = arn.strip_prefix("arn:")?.split(':').nth(3)?;
    is_account(account).then_some(account)
}

/// The account in the URL of a queue.
pub(crate) fn account_of_queue(url: &str) -> Option<&str> {
    url.rsplit('/').nth(1).filter(|account| is_account(account))
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|digit| digit.is_ascii_digit())
}
