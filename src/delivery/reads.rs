//! Reads from DynamoDB.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{Stream, StreamExt};

use super::Delivery;
use crate::debug::debug_fields;
use crate::report::{DeliveryError, Undelivered};
use crate::services::dynamo::{DynamoReads, KeyRead};

/// How many keys of a stream may be in progress before the first item is taken: ten calls. As many items may be in memory.
const ASKED_AHEAD: usize = 1_000;

type Attributes = HashMap<String, AttributeValue>;

impl Delivery<DynamoReads> {
    /// The items with these keys, in the order of the keys; `None` if the table has no such item.
    ///
    /// # Errors
    /// When any could not be read. The error has the items that were read, and the other keys, each with its cause.
    pub async fn get(&self, keys: impl IntoIterator<Item = Attributes>) -> Result<Vec<Option<Attributes>>, GetError> {
        let reads: Vec<KeyRead> = keys.into_iter().map(KeyRead::new).collect();
        let outcome = self.deliver(reads.iter().cloned()).await;
        let items = reads.iter().map(KeyRead::take_item).collect();
        match outcome {
            Ok(_) => Ok(items),
            Err(error) => Err(GetError { items, error }),
        }
    }

    /// The items with the keys of a stream, in the order of the keys; `None` if the table has no such item.
    ///
    /// Up to 1,000 keys are requested before the first item is taken. A call that is not full leaves when its first key has
    /// waited for the [`linger`](crate::DeliveryOptions::linger) time. A key that could not be read is returned in its place, and
    /// the stream continues. When the stream is dropped, keys that were requested are still read.
    ///
    /// ```no_run
    /// # use std::collections::HashMap;
    /// # use aws_batch_delivery::Delivery;
    /// # use aws_sdk_dynamodb::types::AttributeValue;
    /// # use futures::{Stream, StreamExt};
    /// # async fn example(client: aws_sdk_dynamodb::Client, keys: impl Stream<Item = HashMap<String, AttributeValue>>) {
    /// let mut films = std::pin::pin!(Delivery::reads_from_dynamo(client, "films").get_stream(keys));
    /// while let Some(film) = films.next().await {
    ///     match film {
    ///         Ok(Some(film)) => println!("{film:?}"),
    ///         Ok(None) => println!("no such film"),
    ///         Err(unread) => eprintln!("key {}: {}", unread.position, unread.cause),
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub fn get_stream<S>(
        &self,
        keys: S,
    ) -> impl Stream<Item = Result<Option<Attributes>, Undelivered<KeyRead>>> + use<S>
    where
        S: Stream<Item = Attributes>,
    {
        let producer = self.producer();
        let asked = keys.enumerate().map(move |(position, key)| {
            let producer = producer.clone();
            async move {
                let read = KeyRead::new(key);
                let sent = producer.send(read.clone()).await;
                // In the stream: a key that found no producer or no room has no position of its own.
                let position = position as u64;
                sent.map_err(|unread| Undelivered { position, ..unread })?;
                Ok(read.take_item())
            }
        });
        asked.buffered(ASKED_AHEAD)
    }
}

/// Some items could not be read.
///
/// `Debug` and `Display` show no key and no item.
#[non_exhaustive]
pub struct GetError {
    /// The items in the order of the keys. `None` if the table has no such item, or if it could not be read: then its key
    /// is in the error.
    pub items: Vec<Option<Attributes>>,
    /// The keys that could not be read, each with its cause.
    pub error: DeliveryError<KeyRead>,
}

impl fmt::Display for GetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

debug_fields!(GetError, error);

impl Error for GetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
