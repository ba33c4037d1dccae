//! How long may be waited for what is looked up before a delivery begins.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;

use super::ANSWER;
use crate::console;
use crate::outcome::Failure;

/// The time that a lookup may take in all, including the attempts of the SDK.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookupTime(Duration);

/// As long as one answer: a worker that is cut off from the network continues when it is back.
impl Default for LookupTime {
    fn default() -> Self {
        Self(ANSWER)
    }
}

impl fmt::Display for LookupTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&console::time(self.0))
    }
}

impl LookupTime {
    /// No more than the whole run may take.
    pub(crate) fn of_run(deadline: Option<Duration>) -> Self {
        Self(deadline.map_or(ANSWER, |deadline| deadline.min(ANSWER)))
    }

    /// The answer about this, if it comes in time.
    pub(crate) async fn wait<T>(self, what: &str, answer: impl Future<Output = T>) -> Result<T, Failure> {
        timeout(self.0, Box::pin(answer)).await.map_err(|_| {
            Failure::Failed(format!(
                "{what} cannot be looked up: no answer within {self}. Check --region, --profile and --endpoint-url"
            ))
        })
    }
}
