//! A page of a scan or a query: what it asks for, and what it has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::{AttributeValue, Select};

use super::Attributes;

/// What every page of a scan or a query asks for.
#[derive(Clone)]
pub(crate) struct PageRequest {
    /// The table's name or ARN.
    pub(crate) table: String,
    /// The index that is read instead of the table itself.
    pub(crate) index: Option<String>,
    /// Only the items of one partition key are read, for which this expression holds.
    pub(crate) key_condition: Option<String>,
    /// In how many segments the table is read.
    pub(crate) segments: u32,
    pub(crate) is_consistent: bool,
    pub(crate) filter: Option<String>,
    pub(crate) projection: Option<String>,
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: HashMap<String, AttributeValue>,
    /// Only the number of items is asked for.
    pub(crate) is_count: bool,
}

/// A page that is read, and what it has once it was read. A clone shares that.
#[derive(Clone)]
pub(crate) struct PageRead {
    pub(crate) segment: u32,
    /// The key after which the page begins; `None` for the first page of the segment.
    pub(crate) after: Option<Attributes>,
    /// Items that are read at most, before the filter.
    pub(crate) limit: Option<i32>,
    /// Read units that it costs, as an estimate.
    pub(crate) units: usize,
    page: Arc<Mutex<Option<Page>>>,
}

/// What a page has.
#[derive(Default)]
pub(crate) struct Page {
    pub(crate) items: Vec<Attributes>,
    /// Items that the filter holds for.
    pub(crate) count: u64,
    /// Items that were read, before the filter.
    pub(crate) scanned: u64,
    /// The key that the next page begins after; `None` if the segment has ended.
    pub(crate) last: Option<Attributes>,
    /// Read units that were consumed, if the service reports them.
    pub(crate) units: Option<f64>,
}

impl PageRead {
    pub(crate) fn new(segment: u32, after: Option<Attributes>, limit: Option<i32>, units: usize) -> Self {
        Self {
            segment,
            after,
            limit,
            units,
            page: Arc::default(),
        }
    }

    /// Takes the page, if it was read.
    pub(crate) fn take_page(&self) -> Option<Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn put_page(&self, page: Page) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Some(page);
    }
}

impl PageRequest {
    /// What is selected, if it is not what the expressions say.
    pub(super) fn select(&self) -> Option<Select> {
        self.is_count.then_some(Select::Count)
    }
}
