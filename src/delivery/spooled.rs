//! A delivery of entries that are on disk first.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Delivery;
use crate::contract::BatchTarget;
use crate::run::Contents;
use crate::spool::{Spool, SpoolError, SpoolOptions};

impl<T: BatchTarget, C: Contents<T>> Delivery<T, C>
where
    C::Value: Serialize + DeserializeOwned,
{
    /// A handle for many tasks that submit single entries, which are on disk before they are acknowledged, and survive a crash, a
    /// restart and an outage of hours. It begins with what an earlier process has left in the folder, and starts tasks of the current
    /// tokio runtime, which end when the spool is [closed](Spool::close).
    ///
    /// ```no_run
    /// # use aws_batch_delivery::{Delivery, spool::{SpoolError, SpoolOptions}, targets::BatchTarget};
    /// # async fn example(lines: Delivery<impl BatchTarget<Entry = String>>) -> Result<(), SpoolError> {
    /// let lines = lines.spooled(SpoolOptions::at("/var/lib/lines")).await?;
    /// lines.enqueue(&"one line".to_owned()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The [module](crate::spool) says what it guarantees. A [cancellation](crate::DeliveryOptions::cancellation) and a
    /// [deadline](crate::DeliveryOptions::deadline) close it.
    ///
    /// # Errors
    /// When the folder is in use, is not one of a spool, or cannot be read or written.
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub async fn spooled(&self, options: SpoolOptions) -> Result<Spool<C::Value>, SpoolError> {
        Spool::start(&self.run, options).await
    }
}
