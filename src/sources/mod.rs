//! Tables as the input of a delivery: [`Scan`] reads a whole table, or the items of one partition key, at a pace of its own.
//!
//! Many writes start from a table: to copy it, to empty it, to set an attribute wherever a filter holds. The pace of the writes is that
//! of their delivery; the reads need one as well, because a page of a scan costs up to 128 read units at once, and other readers
//! of the table are throttled for it.
//!
//! ```no_run
//! # use std::collections::HashMap;
//! # use aws_batch_delivery::{Delivery, sources::Scan};
//! # use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
//! # async fn example(client: aws_sdk_dynamodb::Client) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let put = |item: &HashMap<String, AttributeValue>| {
//!     let put = PutRequest::builder().set_item(Some(item.clone())).build()?;
//!     Ok::<_, aws_sdk_dynamodb::error::BuildError>(WriteRequest::builder().put_request(put).build())
//! };
//! let films = Scan::new(client.clone(), "films").items();
//! let copy = Delivery::to_dynamo(client, "copy").try_map_entries(put);
//! println!("{}", copy.try_deliver_stream(films).await?);
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//! A page is an entry of a delivery whose target reads: pace, retries, time limits, outages, logs and metrics are those of every
//! delivery, in units of read capacity. What a page costs is known only from the answer, so a page is charged in advance what the
//! segment's last page cost for each item. Its [`Limit`](Scan::page_items) keeps it within a quarter of a second of the pace.
//!
//! The pages of a segment are read one after another, and those of several segments at the same time. A segment whose partition has
//! no capacity left waits alone. When the items are not taken, pages wait: one for each call in flight, and none is read beyond them.
//!
//! # What a scan promises
//! - An item that is in the table the whole time is returned exactly once. An item that is written or deleted meanwhile may be returned
//!   or not, in its old or its new state.
//! - After an interruption the scan continues [from a position](Scan::from_position). Each item that is in the table the whole time is
//!   returned at least once; those of the pages that were not settled completely are returned again.
//! - A page without items is not the end: with a filter there may be any number of them.
//!
//! # Queues
//! `Receive`, with the feature `sqs`, is the same for a queue: a stream of its messages, each of which is deleted only after it was
//! settled.
//!
//! | file | what it is |
//! |---|---|
//! | `queue` | a queue as the input |
//! | `scan` | what is read, and how |
//! | `items` | the stream of the items |
//! | `segment` | one segment: how large its next page is |
//! | `progress` | how far a scan is: its figures, and where it can be continued |
//! | `position` | where each segment is continued |
//! | `error` | why a scan has ended early |

mod error;
#[cfg(feature = "dynamodb")]
mod items;
#[cfg(feature = "dynamodb")]
mod position;
#[cfg(feature = "dynamodb")]
mod progress;
#[cfg(feature = "sqs")]
mod queue;
#[cfg(feature = "dynamodb")]
mod scan;
#[cfg(feature = "dynamodb")]
mod segment;

pub use error::SourceError;
#[cfg(feature = "dynamodb")]
pub use items::ScannedItems;
#[cfg(feature = "dynamodb")]
pub use position::ScanPosition;
#[cfg(feature = "dynamodb")]
pub use progress::{ScanFigures, ScanProgress};
#[cfg(feature = "sqs")]
pub use queue::{Receive, ReceiveFigures, ReceiveProgress, Received, ReceivedMessages, Ticket};
#[cfg(feature = "dynamodb")]
pub use scan::Scan;
