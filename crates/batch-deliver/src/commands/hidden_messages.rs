//! What is printed about messages that nothing could be done with, because they were not visible.

use std::time::Duration;

use crate::console::{Console, counted, time};
use crate::outcome::Failure;
use crate::sink::{ExistingQueue, HiddenMessages};

/// How long a killed run of this program hides what it had received, and what did not match or could not be sent: the times of
/// `Receive` and of `Ticket::set_aside`.
const RECEIVED: Duration = Duration::from_mins(1);
const SET_ASIDE: Duration = Duration::from_mins(15);

/// The messages that were not visible before a run. During it, its own are not visible either.
pub(super) struct HiddenBaseline {
    queue: ExistingQueue,
    /// Or why they are not known.
    hidden: Result<HiddenMessages, String>,
}

impl HiddenBaseline {
    pub(super) async fn of(queue: &ExistingQueue) -> Result<Self, Failure> {
        Ok(Self {
            hidden: queue.hidden().await?,
            queue: queue.clone(),
        })
    }

    /// Prints how many of them are still not visible after the run, and until when. Returns their number, if it is known.
    pub(super) async fn tell(self, name: &str, console: &Console) -> Option<u64> {
        let before = match self.hidden {
            Ok(before) => before,
            Err(because) => {
                console.info(&format!(
                    "whether {name} has messages that are not visible is not known: {because}"
                ));
                return None;
            }
        };
        if before.messages == 0 {
            return Some(0);
        }
        // What this run has received is in the number as well until SQS has counted again.
        let after = self.queue.hidden().await.ok()?.ok()?;
        let messages = before.messages.min(after.messages);
        if messages > 0 {
            console.warn(&format!(
                "about {} of {name} are not visible: a run that was killed had received them, or another consumer has. They stay in the \
                 queue, and are visible again within {} ({} if they did not match), or, if another consumer has them, within {} \
                 unless it prolongs that: the same command continues then",
                counted(messages, "message"),
                time(RECEIVED),
                time(SET_ASIDE),
                time(before.timeout),
            ));
        }
        Some(messages)
    }
}
