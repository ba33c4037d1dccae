//! The account of the credentials.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials;
use aws_sdk_sts::Client;
use tokio::time::timeout;

use super::{OF_AWS, endpoint_of};

/// How long STS is asked: an account that is not known is only not compared.
const ASKED: Duration = Duration::from_secs(10);

/// The account in which a service is called that does not tell its own: as the credentials say, or STS. `None` if neither does, and for
/// an emulator of that service alone, whose credentials STS does not know.
pub(crate) async fn account(config: &SdkConfig, service: &str) -> Option<String> {
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
    let ask = Client::new(config).get_caller_identity().send();
    timeout(ASKED, ask).await.ok()?.ok()?.account
}
