//! What is read of a table, and how.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::StreamExt;

use super::error::SourceError;
use super::items::ScannedItems;
use super::position::ScanPosition;
use super::progress::ScanFigures;
use crate::debug::debug_fields;
use crate::options::DeliveryOptions;
use crate::services::dynamo::PageRequest;

/// Segments that are read at the same time. At 0.1 s for a page of 1 MB they read 80 MB/s, about what an on-demand table gives at
/// first: 12,000 read units/s.
const SEGMENTS: u32 = 8;

/// Segments of a scan at most. From the API reference of `Scan`.
const MAX_SEGMENTS: u32 = 1_000_000;

/// Reads all items of a DynamoDB table or of an index, those of one partition key, or those that a filter holds for.
///
/// The [module](super) documents its guarantees.
///
/// # Default
/// - 8 segments
/// - eventually consistent reads of all attributes, without a filter
/// - pages of up to 1 MB, smaller where the pace is low
/// - the pace and the time limits of [`DeliveryOptions::default`]: as fast as the table allows, for 15 minutes for each page
#[derive(Clone)]
#[must_use]
pub struct Scan {
    client: Client,
    request: PageRequest,
    options: DeliveryOptions,
    page_items: Option<u32>,
    start: Option<ScanPosition>,
}

impl Scan {
    /// Of the table with this name or ARN.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self::with(client, table.into(), SEGMENTS, None)
    }

    /// Of the items of one partition key, for which this key condition expression of DynamoDB holds, by `Query`: it costs the read
    /// units of these items alone. They are read in one segment, in the order of the sort key.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::sources::Scan;
    /// # use aws_sdk_dynamodb::types::AttributeValue;
    /// # fn example(client: aws_sdk_dynamodb::Client) -> Scan {
    /// Scan::query(client, "orders", "customer = :customer AND begins_with(placed, :year)")
    ///     .value(":customer", AttributeValue::S("c-17".into()))
    ///     .value(":year", AttributeValue::S("2026".into()))
    /// # }
    /// ```
    pub fn query(client: Client, table: impl Into<String>, key_condition: impl Into<String>) -> Self {
        Self::with(client, table.into(), 1, Some(key_condition.into()))
    }

    fn with(client: Client, table: String, segments: u32, key_condition: Option<String>) -> Self {
        Self {
            client,
            request: PageRequest {
                table,
                index: None,
                key_condition,
                segments,
                is_consistent: false,
                filter: None,
                projection: None,
                names: HashMap::new(),
                values: HashMap::new(),
                is_count: false,
            },
            options: DeliveryOptions::default(),
            page_items: None,
            start: None,
        }
    }

    /// Reads this index of the table: its items, with the attributes that it has, at the read capacity of the index.
    pub fn index(mut self, name: impl Into<String>) -> Self {
        self.request.index = Some(name.into());
        self
    }

    /// In how many segments the table is divided. Pages of up to [`concurrency`](DeliveryOptions::concurrency) segments are read at
    /// the same time, and as many wait in memory when the items are not taken. Default: 8.
    ///
    /// # Panics
    /// When it is 0 or above 1,000,000, the limit of the service, and for a [query](Self::query), which has one segment.
    #[track_caller]
    pub fn segments(mut self, segments: u32) -> Self {
        assert!(
            self.request.key_condition.is_none(),
            "the items of one partition key are not divided into segments"
        );
        assert!(
            (1..=MAX_SEGMENTS).contains(&segments),
            "the segments must be from 1 to {MAX_SEGMENTS}, but are {segments}"
        );
        self.request.segments = segments;
        self.start = None;
        self
    }

    /// Reads see every write that was accepted before them, at twice the read units. Default: eventually consistent reads.
    pub fn consistent(mut self) -> Self {
        self.request.is_consistent = true;
        self
    }

    /// Returns only the items for which this filter expression of DynamoDB holds. The read units are those of all items.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::sources::Scan;
    /// # use aws_sdk_dynamodb::types::AttributeValue;
    /// # fn example(client: aws_sdk_dynamodb::Client) -> Scan {
    /// Scan::new(client, "films")
    ///     .filter("#year < :until")
    ///     .name("#year", "year")
    ///     .value(":until", AttributeValue::N("1950".into()))
    /// # }
    /// ```
    pub fn filter(mut self, expression: impl Into<String>) -> Self {
        self.request.filter = Some(expression.into());
        self
    }

    /// Returns only the attributes of this projection expression of DynamoDB; those of the key as well only if it names them. The
    /// read units are those of whole items.
    pub fn projection(mut self, expression: impl Into<String>) -> Self {
        self.request.projection = Some(expression.into());
        self
    }

    /// The attribute that a placeholder of the expressions stands for: `#year` for `year`.
    pub fn name(mut self, placeholder: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.request.names.insert(placeholder.into(), attribute.into());
        self
    }

    /// The value that a placeholder of the expressions stands for, such as `:until`.
    pub fn value(mut self, placeholder: impl Into<String>, value: AttributeValue) -> Self {
        self.request.values.insert(placeholder.into(), value);
        self
    }

    /// How to read: the pace in read units, concurrency, time limits, cancellation. Use other options than those of the writes to the
    /// same table, because reads and writes have different capacities.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::{DeliveryOptions, sources::Scan};
    /// # fn example(client: aws_sdk_dynamodb::Client) -> Scan {
    /// Scan::new(client, "films").options(DeliveryOptions::default().max_rate(50.0))
    /// # }
    /// ```
    pub fn options(mut self, options: DeliveryOptions) -> Self {
        self.options = options;
        self
    }

    /// At most this many items are read in a page. Default: as many as are read in a quarter of a second at the current pace, and at
    /// most 1 MB.
    ///
    /// # Panics
    /// When it is 0.
    #[track_caller]
    pub fn page_items(mut self, items: u32) -> Self {
        assert!(items > 0, "a page must have at least 1 item");
        self.page_items = Some(items);
        self
    }

    /// Continues where an earlier scan of the table has ended, in as many segments as that one. The filter and the projection may be
    /// others, a key condition must be the same.
    ///
    /// # Panics
    /// When the position of a scan in several segments is given to a [query](Self::query).
    #[track_caller]
    pub fn from_position(mut self, position: ScanPosition) -> Self {
        let segments = position.segments();
        assert!(
            self.request.key_condition.is_none() || segments == 1,
            "a position in {segments} segments is not one of the items of one partition key"
        );
        self.request.segments = segments;
        self.start = Some(position);
        self
    }

    /// The items, in no particular order; those of a [query](Self::query) in the order of the sort key.
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub fn items(self) -> ScannedItems {
        ScannedItems::new(self.client, self.request, self.options, self.page_items, self.start)
    }

    /// How many items there are for which the filter holds, without their contents; a projection does not matter. It costs the same
    /// read units as reading them.
    ///
    /// # Errors
    /// When a page could not be read.
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub async fn count(mut self) -> Result<ScanFigures, SourceError> {
        self.request.is_count = true;
        if self.request.projection.take().is_some() {
            // A call with a placeholder that is in no expression is refused.
            let left = [self.request.filter.clone(), self.request.key_condition.clone()];
            let is_left = |placeholder: &str| left.iter().flatten().any(|text| has_word(text, placeholder));
            self.request.names.retain(|placeholder, _| is_left(placeholder));
        }
        let mut items = self.items();
        let progress = items.progress();
        while let Some(item) = items.next().await {
            item?;
        }
        Ok(progress.figures())
    }
}

/// Whether the placeholder is in the expression, and not only the beginning of a longer one.
fn has_word(expression: &str, placeholder: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    expression
        .match_indices(placeholder)
        .any(|(place, _)| is_end(&expression[place + placeholder.len()..]))
}

// Without the expressions, whose values are content.
debug_fields!(
    scan: Scan,
    segments = scan.request.segments,
    is_query = scan.request.key_condition.is_some(),
    is_consistent = scan.request.is_consistent,
    page_items = scan.page_items,
    options = scan.options,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_a_whole_word() {
        assert!(has_word("#a = :b", "#a") && has_word("#ab=:c AND#a<:d", "#a"));
        assert!(!has_word("#ab = :b", "#a") && !has_word("", "#a"));
    }
}
