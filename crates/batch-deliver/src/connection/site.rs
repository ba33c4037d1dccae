//! Where something is that a command changes: the account, the region and the endpoint.

use std::sync::Arc;

use aws_config::SdkConfig;
use tokio::sync::OnceCell;

use super::endpoints::without_user;
use super::{OF_AWS, account, endpoint_of};

/// Where a table, a queue or a bucket is.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    config: Arc<SdkConfig>,
    /// The service that has it.
    service: &'static str,
    /// The endpoint of the service.
    endpoint: String,
    /// The account, which is asked for once; within that, `None` if it is not known.
    account: Arc<OnceCell<Option<String>>>,
}

impl Site {
    /// Of what this service has, in this account if it is known.
    pub(super) fn new(config: &SdkConfig, given: Option<&str>, service: &'static str, account: Option<&str>) -> Self {
        Self {
            config: Arc::new(config.clone()),
            service,
            endpoint: given.map_or_else(|| endpoint_of(config, service), without_user),
            account: Arc::new(OnceCell::new_with(account.map(|account| Some(account.to_owned())))),
        }
    }

    /// The account; if that is not known, that of the credentials.
    pub(crate) async fn account(&self) -> Option<String> {
        let asked = || account(&self.config, self.service);
        self.account.get_or_init(asked).await.clone()
    }

    /// Where what has this name is, in words.
    pub(crate) async fn of(&self, name: &str) -> String {
        let account = self.account().await;
        let account = account.map_or("account not known".to_owned(), |account| format!("account {account}"));
        let region = self.config.region().map(ToString::to_string);
        let endpoint = (self.endpoint != OF_AWS).then(|| self.endpoint.clone());
        let words = [Some(account), region, endpoint];
        format!("{name}: {}", words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
