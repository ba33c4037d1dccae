//! How long may be waited for what is looked up before a delivery begins.

use std::time::Duration;

use tokio::time::timeout;

use crate::console;
use crate::outcome::Failure;

/// As long as one answer may take. Most take milliseconds; a worker that is cut off from the network goes on when it is back.
const LONGEST: Duration = Duration::from_mins(5);

/// The time that a lookup may take in all, however often it is repeated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookupTime(Duration);

impl Default for LookupTime {
    fn default() -> Self {
        Self(LONGEST)
    }
}

impl LookupTime {
    /// No more than the whole run may take.
    pub(crate) fn of_run(deadline: Option<Duration>) -> Self {
        Self(deadline.map_or(LONGEST, |deadline| deadline.min(LONGEST)))
    }

    /// The answer about this, if it comes in time.
    pub(crate) async fn wait<T>(self, what: &str, answer: impl Future<Output = T>) -> Result<T, Failure> {
        timeout(self.0, Box::pin(answer)).await.map_err(|_| {
            Failure::Failed(format!(
                "{what} cannot be looked up: no answer within {}. Check --region, --profile and --endpoint-url",
                console::time(self.0)
            ))
        })
    }
}
