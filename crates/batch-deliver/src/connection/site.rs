//! Where something is that a command changes: the account, the region and the endpoint.

use std::sync::Arc;

use aws_config::SdkConfig;

use super::{OF_AWS, account, endpoint_of};

/// Where a table, a queue or a bucket is.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    config: Arc<SdkConfig>,
    /// The service that has it.
    service: &'static str,
    /// The endpoint of the service.
    endpoint: String,
    /// The account, as far as it is known without asking for it.
    account: Option<String>,
}

impl Site {
    /// Of what this service has, in this account if it is known.
    pub(super) fn new(config: &SdkConfig, given: Option<&str>, service: &'static str, account: Option<&str>) -> Self {
        Self {
            config: Arc::new(config.clone()),
            service,
            endpoint: given.map_or_else(|| endpoint_of(config, service), ToOwned::to_owned),
            account: account.map(ToOwned::to_owned),
        }
    }

    /// Where what has this name is, in words. Without its account, this names that of the credentials.
    pub(crate) async fn of(&self, name: &str) -> String {
        let account = match &self.account {
            Some(account) => Some(account.clone()),
            None => account(&self.config, self.service).await,
        };
        let account = account.map_or("account not known".to_owned(), |account| format!("account {account}"));
        let region = self.config.region().map(ToString::to_string);
        let endpoint = (self.endpoint != OF_AWS).then(|| self.endpoint.clone());
        let words = [Some(account), region, endpoint];
        format!("{name}: {}", words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
